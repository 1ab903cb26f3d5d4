import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { PartMark } from '../../vocabulary/message.ts'
import { isStreamOf, streamOf } from '../../vocabulary/names.ts'
import { type Connection, rows, type Steps } from '../database/connection.ts'
import { endOfLog } from '../log/position-before.ts'

/** How many positions are looked at before the event loop turns. */
const pagePositions = 5_000

/**
 * Finds the streams with an event whose header holds the ref of a person, in order of the first such event, and the end
 * of the log at that moment. Reads the whole log: no index leads from a person to these.
 */
export async function streamsHolding(
  reader: Pick<Connection, 'read'>,
  subject: string,
): Promise<{ streams: string[]; until: number }> {
  const until = await reader.read(endOfLog)
  const streams = new Set<string>()
  for (let after = 0; after < until; after += pagePositions) {
    const last = Math.min(after + pagePositions, until)
    const found = await reader.read(() => readHolding(subject, after, last))
    for (const { name } of found) streams.add(name)
    await yieldToEventLoop()
  }
  return { streams: [...streams], until }
}

/** What a header says of whose event it is. */
interface ConcerningHeader {
  readonly stream: string
  readonly data: unknown
  readonly parts?: readonly PartMark[]
}

/**
 * Reports whether an event is of a person. Headers of others may hold their ref as well: who acts for somebody, or is
 * named by a reason or an id that a host gave.
 */
export function isOf(subject: string, { stream, data, parts = [] }: ConcerningHeader): boolean {
  const owner = streamOf('subject', subject)
  if (isStreamOf('subject', stream)) return stream === owner
  // As their machines have it: consents and validations say whose they are, and openings of what is sealed.
  const { subject: whose, owners } = data as { subject?: unknown; owners?: unknown }
  if (whose === subject || (Array.isArray(owners) && owners.includes(owner))) return true
  return parts.some(part => part.owner === owner)
}

function* readHolding(subject: string, after: number, last: number): Steps<readonly { name: string }[]> {
  return yield* rows<{ name: string }>({ sql: selectHolding, parameters: [after, last, `%${subject}%`] })
}

const selectHolding = `select stream.name from event join stream on stream.key = event.stream
  where event.position > ? and event.position <= ? and event.header like ? order by event.position`
