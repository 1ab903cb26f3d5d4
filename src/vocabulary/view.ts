import type { RecordedEvent } from './message.ts'

/** A column's type, in words that both dialects share. The first column of a view is its key. */
export type Column = 'text' | 'integer'

/** What a cell holds: clear data or the address of a part, never personal data. */
export type Cell = string | number | null

/**
 * A read model: which row an event belongs to, and what it makes of that row. Pure: the same with an append, in a
 * rebuild, or as of an earlier position.
 */
export interface View<Row extends object = object> {
  /** The name of its table. */
  readonly name: string
  /** Raised by hand when the same log would give other rows. */
  readonly version: number
  readonly columns: Readonly<Record<string, Column>>
  /**
   * Each row is of one stream: the stream's name is the key, its first event finds no row, and no other stream changes
   * it.
   */
  readonly isByStream?: boolean
  /** Columns to look rows up by, in their order; rows without a value there are left out of the index. */
  readonly indexes?: readonly string[]
  /** The key of the row that the event changes, if any. */
  key(event: RecordedEvent): string | undefined
  /** The row after the event. A row cannot be removed: returning nothing for one stops the view. */
  fold(row: Row | undefined, event: RecordedEvent): Row | undefined
}

/** Builds a view whose key and fold see the events of its machines, typed. */
export function defineView<Row extends object, E extends RecordedEvent>(definition: {
  name: string
  version: number
  columns: Record<keyof Row & string, Column>
  isByStream?: boolean
  indexes?: readonly (keyof Row & string)[]
  key: (event: E) => string | undefined
  fold: (row: Row | undefined, event: E) => Row | undefined
}): View<Row> {
  return definition as View<Row> // Events of other machines fall through `key`, which names what it knows.
}

/** Every event of a union, as the log holds it. */
export type RecordedOf<E> = E extends { type: infer T extends string; data: infer D }
  ? RecordedEvent<T, D>
  : never
