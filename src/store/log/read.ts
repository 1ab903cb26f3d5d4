import type { RecordedEvent } from '../../vocabulary/message.ts'
import { type Connection, column, first, oneOf, type Statement, type Steps } from '../database/connection.ts'
import { readHeader } from './header.ts'
import { endOfLog } from './position-before.ts'
import { type PositionWindow, searchLog } from './search.ts'
import type { Schemas } from './upcasters.ts'

/** Which events to read, and in which order. */
export interface ReadFilter {
  readonly after?: number
  readonly types?: readonly string[]
  readonly exceptTypes?: readonly string[]
  /** The machine whose streams are read, such as `consent`. */
  readonly kind?: string
  readonly stream?: string
  /** With `stream`: the first version to read. */
  readonly fromVersion?: number
  readonly backward?: boolean
  readonly limit?: number
}

/** Which events the newest is chosen from. */
export type LastFilter = Pick<ReadFilter, 'types' | 'stream'>

/** The default size of a page. */
export const logPageRows = 1_000

/** Reads one page of the log in order of position. */
export function* readPage(schemas: Schemas, filter: ReadFilter): Steps<RecordedEvent[]> {
  return (yield* readHeaders(filter)).map(header => readHeader(header, schemas))
}

type Reader = Pick<Connection, 'read'>

/** Reads one page of the log in order of position. A filter without an index searches the log in windows. */
export async function readOrSearch(reader: Reader, schemas: Schemas, filter: ReadFilter): Promise<RecordedEvent[]> {
  if (!needsSearch(filter)) return reader.read(() => readPage(schemas, filter))
  return (await searchHeaders(reader, filter)).found.map(header => readHeader(header, schemas))
}

/**
 * Like `readOrSearch`, with the end of the log at that moment. The page ends before a damaged event, so that the events
 * before it are still processed. Throws when the first event of the page is damaged.
 */
export async function readWithEnd(
  reader: Reader,
  schemas: Schemas,
  filter: ReadFilter,
): Promise<{ events: RecordedEvent[]; end: number }> {
  const { found, end } = needsSearch(filter)
    ? await searchHeaders(reader, filter)
    : await reader.read(() => readHeadersWithEnd(filter))
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

/** Reports whether a filter has no index: event types have none. */
function needsSearch({ stream, types, exceptTypes, kind }: ReadFilter): boolean {
  return stream === undefined && (types ?? exceptTypes ?? kind) !== undefined
}

interface FoundHeaders {
  readonly found: readonly string[]
  readonly end: number
}

function searchHeaders(reader: Reader, filter: ReadFilter): Promise<FoundHeaders> {
  const { limit = logPageRows } = filter
  const readWindow = (window: PositionWindow, left: number) =>
    column<string>(pageStatement({ ...filter, limit: left }, window))
  return searchLog(reader, { ...filter, limit }, readWindow)
}

function* readHeadersWithEnd(filter: ReadFilter): Steps<FoundHeaders> {
  return { found: yield* readHeaders(filter), end: yield* endOfLog() }
}

/** Reads one page of headers without parsing them: a thousand parsed events at once would grow the heap. */
export function* readHeaders(filter: ReadFilter): Steps<readonly string[]> {
  return yield* column(pageStatement(filter))
}

/** Hand-written SQL, because it runs very often and compiling a query takes as long as reading an event. */
function pageStatement(filter: ReadFilter, window?: PositionWindow): Statement {
  const { backward = false, after = backward ? undefined : 0, limit = logPageRows } = filter
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
  if (exceptTypes && exceptTypes.length > 0) where(`type not in (${exceptTypes.map(() => '?')})`, ...exceptTypes)
  // Events are named after their machine, and '/' is the character after '.'.
  if (kind !== undefined) where('type > ? and type < ?', `${kind}.`, `${kind}/`)
  const whereClause = conditions.length > 0 ? `where ${conditions.join(' and ')}` : ''
  // Both orders are the same within a stream, and its index has versions.
  const by = stream === undefined ? 'position' : 'version'
  return {
    sql: `select header from event ${whereClause} order by ${by} ${order} limit ?`,
    parameters: [...parameters, limit],
  }
}

/** Reads the event at a position. */
export function* readAt(schemas: Schemas, position: number): Steps<RecordedEvent | undefined> {
  const row = yield* first<{ header: string }>({ sql: selectAt, parameters: [position] })
  return row && readHeader(row.header, schemas)
}

const selectAt = 'select header from event where position = ?'

/** A leaf of the Merkle tree: an event's header, and its hash in hexadecimal. */
export interface Leaf {
  readonly header: string
  readonly leaf: string
}

/** Reads the leaf of the event at a position. */
export function* readLeaf(position: number): Steps<Leaf | undefined> {
  const row = yield* first<{ header: string; leaf: Uint8Array }>({ sql: selectLeaf, parameters: [position] })
  return row && { header: row.header, leaf: Buffer.from(row.leaf).toString('hex') }
}

const selectLeaf = 'select header, leaf from event where position = ?'
