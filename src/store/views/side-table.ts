import { AverbaError } from '../../vocabulary/errors.ts'
import type { View } from '../../vocabulary/view.ts'
import { type Connection, first, rows, type Steps } from '../database/connection.ts'
import type { Schema } from '../database/schema.ts'
import { discardTable } from './discarded-tables.ts'
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
    const serving = yield* first<{ version: number }>({ sql: selectVersion, parameters: [view.name] })
    if (serving?.version !== view.version) throw rebuildBusy(view, 'another version of averba uses the file')
    const left = yield* first<RebuildMark>({ sql: selectMark, parameters: [view.name] })
    const isLeft = left?.version === view.version
    const run = yield* beginRun(view)
    const mark: RebuildMark = isLeft
      ? { ...left, run }
      : { version: view.version, position: 0, until: 0, written: 0, run }
    if (!isLeft) yield* makeTable(connection, view, sideTableName(view), run)
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
    yield* discardTable(this.#connection, this.#view.name)
    yield* rows({ sql: `alter table ${this.table.name} rename to ${this.#view.name}`, parameters: [] })
    // No view has version 0: the next rebuild begins anew, with its own run.
    yield* this.#setMark({ ...this.#mark, version: 0 })
  }

  *#setMark(mark: RebuildMark): Steps<void> {
    this.#mark = mark
    const { version, position, until, written, run } = mark
    yield* rows({ sql: saveMark, parameters: [this.#view.name, version, position, until, written, run] })
  }

  *checkNotTakenOver(): Steps<void> {
    const found = yield* first<RebuildMark>({ sql: selectMark, parameters: [this.#view.name] })
    if (found?.run !== this.#mark.run) throw rebuildBusy(this.#view, 'another process rebuilds it')
  }
}

/** Makes the serving table of a new version. Rebuilds for other versions are abandoned. */
export function* makeServingTable(connection: Connection, view: View): Steps<void> {
  yield* makeTable(connection, view, view.name, yield* beginRun(view))
}

/** Begins a run. No other run of the view ever had its number. */
function* beginRun({ name }: View): Steps<number> {
  return (yield* first<{ run: number }>({ sql: raiseRun, parameters: [name] }))?.run ?? 0
}

function* makeTable(connection: Connection, view: View, name: string, run: number): Steps<void> {
  yield* discardTable(connection, name)
  yield* rows({ sql: createViewTable(view, name, connection.dialect), parameters: [] })
  for (const sql of createViewIndexes(view, name, run)) yield* rows({ sql, parameters: [] })
}

function rebuildBusy({ name }: View, reason: string): AverbaError {
  return new AverbaError('STORE_BUSY', `Cannot rebuild "${name}": ${reason}`)
}

function sideTableName({ name }: View): string {
  return `${name}_next`
}

const selectVersion = 'select version from projection where view = ?'
const selectMark = 'select version, position, until, written, run from rebuild where view = ?'
const raiseRun = `insert into rebuild (view, version, position, until, written, run) values (?, 0, 0, 0, 0, 1)
  on conflict (view) do update set version = 0, run = rebuild.run + 1 returning run`
const saveMark = `insert into rebuild (view, version, position, until, written, run) values (?, ?, ?, ?, ?, ?)
  on conflict (view) do update set version = excluded.version, position = excluded.position,
  until = excluded.until, written = excluded.written, run = excluded.run`
