import type { RecordedEvent } from '../../vocabulary/message.ts'
import { type Connection, column, first, oneOf, type Statement, type Steps } from '../database/connection.ts'
import { readHeader } from './header.ts'
import { endOfLog } from './position-before.ts'
import { type PositionWindow, search } from './search.ts'
import type { Schemas } from './upcasters.ts'

/** Which events to read: after a position, of some types, of one kind or stream, the newest first or last. */
export interface ReadFilter {
  readonly after?: number
  readonly types?: readonly string[]
  /** Events of these types are left out. */
  readonly exceptTypes?: readonly string[]
  /** The machine whose streams are read, such as `consent`. */
  readonly kind?: string
  readonly stream?: string
  /** Of a stream: from this version on, or from it down. */
  readonly fromVersion?: number
  readonly backward?: boolean
  readonly limit?: number
}

/** Of which events the newest is read: of all of them when absent. */
export type LastFilter = Pick<ReadFilter, 'types' | 'stream'>

/** How many events are in a page, unless it is the last. */
export const pageRows = 1_000

/** Reads one page of the log, in order of position. */
export function* readPage(schemas: Schemas, filter: ReadFilter): Steps<RecordedEvent[]> {
  return (yield* readTexts(filter)).map(header => readHeader(header, schemas))
}

type Reader = Pick<Connection, 'read'>

/** Reads one page of the log, in order of position; what no index leads to is searched for. */
export async function readFrom(
  reader: Reader,
  schemas: Schemas,
  filter: ReadFilter,
): Promise<RecordedEvent[]> {
  if (!isSearched(filter)) return reader.read(() => readPage(schemas, filter))
  return (await searchTexts(reader, filter)).found.map(header => readHeader(header, schemas))
}

/**
 * The same, with the end of the log at that moment. It ends before an event that cannot be read, and throws only when
 * that is the first: what comes before is not held up.
 */
export async function readOn(
  reader: Reader,
  schemas: Schemas,
  filter: ReadFilter,
): Promise<{ events: RecordedEvent[]; end: number }> {
  const { found, end } = isSearched(filter)
    ? await searchTexts(reader, filter)
    : await reader.read(() => readTextsOn(filter))
  const events: RecordedEvent[] = []
  for (const text of found) {
    try {
      events.push(readHeader(text, schemas))
    } catch (error) {
      if (events.length === 0) throw error
      break
    }
  }
  return { events, end }
}

/** No index leads to the events of a type. */
function isSearched({ stream, types, exceptTypes, kind }: ReadFilter): boolean {
  return stream === undefined && (types ?? exceptTypes ?? kind) !== undefined
}

interface FoundTexts {
  readonly found: readonly string[]
  readonly end: number
}

function searchTexts(reader: Reader, filter: ReadFilter): Promise<FoundTexts> {
  const { limit = pageRows } = filter
  const look = (window: PositionWindow, left: number) =>
    column<string>(pageOf({ ...filter, limit: left }, window))
  return search(reader, { ...filter, limit }, look)
}

function* readTextsOn(filter: ReadFilter): Steps<FoundTexts> {
  return { found: yield* readTexts(filter), end: yield* endOfLog() }
}

/**
 * Reads one page of the log as it is stored, for readers that take one event after the other: a thousand parsed events
 * at once would live long enough to grow the heap.
 */
export function* readTexts(filter: ReadFilter): Steps<readonly string[]> {
  return yield* column(pageOf(filter))
}

/** Written by hand: it is asked for at every step, and compiling the text takes as long as reading an event. */
function pageOf(filter: ReadFilter, window?: PositionWindow): Statement {
  const { backward = false, after = backward ? undefined : 0, limit = pageRows } = filter
  const { types, exceptTypes, kind, stream, fromVersion } = filter
  const [later, earlier, order] = backward ? ['<', '<=', 'desc'] : ['>', '>=', 'asc']
  const conditions: string[] = []
  const parameters: unknown[] = []
  const where = (condition: string, ...values: readonly unknown[]) => {
    conditions.push(condition)
    parameters.push(...values)
  }
  if (stream !== undefined) where('stream = (select key from stream where name = ?)', stream)
  if (window) where('position > ? and position <= ?', window.above, window.upTo)
  else if (after !== undefined) where(`position ${later} ?`, after)
  if (fromVersion !== undefined) where(`version ${earlier} ?`, fromVersion)
  if (types) where(oneOf('type', types), ...types)
  if (exceptTypes && exceptTypes.length > 0)
    where(`type not in (${exceptTypes.map(() => '?')})`, ...exceptTypes)
  // Events are named after their machine, and '/' is the character after '.'.
  if (kind !== undefined) where('type > ? and type < ?', `${kind}.`, `${kind}/`)
  const which = conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
  // Within a stream both orders are the same, and the index has versions.
  const by = stream === undefined ? 'position' : 'version'
  return {
    sql: `select header from event ${which} order by ${by} ${order} limit ?`,
    parameters: [...parameters, limit],
  }
}

/** Reads one event. */
export function* readAt(schemas: Schemas, position: number): Steps<RecordedEvent | undefined> {
  const row = yield* first<{ header: string }>({ sql: selectAt, parameters: [position] })
  return row && readHeader(row.header, schemas)
}

const selectAt = 'select header from event where position = ?'

/** An event as it is in the tree: the text that was hashed, and its hash, in hexadecimal. */
export interface Leaf {
  readonly header: string
  readonly leaf: string
}

/** Reads what the tree has of one event. */
export function* readLeaf(position: number): Steps<Leaf | undefined> {
  const row = yield* first<{ header: string; leaf: Uint8Array }>({ sql: selectLeaf, parameters: [position] })
  return row && { header: row.header, leaf: Buffer.from(row.leaf).toString('hex') }
}

const selectLeaf = 'select header, leaf from event where position = ?'
