import type { Json, RecordedEvent } from '../vocabulary/message.ts'
import type { Events, Recorded } from './events.ts'

/** A row of the keyed index, before its text is turned into a digest. */
export interface IndexRow {
  readonly kind: string
  readonly text: string
  readonly value: string
}

/** Opens a part of the event, or of another one; `undefined` when it was destroyed. */
export type Opener = (name: string, of?: string) => Promise<Json | undefined>

/** Returns the index rows of one type of event. */
export type IndexRows<R extends RecordedEvent = RecordedEvent> = {
  // A method, so that it can be kept among those of other types.
  rows(event: R, open: Opener): readonly IndexRow[] | Promise<readonly IndexRow[]>
}['rows']

/** What makes the index rows, by the types of events. */
export type IndexRowsByType = { readonly [T in keyof Events]?: IndexRows<Recorded<T>> }

/** Returns one row, or none when its text or its value is missing. */
export function indexRow(
  kind: string,
  found: Json | undefined,
  value: string | undefined,
  textOf: (found: string) => string = text => text,
): IndexRow[] {
  return typeof found === 'string' && value !== undefined ? [{ kind, text: textOf(found), value }] : []
}

/** The service's id of a record, as text. */
export function remoteIdIn(record: Json | undefined): string | undefined {
  if (typeof record !== 'object' || record === null || !('id' in record)) return undefined
  const { id } = record
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined
}
