import type { RecordedEvent } from './message.ts'

/** A column's type, as both SQL dialects name it. The first column of a view is its key. */
export type Column = 'text' | 'integer'

/** The value of a cell: unencrypted data or the address of a part, never personal data. */
export type Cell = string | number | null

/**
 * A view (read model): which row an event changes, and how. Pure: an append, a rebuild and a query as of an earlier
 * position give the same rows.
 */
export interface View<Row extends object = object> {
  /** The table name. */
  readonly name: string
  /** Raised by hand when the same log would give different rows. */
  readonly version: number
  readonly columns: Readonly<Record<string, Column>>
  /** Each row belongs to one stream: the stream's name is the key, and no other stream changes the row. */
  readonly isByStream?: boolean
  /** The indexed columns, in order; rows without a value are left out of the index. */
  readonly indexes?: readonly string[]
  /** Returns the key of the row that the event changes, if any. */
  key(event: RecordedEvent): string | undefined
  /** Returns the row after the event. Rows cannot be deleted: returning `undefined` for one stops the view. */
  fold(row: Row | undefined, event: RecordedEvent): Row | undefined
}

export interface ColumnOf<T extends Cell> {
  readonly type: Column
  /** Never there: it only carries the type. */
  readonly cell?: T
}

/** A column of texts. */
export function text<T extends string | null = string>(): ColumnOf<T> {
  return { type: 'text' }
}

export function integer<T extends number | null = number>(): ColumnOf<T> {
  return { type: 'integer' }
}

/** The rows of a table with these columns. */
export type RowOf<C> = { -readonly [K in keyof C]: C[K] extends ColumnOf<infer T> ? T : never }

type KindIn<T extends string> = T extends `${infer K}.${string}` ? K : T

/** Builds a view whose `key` and `fold` get only the events of some kinds of streams, such as `consent`. */
export function defineView<Row extends object, E extends RecordedEvent>({
  kinds,
  columns,
  key,
  fold,
  ...definition
}: {
  name: string
  version: number
  kinds: readonly KindIn<E['type']>[]
  columns: { readonly [K in keyof Row & string]-?: ColumnOf<Exclude<Row[K], undefined> & Cell> }
  isByStream?: boolean
  indexes?: readonly (keyof Row & string)[]
  key: (event: E) => string | undefined
  fold: (row: Row | undefined, event: E) => Row | undefined
}): View<Row> {
  const types = Object.entries<ColumnOf<Cell>>(columns).map(([name, { type }]) => [name, type])
  const prefixes = kinds.map(kind => `${kind}.`)
  const storable = {
    key: (event: E) => (prefixes.some(prefix => event.type.startsWith(prefix)) ? withoutNul(key(event)) : undefined),
    fold(before: Row | undefined, event: E) {
      const row = fold(before, event)
      for (const column in row) if (hasNul(row[column])) return Object.fromEntries(Object.entries(row).map(replaceNul))
      return row
    },
  }
  // `key` and `fold` get no events of other kinds.
  return { ...definition, ...storable, columns: Object.fromEntries(types) } as View<Row>
}

/** PostgreSQL stores no NUL in a text. A service may send one: its event keeps it, and the views of it do not. */
function withoutNul(value: string | undefined): string | undefined {
  return hasNul(value) ? value.replaceAll('\0', '\uFFFD') : value
}

function hasNul(value: unknown): value is string {
  return typeof value === 'string' && value.includes('\0')
}

function replaceNul([column, value]: [string, unknown]) {
  return [column, hasNul(value) ? withoutNul(value) : value] as const
}

/** Every event of a union, as stored in the log. */
export type RecordedOf<E> = E extends { type: infer T extends string; data: infer D } ? RecordedEvent<T, D> : never
