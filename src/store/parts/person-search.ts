import type { PartMark } from '../../vocabulary/message.ts'
import { isStreamOf, streamOf } from '../../vocabulary/names.ts'
import { type Connection, rows } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { type PositionWindow, type SearchBounds, searchLog } from '../log/read.ts'

/** Positions per statement of a search for a person: headers have no index, and are longer than types. */
export const personWindow = { positions: 5_000 }

/** Finds the streams with an event whose header contains a person's ref, up to the end of the log `until`. */
export async function findStreamsNaming(
  reader: Pick<Connection, 'read'>,
  subject: string,
  onProgress?: SearchBounds['onProgress'],
): Promise<{ streams: string[]; until: number }> {
  const readNames = (window: PositionWindow) => rows(eventsNaming(subject, window).select('stream.name'))
  const { found, end } = await searchLog(reader, { ...personWindow, onProgress }, readNames)
  return { streams: [...new Set(found.map(({ name }) => name))], until: end }
}

/** The members of a header that show whose event it is. */
interface OwnedHeader {
  readonly stream: string
  readonly data: unknown
  readonly parts?: readonly PartMark[]
}

/** Whether an event is a person's: those of others may name the ref too, as the actor, in a reason or an id. */
export function isEventOfPerson(subject: string, { stream, data, parts = [] }: OwnedHeader): boolean {
  const owner = streamOf('subject', subject)
  if (isStreamOf('subject', stream)) return stream === owner
  // `subject` is in the events of consents and validations, `owners` in those that record who opened sealed parts.
  const { subject: whose, owners }: { subject?: unknown; owners?: unknown } = data ?? {}
  if (whose === subject || (Array.isArray(owners) && owners.includes(owner))) return true
  return parts.some(part => part.owner === owner)
}

/** Begins a query of the events in a window of the log whose header contains a person's ref. */
export function eventsNaming(subject: string, { above, upTo }: PositionWindow) {
  return db
    .selectFrom('event')
    .innerJoin('stream', 'stream.key', 'event.stream')
    .where('event.position', '>', above)
    .where('event.position', '<=', upTo)
    .where('event.header', 'like', `%${subject}%`)
    .orderBy('event.position')
}
