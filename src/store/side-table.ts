import { AverbaError } from '../errors.ts'
import type { View } from '../view.ts'
import { type Connection, first, rows, type Steps } from './connection.ts'
import { discard } from './discarded.ts'
import type { Schema } from './schema.ts'
import { createViewTable, type Row, ViewTable } from './view-table.ts'

type Mark = Omit<Schema['rebuild'], 'view'>

/**
 * The table in which a view is built anew, beside the serving one, with a mark of how far it has come. Rows are
 * written some at a time: until all are, the mark says how many show the log as it was at `until`, counted in the
 * order in which the log touches them after `position`; the others show it as it was there.
 *
 * Whoever begins takes the table over from whoever had it, by the number of the run: the other one writes no more.
 */
export class SideTable {
  readonly table: ViewTable
  readonly #connection: Connection
  readonly #view: View
  #mark: Mark

  private constructor(connection: Connection, view: View, mark: Mark) {
    this.#connection = connection
    this.#view = view
    this.table = new ViewTable(view, nameOf(view))
    this.#mark = mark
  }

  /** Goes on with what an interrupted rebuild of the same version left, or begins with an empty table. */
  static *begin(connection: Connection, view: View): Steps<SideTable> {
    const left = yield* first<Mark>({ sql: selectMark, parameters: [view.name] })
    const run = (left?.run ?? 0) + 1
    const isOurs = left?.version === view.version
    const mark: Mark = isOurs
      ? { ...left, run }
      : { version: view.version, position: 0, until: 0, written: 0, run }
    if (!isOurs) {
      const name = nameOf(view)
      yield* discard(connection, name)
      yield* rows({ sql: createViewTable(view, name, connection.dialect), parameters: [] })
    }
    const side = new SideTable(connection, view, mark)
    yield* side.#setMark(mark)
    yield* side.checkAlone()
    return side
  }

  /** How far it has come, and what of it is written beyond that. */
  get mark(): Readonly<Pick<Mark, 'position' | 'until' | 'written'>> {
    return this.#mark
  }

  /** Writes some rows as they are at a position, which makes so many that are written; all of them, without a number. */
  *write(some: readonly (Row | undefined)[], until: number, written?: number): Steps<void> {
    yield* this.checkAlone()
    yield* this.table.write(some)
    const mark = written === undefined ? { position: until, written: 0 } : { written }
    yield* this.#setMark({ ...this.#mark, until, ...mark })
  }

  /** Puts it in the place of the serving table, which is discarded: names change, and no row moves. */
  *swap(last: Iterable<Row | undefined>): Steps<void> {
    yield* this.checkAlone()
    yield* this.table.write(last)
    yield* discard(this.#connection, this.#view.name)
    yield* rows({ sql: `alter table ${this.table.name} rename to ${this.#view.name}`, parameters: [] })
    // No view has this version: the next one begins anew, with a run of its own.
    yield* this.#setMark({ ...this.#mark, version: 0 })
  }

  *#setMark(mark: Mark): Steps<void> {
    this.#mark = mark
    const { version, position, until, written, run } = mark
    yield* rows({ sql: saveMark, parameters: [this.#view.name, version, position, until, written, run] })
  }

  /** Refuses to go on when somebody else has taken it over, or has made the view one of another version. */
  *checkAlone(): Steps<void> {
    const found = yield* first<Mark & { serving: number }>({ sql: selectMark, parameters: [this.#view.name] })
    if (found?.run !== this.#mark.run) throw busy(this.#view, 'another process rebuilds it')
    if (found.serving !== this.#view.version) throw busy(this.#view, 'another version of averba has the file')
  }
}

function busy({ name }: View, why: string): AverbaError {
  return new AverbaError('STORE_BUSY', `Cannot rebuild "${name}": ${why}`)
}

function nameOf({ name }: View): string {
  return `${name}_next`
}

const selectMark = `select version, position, until, written, run,
  (select version from projection where projection.view = rebuild.view) as serving from rebuild where view = ?`
const saveMark = `insert into rebuild (view, version, position, until, written, run) values (?, ?, ?, ?, ?, ?)
  on conflict (view) do update set version = excluded.version, position = excluded.position,
  until = excluded.until, written = excluded.written, run = excluded.run`
