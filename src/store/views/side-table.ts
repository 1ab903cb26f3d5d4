import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import type { View } from '../../vocabulary/view.ts'
import { type Connection, first, rows, type Steps, together } from '../database/connection.ts'
import { db, type Schema } from '../database/schema.ts'
import { TableInUseError } from '../database/table-in-use.ts'
import { createViewIndexes, createViewTable, type ViewRow, ViewTable } from './view-table.ts'

type RebuildMark = Omit<Schema['rebuild'], 'view'>

/**
 * The table in which a view is rebuilt, beside the serving one, with a mark of its progress.
 *
 * Rows are written some at a time. Until all are, the first `written` of them (in the order in which the log touches
 * them after `position`) show the log at `until`; the others show it at `position`.
 *
 * Each rebuild has a run number. A new rebuild takes the table over, and the earlier one can no longer write.
 */
export class SideTable {
  readonly table: ViewTable
  readonly #connection: Connection
  readonly #view: View
  #mark: RebuildMark

  private constructor(connection: Connection, view: View, mark: RebuildMark, isEmpty: boolean) {
    this.#connection = connection
    this.#view = view
    this.table = new ViewTable(view, sideTableName(view), isEmpty)
    this.#mark = mark
  }

  /** Continues an interrupted rebuild of the same version, or begins with an empty table. */
  static *begin(connection: Connection, view: View): Steps<SideTable> {
    const serving = yield* first(db.selectFrom('projection').select('version').where('view', '=', view.name))
    if (serving?.version !== view.version) throw rebuildBusy(view, 'another version of averba uses the file')
    const left = yield* readMark(view)
    const isLeft = left?.version === view.version
    const run = yield* beginRun(view)
    const mark: RebuildMark = isLeft
      ? { ...left, run }
      : { version: view.version, position: 0, until: 0, written: 0, run }
    if (!isLeft) {
      yield* discardTables(connection, [sideTableName(view)])
      yield* createTable(connection, view, sideTableName(view), run)
    }
    const side = new SideTable(connection, view, mark, !isLeft)
    yield* side.#setMark(mark)
    return side
  }

  get mark(): Readonly<Pick<RebuildMark, 'position' | 'until' | 'written'>> {
    return this.#mark
  }

  /** Writes rows as they are at a position. `written` counts the rows written beyond the mark; absent once all are. */
  *write(some: readonly (ViewRow | undefined)[], until: number, written?: number): Steps<void> {
    yield* this.checkNotTakenOver()
    yield* this.table.write(some)
    const mark = written === undefined ? { position: until, written: 0 } : { written }
    yield* this.#setMark({ ...this.#mark, until, ...mark })
  }

  /** Replaces the serving table, which is discarded, by renaming tables: no row moves. */
  *swap(last: Iterable<ViewRow | undefined>): Steps<void> {
    yield* this.checkNotTakenOver()
    yield* this.table.write(last)
    yield* discardTables(this.#connection, [this.#view.name])
    yield* rows({ sql: `alter table ${this.table.name} rename to ${this.#view.name}`, parameters: [] })
    // No view has version 0: the next rebuild begins anew, with its own run.
    yield* this.#setMark({ ...this.#mark, version: 0 })
  }

  *#setMark(mark: RebuildMark): Steps<void> {
    this.#mark = mark
    const insert = db.insertInto('rebuild').values({ view: this.#view.name, ...mark })
    yield* rows(insert.onConflict(on => on.column('view').doUpdateSet(mark)))
  }

  /** Finds the error when another process has taken the table over. */
  *findTakeover(): Steps<AverbaError | undefined> {
    const found = yield* readMark(this.#view)
    return found?.run === this.#mark.run ? undefined : rebuildBusy(this.#view, 'another process rebuilds it')
  }

  *checkNotTakenOver(): Steps<void> {
    const error = yield* this.findTakeover()
    if (error) throw error
  }
}

function readMark({ name }: View): Steps<RebuildMark | undefined> {
  const query = db.selectFrom('rebuild').select(['version', 'position', 'until', 'written', 'run'])
  return first(query.where('view', '=', name))
}

/** Makes the serving tables of new versions. Rebuilds for other versions are abandoned. */
export function* makeServingTables(connection: Connection, views: readonly View[]): Steps<void> {
  const runs = yield* together(views.map(beginRun))
  const names = views.map(({ name }) => name)
  yield* discardTables(connection, names)
  for (const [i, view] of views.entries()) yield* createTable(connection, view, view.name, runs[i] ?? 0)
}

/** Begins a run. No other run of the view ever had its number. */
function* beginRun({ name }: View): Steps<number> {
  const insert = db.insertInto('rebuild').values({ view: name, version: 0, position: 0, until: 0, written: 0, run: 1 })
  const raise = insert.onConflict(on =>
    on.column('view').doUpdateSet(eb => ({ version: 0, run: eb('rebuild.run', '+', 1) })),
  )
  return (yield* first(raise.returning('run')))?.run ?? 0
}

function* createTable(connection: Connection, view: View, name: string, run: number): Steps<void> {
  yield* rows({ sql: createViewTable(view, name, connection.dialect), parameters: [] })
  for (const sql of createViewIndexes(view, name, run)) yield* rows({ sql, parameters: [] })
}

function rebuildBusy({ name }: View, reason: string): AverbaError {
  return new AverbaError('STORE_BUSY', `Cannot rebuild "${name}": ${reason}`)
}

function sideTableName({ name }: View): string {
  return `${name}_next`
}

/** Deleting overwrites rows with zeros: this many take only milliseconds. */
const rowsPerDelete = 500
const prefix = 'discarded_'
const discardedName = /^discarded_\d+$/

/** Whoever waits for the lock of the log must not wait for a report that reads the table. */
function* waitBriefly({ dialect }: Connection): Steps<void> {
  if (dialect === 'postgres') yield* rows({ sql: 'set local lock_timeout = 250', parameters: [] })
}

/** Renames the tables that exist out of the way in one step; `sweepDiscardedTables` drops them later. */
function* discardTables(connection: Connection, names: readonly string[]): Steps<void> {
  const tables = yield* listTables(connection)
  let last = Math.max(0, ...tables.filter(isDiscarded).map(name => Number(name.slice(prefix.length))))
  for (const table of names.filter(name => tables.includes(name))) {
    yield* waitBriefly(connection)
    yield* rows({ sql: `alter table ${table} rename to ${prefix}${++last}`, parameters: [] })
  }
}

/**
 * Removes discarded tables, including those left by a process that died. Deleting overwrites the rows, which takes
 * time, so it deletes a few at a time and lets others append in between. A damaged table is reported, and stays.
 */
export async function sweepDiscardedTables(
  { connection, onTrouble }: { connection: Connection; onTrouble: (what: string, error: unknown) => void },
  signal?: AbortSignal,
): Promise<void> {
  const left = new Set<string>()
  while (!signal?.aborted) {
    const tables = await connection.read(() => listTables(connection))
    const table = tables.find(each => isDiscarded(each) && !left.has(each))
    if (table === undefined) return
    await connection
      .transact(() => removeRows(connection, table))
      .catch((error: unknown) => {
        // Somebody still reads it: the next sweep removes it.
        if (!hasCode(error, 'CORRUPT') && !(error instanceof TableInUseError)) throw error
        left.add(table)
        if (hasCode(error, 'CORRUPT')) onTrouble('discarded tables could not be removed', error)
      })
    await yieldToEventLoop()
  }
}

/** Deletes some rows of a table, and drops the table when it is empty. Another process may have dropped it already. */
function* removeRows(connection: Connection, table: string): Steps<void> {
  if (!(yield* listTables(connection)).includes(table)) return
  // PostgreSQL frees the whole file of a table at once.
  if (connection.dialect === 'sqlite') {
    yield* rows({
      sql: `delete from ${table} where rowid in (select rowid from ${table} limit ${rowsPerDelete})`,
      parameters: [],
    })
    if ((yield* rows({ sql: `select 1 from ${table} limit 1`, parameters: [] })).length > 0) return
  }
  yield* waitBriefly(connection)
  yield* rows({ sql: `drop table ${table}`, parameters: [] })
}

function* listTables(connection: Connection): Steps<string[]> {
  return (yield* rows<{ name: string }>(connection.listTables)).map(({ name }) => name)
}

function isDiscarded(table: string): boolean {
  return discardedName.test(table)
}
