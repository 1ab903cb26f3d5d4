import type { Json, RecordedEvent } from '../vocabulary/message.ts'

/** What a row of the index is made of. */
export interface IndexRow {
  readonly kind: string
  readonly text: string
  readonly value: string
}

/** Opens a part of the event, or of another one; `undefined` where it is gone. */
export type Opener = (name: string, of?: string) => Promise<Json | undefined>

/** An event as its machine wrote it: what is read of it here is text, or absent. */
export type IndexedEvent = RecordedEvent<string, Readonly<Record<string, string>>>

/** What one type of event adds to the index. */
export type IndexRows = (
  event: IndexedEvent,
  open: Opener,
) => readonly IndexRow[] | Promise<readonly IndexRow[]>

/** A row of the index, where what it is found by is there. */
export function rowIf(
  kind: string,
  found: Json | undefined,
  value: string | undefined,
  textOf: (found: string) => string = text => text,
): IndexRow[] {
  return typeof found === 'string' && value !== undefined ? [{ kind, text: textOf(found), value }] : []
}

/** The service's own id in a record, as text. */
export function idIn(record: Json | undefined): string | undefined {
  if (typeof record !== 'object' || record === null || !('id' in record)) return undefined
  const { id } = record
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined
}
