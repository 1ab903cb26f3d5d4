import type { CompiledQuery } from 'kysely'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Connection, Steps } from '../database/connection.ts'
import { schemaTable } from '../database/tables-read.ts'
import { logPageRows, type ReadFilter, readPage } from '../log/read.ts'
import type { Schemas } from '../log/upcasters.ts'
import { readRunningViews, viewVersionName } from './projector.ts'
import { foldOne, noSuchView, type ViewRow, ViewTable } from './view-table.ts'

/** The events that rows are folded from: those of one stream, or of all streams of one kind. */
export type RowSource = Required<Pick<ReadFilter, 'stream'>> | Required<Pick<ReadFilter, 'kind'>>

/** What views are read with. */
export interface ViewReaderParts {
  readonly connection: Connection
  readonly schemas: Schemas
  readonly views: readonly View[]
}

/** Reads views. If a view is stopped, single rows are folded from the log instead, and queries are refused. */
export class ViewReader {
  readonly #parts: ViewReaderParts
  readonly #views: ReadonlyMap<string, { readonly view: View; readonly table: ViewTable }>

  constructor(parts: ViewReaderParts) {
    this.#parts = parts
    this.#views = new Map(parts.views.map(view => [view.name, { view, table: new ViewTable(view) }]))
  }

  get dialect(): Connection['dialect'] {
    return this.#parts.connection.dialect
  }

  /**
   * Runs one statement that reads only views.
   *
   * @throws {AverbaError} `VIEW_STOPPED` when one of them is stopped, `INVALID_INPUT` for any other statement
   */
  readOnly(query: CompiledQuery): Promise<readonly unknown[]> {
    return this.#parts.connection.readOnly(query, (tables, isSure) => this.#checkTables(tables, isSure))
  }

  /**
   * Finds a row: in the view while it is running, else by folding the events of the row's stream.
   *
   * @throws {AverbaError} `VIEW_STOPPED` when the view is stopped and fails at one of these events
   */
  async find(name: string, key: string, stream: string): Promise<ViewRow | undefined> {
    const { view, table } = this.#findView(name)
    const found = await this.#parts.connection.read(function* () {
      return (yield* readRunningViews()).has(viewVersionName(view)) ? { row: yield* table.find(key) } : undefined
    })
    return found ? found.row : (await this.#fold(view, { stream })).get(key)
  }

  /** Folds the rows of some events, in the order in which the log first touched them. Throws as `find` does. */
  async foldFrom(name: string, source: RowSource): Promise<ViewRow[]> {
    return [...(await this.#fold(this.#findView(name).view, source)).values()]
  }

  async #fold(view: View, source: RowSource): Promise<Map<string, ViewRow>> {
    const { connection, schemas } = this.#parts
    const rows = new Map<string, ViewRow>()
    for (let after = 0; ; ) {
      const page = await connection.read(() => readPage(schemas, { ...source, after }))
      foldRows(rows, view, page)
      const last = page.at(-1)
      if (!last || page.length < logPageRows) return rows
      after = last.position
    }
  }

  *#checkTables(tables: readonly string[], isSure?: 'perhaps'): Steps<void> {
    const running = yield* readRunningViews()
    for (const table of tables) {
      const found = this.#views.get(table)
      if (found && !running.has(viewVersionName(found.view))) throw viewStopped(table)
      if (found || isSure === 'perhaps' || table === schemaTable) continue
      throw new AverbaError('INVALID_INPUT', 'Cannot run this statement: it reads something other than views', {
        hint: `The views are ${[...this.#views.keys()].join(', ')}`,
      })
    }
  }

  #findView(name: string) {
    const found = this.#views.get(name)
    if (!found) throw noSuchView(`Cannot read "${name}"`, this.#parts.views)
    return found
  }
}

function foldRows(rows: Map<string, ViewRow>, view: View, events: readonly RecordedEvent[]): void {
  try {
    for (const event of events) {
      const key = view.key(event)
      const row = key === undefined ? undefined : foldOne(view, key, rows.get(key), event)
      if (key !== undefined && row) rows.set(key, row)
    }
  } catch (cause) {
    throw viewStopped(view.name, cause)
  }
}

function viewStopped(view: string, cause?: unknown): AverbaError {
  return new AverbaError('VIEW_STOPPED', `Cannot read the view "${view}": it is stopped`, {
    ...(cause !== undefined && { cause }),
    hint: 'health() reports the reason. run, settle and averba rebuild restart what they can. If another version of averba took the view over, replace this process',
  })
}

/** The result of a query, or `undefined` when a view is stopped. */
export async function undefinedIfStopped<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (isViewStopped(error)) return undefined
    throw error
  }
}

/** Reports whether a read failed because a view is stopped. */
export function isViewStopped(error: unknown): boolean {
  return error instanceof AverbaError && error.code === 'VIEW_STOPPED'
}
