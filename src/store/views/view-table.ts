import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { Cell, View } from '../../vocabulary/view.ts'
import { type Connection, each, first, type Steps } from '../database/connection.ts'
import { isReplaced } from '../database/replaced-table.ts'

export type ViewRow = Record<string, Cell>

/** Names stand in statements as they are. */
const identifier = /^[a-z]\w*$/
/** The names of views that are being built or were replaced. */
const reserved = /^discarded_|_next$/

/** The table of one view: the serving one, or one that is being built. */
export class ViewTable {
  readonly name: string
  readonly #columns: readonly string[]
  readonly #select: string
  readonly #selectUnlessReplaced: string
  readonly #upsert: string
  #isEmpty: boolean

  /** @param isEmpty it was just created, and only this process writes to it: no row need be read before a write */
  constructor(view: View, name: string = view.name, isEmpty = false) {
    this.name = name
    this.#isEmpty = isEmpty
    this.#columns = Object.keys(view.columns)
    if (![view.name, ...this.#columns].every(each => identifier.test(each) && !reserved.test(each)))
      throw new TypeError(
        `The view "${view.name}" has a name that is not allowed in SQL, or is that of a discarded table`,
      )
    const [key, ...others] = this.#columns
    const marks = this.#columns.map(() => '?').join(', ')
    const updates = others.map(column => `${column} = excluded.${column}`).join(', ')
    this.#select = `select * from ${name} where ${key} = ?`
    this.#selectUnlessReplaced = `select ${isReplaced(`'${name}'`)} is_replaced, found.*
      from (values (true)) always left join ${name} found on found.${key} = ?`
    this.#upsert = `insert into ${name} (${this.#columns.join(', ')}) values (${marks})
      on conflict (${key}) do update set ${updates}`
  }

  /** Whether no row can be found: nothing was written to it yet. */
  get isEmpty(): boolean {
    return this.#isEmpty
  }

  *find(key: string): Steps<ViewRow | undefined> {
    return this.#isEmpty ? undefined : yield* first<ViewRow>({ sql: this.#select, parameters: [key] })
  }

  /** Finds a row on a server, unless the table was replaced since the snapshot. */
  *findUnlessReplaced(key: string): Steps<{ readonly row: ViewRow | undefined } | undefined> {
    const found = yield* first<ViewRow>({ sql: this.#selectUnlessReplaced, parameters: [key] })
    if (!found || found.is_replaced) return undefined
    const { is_replaced: _, ...row } = found
    return { row: row[this.#columns[0] ?? ''] === null ? undefined : row }
  }

  /** Inserts or updates rows in one request. */
  write(changed: Iterable<ViewRow | undefined>): Steps<void> {
    this.#isEmpty = false
    const present = [...changed].filter(row => row !== undefined)
    return each(this.#upsert, present, row => this.#columns.map(column => row[column] ?? null))
  }
}

/** A view's fold returned no row for a key that had one. */
class RowDroppedError extends Error {
  override readonly name = 'RowDroppedError'
}

/** Folds an event into its row. Rows cannot be removed: among changes, a removed row would look unchanged. */
export function foldOne(
  view: View,
  key: string,
  before: ViewRow | undefined,
  event: RecordedEvent,
): ViewRow | undefined {
  const row = view.fold(before, event) as ViewRow | undefined // A view's row holds cells only.
  if (before && !row) throw new RowDroppedError(`The view "${view.name}" drops a row: return it unchanged instead`)
  if (row && row[keyColumn(view)] !== key) throw new TypeError(`The view "${view.name}" returns a row with another key`)
  return row && fillColumns(view, row)
}

/** Sets columns that a fold left out to null, as the table does: later folds get the same row either way. */
function fillColumns({ columns }: View, row: ViewRow): ViewRow {
  for (const column in columns) {
    if (row[column] !== undefined) continue
    return Object.fromEntries(Object.keys(columns).map(name => [name, row[name] ?? null]))
  }
  return row
}

function keyColumn({ columns }: View): string {
  for (const column in columns) return column
  return ''
}

export function createViewTable(
  view: View,
  name: string,
  dialect: Connection['dialect'],
  kind: 'temp' | '' = '',
): string {
  const types = { text: 'text', integer: dialect === 'sqlite' ? 'integer' : 'bigint' }
  // Keys are ordered by their bytes, as in SQLite.
  const key = dialect === 'sqlite' ? ' primary key' : ' collate "C" primary key'
  const columns = Object.entries(view.columns).map(([column, type], i) => {
    return `${column} ${types[type]}${i === 0 ? key : ''}`
  })
  return `create ${kind} table ${name} (${columns.join(', ')}) ${dialect === 'sqlite' ? 'strict' : ''}`
}

/** The statements that create the indexes of a view's empty table. Index names contain the run, so no two clash. */
export function createViewIndexes({ name, indexes = [] }: View, table: string, run: number): string[] {
  return indexes.map(column => {
    return `create index ${name}_${column}_${run} on ${table} (${column}) where ${column} is not null`
  })
}

/** The error for an unknown view. Its hint lists the known ones. */
export function noSuchView(cannot: string, views: readonly { readonly name: string }[]): AverbaError {
  return new AverbaError('INVALID_INPUT', `${cannot}: there is no such view`, {
    hint: `The views are ${views.map(view => view.name).join(', ')}`,
  })
}
