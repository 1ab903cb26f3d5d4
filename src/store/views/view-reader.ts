import type { CompiledQuery } from 'kysely'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Connection, Steps } from '../database/connection.ts'
import { schemaTable } from '../database/tables-read.ts'
import { logPageRows, type ReadFilter, readPage } from '../log/read.ts'
import type { Schemas } from '../log/upcasters.ts'
import { nameOf, readRunning } from './projector.ts'
import { foldOne, noSuchView, type ViewRow, ViewTable } from './view-table.ts'

/** The events that make some rows of a view: those of one stream, or of all streams of one kind. */
export type RowSource = Required<Pick<ReadFilter, 'stream'>> | Required<Pick<ReadFilter, 'kind'>>

/** What views are read with. */
export interface ViewReaderParts {
  readonly connection: Connection
  readonly schemas: Schemas
  readonly views: readonly View[]
}

/**
 * Reads what views show. A stopped view may show what is no longer true, so its table is not read: a row is made from
 * the log instead, and a statement is refused.
 */
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
   * Runs one statement that reads views, and nothing else of the store.
   *
   * @throws {AverbaError} `VIEW_STOPPED` when one of them stands still, `INVALID_INPUT` for any other statement
   */
  readOnly(query: CompiledQuery): Promise<readonly unknown[]> {
    return this.#parts.connection.readOnly(query, (tables, isSure) => this.#check(tables, isSure))
  }

  /**
   * Finds a row: in the view while that runs, else from the events of the row's stream.
   *
   * @throws {AverbaError} `VIEW_STOPPED` when the view stands still, and fails at one of these events
   */
  async find(name: string, key: string, stream: string): Promise<ViewRow | undefined> {
    const { view, table } = this.#viewOf(name)
    const found = await this.#parts.connection.read(function* () {
      return (yield* readRunning()).has(nameOf(view)) ? { row: yield* table.find(key) } : undefined
    })
    return found ? found.row : (await this.#fold(view, { stream })).get(key)
  }

  /** Makes the rows of some events, in the order in which the log first touched them. Throws as `find` does. */
  async foldFrom(name: string, source: RowSource): Promise<ViewRow[]> {
    return [...(await this.#fold(this.#viewOf(name).view, source)).values()]
  }

  async #fold(view: View, source: RowSource): Promise<Map<string, ViewRow>> {
    const { connection, schemas } = this.#parts
    const rows = new Map<string, ViewRow>()
    for (let after = 0; ; ) {
      const page = await connection.read(() => readPage(schemas, { ...source, after }))
      foldInto(rows, view, page)
      const last = page.at(-1)
      if (!last || page.length < logPageRows) return rows
      after = last.position
    }
  }

  *#check(tables: readonly string[], isSure?: 'perhaps'): Steps<void> {
    const running = yield* readRunning()
    for (const table of tables) {
      const found = this.#views.get(table)
      if (found && !running.has(nameOf(found.view))) throw stopped(table)
      if (found || isSure === 'perhaps' || table === schemaTable) continue
      throw new AverbaError(
        'INVALID_INPUT',
        'Cannot run this statement: it reads something that is not a view',
        {
          hint: `There are ${[...this.#views.keys()].join(', ')}`,
        },
      )
    }
  }

  #viewOf(name: string) {
    const found = this.#views.get(name)
    if (!found) throw noSuchView(`Cannot read "${name}"`, this.#parts.views)
    return found
  }
}

function foldInto(rows: Map<string, ViewRow>, view: View, events: readonly RecordedEvent[]): void {
  try {
    for (const event of events) {
      const key = view.key(event)
      const row = key === undefined ? undefined : foldOne(view, key, rows.get(key), event)
      if (key !== undefined && row) rows.set(key, row)
    }
  } catch (cause) {
    throw stopped(view.name, cause)
  }
}

function stopped(view: string, cause?: unknown): AverbaError {
  return new AverbaError('VIEW_STOPPED', `Cannot read the view "${view}": it stands still`, {
    ...(cause !== undefined && { cause }),
    hint: 'health() says why. run, settle and averba rebuild bring back what can be; where another version of averba has taken it over, replace this process',
  })
}

/** The result of a query, or `undefined` where a view stands still. */
export async function unlessStopped<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (isViewStopped(error)) return undefined
    throw error
  }
}

/** Reports whether something could not be read because a view stands still. */
export function isViewStopped(error: unknown): boolean {
  return error instanceof AverbaError && error.code === 'VIEW_STOPPED'
}
