import type { CompiledQuery } from 'kysely'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import type { Instant, RecordedEvent } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Connection, Steps } from '../database/connection.ts'
import { schemaTable } from '../database/tables-read.ts'
import type { HeaderReader } from '../log/header.ts'
import { endOfLog, logPageRows, type ReadFilter, readPage } from '../log/read.ts'
import { readRunningViews, viewVersionName } from './projector.ts'
import { foldOne, noSuchView, type ViewRow, ViewTable } from './view-table.ts'

/** The events that rows are folded from: those of one stream, or of all streams of one kind. */
export type RowSource = Required<Pick<ReadFilter, 'stream'>> | Required<Pick<ReadFilter, 'kind'>>

export interface ViewBound {
  readonly position?: number
  readonly at?: Instant
}

interface ViewReaderParts {
  readonly connection: Connection
  readonly headers: HeaderReader
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
    const isServer = this.dialect === 'postgres'
    for (;;) {
      const found = await this.#parts.connection.read(function* () {
        if (!(yield* readRunningViews()).has(viewVersionName(view))) return 'stopped'
        return isServer ? yield* table.findUnlessReplaced(key) : { row: yield* table.find(key) }
      })
      if (found === 'stopped') return (await this.#fold(view, { stream })).get(key)
      if (found) return found.row
    }
  }

  /** Folds the rows of some events, in the order in which the log first touched them. Throws as `find` does. */
  async foldFrom(name: string, source: RowSource): Promise<ViewRow[]> {
    return listRows(await this.#fold(this.#findView(name).view, source))
  }

  /**
   * Builds the rows of a view as they were at a position or an instant, in memory only.
   *
   * @throws {AverbaError} `INVALID_INPUT` when there is no such view
   */
  async asOf(name: string, { position, at }: ViewBound): Promise<object[]> {
    const { view } = this.#findView(name, 'build')
    const last = position ?? (await this.#parts.connection.read(endOfLog))
    const isIncluded = (event: RecordedEvent) => event.position <= last && (at === undefined || event.at <= at)
    return listRows(await this.#foldEvents(view, {}, isIncluded))
  }

  async #fold(view: View, source: RowSource): Promise<FoldedRows> {
    try {
      return await this.#foldEvents(view, source)
    } catch (error) {
      throw error instanceof AverbaError ? error : viewStopped(view.name, error)
    }
  }

  /** Folds events, up to the first that is not included. */
  async #foldEvents(view: View, source: ReadFilter, isIncluded = (_: RecordedEvent) => true): Promise<FoldedRows> {
    const { connection, headers } = this.#parts
    const folded: FoldedRows = new Map()
    for (let after = 0; ; await yieldToEventLoop()) {
      const page = await connection.read(() => readPage(headers, { ...source, after }))
      for (const event of page) {
        if (!isIncluded(event)) return folded
        const key = view.key(event)
        if (key !== undefined) folded.set(key, foldOne(view, key, folded.get(key), event))
      }
      if (page.length < logPageRows) return folded
      after = page.at(-1)?.position ?? 0
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

  #findView(name: string, verb = 'read') {
    const found = this.#views.get(name)
    if (!found) throw noSuchView(`Cannot ${verb} "${name}"`, this.#parts.views)
    return found
  }
}

type FoldedRows = Map<string, ViewRow | undefined>

function listRows(folded: FoldedRows): ViewRow[] {
  return [...folded.values()].filter(row => row !== undefined)
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
    if (hasCode(error, 'VIEW_STOPPED')) return undefined
    throw error
  }
}
