import type { Json, RecordedEvent } from '../vocabulary/message.ts'

/** A row of the keyed index, before its text is turned into a digest. */
export interface IndexRow {
  readonly kind: string
  readonly text: string
  readonly value: string
}

/** Opens a part of the event, or of another one; `undefined` when it was destroyed. */
export type Opener = (name: string, of?: string) => Promise<Json | undefined>

/** An event as its machine wrote it: the members read here are texts or absent. */
export type IndexedEvent = RecordedEvent<string, Readonly<Record<string, string>>>

/** Returns the index rows of one type of event. */
export type IndexRows = (event: IndexedEvent, open: Opener) => readonly IndexRow[] | Promise<readonly IndexRow[]>

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
