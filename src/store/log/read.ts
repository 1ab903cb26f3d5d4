import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Instant, RecordedEvent } from '../../vocabulary/message.ts'
import { type Connection, first, oneOf, rows, type Statement, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { DamagedEvent, type HeaderReader, type StoredHeader } from './header.ts'

export function eventsOf(stream: string) {
  return db.selectFrom('event').innerJoin('stream', 'stream.key', 'event.stream').where('stream.name', '=', stream)
}

/** The columns that a `HeaderReader` needs. */
export const headerColumns = ['event.position', 'event.header', 'event.tag'] as const

/** The position of the last event before an instant, or 0. Times never decrease along the log: a binary search. */
export function* positionBefore(headers: HeaderReader, instant: Instant): Steps<number> {
  let [low, high] = [0, yield* endOfLog()]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((yield* timeAt(headers, middle)) < instant) low = middle
    else high = middle - 1
  }
  return low
}

/** Reads the time of an event; empty when there is no event at the position. */
export function* timeAt(headers: HeaderReader, position: number): Steps<Instant> {
  const event = yield* first<StoredHeader>({ sql: selectAt, parameters: [position] })
  return event ? headers.parse(event).at : ''
}

/** Reads the position of the newest event, which is the number of events. */
export function* endOfLog(): Steps<number> {
  return (yield* first<{ position: number }>({ sql: selectEnd, parameters: [] }))?.position ?? 0
}
const selectEnd = 'select coalesce(max(position), 0) as position from event'

/** When the owner was erased last; empty if never. */
export function* readErasedAt(headers: HeaderReader, owner: string): Steps<Instant> {
  const query = eventsOf(owner).where('event.type', '=', 'subject.erased').orderBy('event.version', 'desc')
  const erased = yield* first(query.select(headerColumns).limit(1))
  return erased ? headers.parse(erased).at : ''
}

/** The positions that one statement reads: more than `above`, up to and including `upTo`. */
export interface PositionWindow {
  readonly above: number
  readonly upTo: number
}

/** Where a search begins, its direction, and how many results it needs. */
export interface SearchBounds {
  /** The position next to which it begins. By default an end of the log. */
  readonly after?: number | undefined
  readonly backward?: boolean
  readonly limit?: number
  /** Positions per statement. By default so many that reading their types takes about ten milliseconds. */
  readonly positions?: number
  readonly onProgress?: ((position: number, end: number) => void) | undefined
}

/**
 * Searches the log for rare events, window by window, and yields to the event loop in between: one statement over
 * millions of events would block it for seconds. `end` is the end of the log at the last window.
 */
export async function searchLog<T>(
  reader: Pick<Connection, 'read'>,
  { after, backward = false, limit = Number.POSITIVE_INFINITY, positions = 20_000, onProgress }: SearchBounds,
  readWindow: (window: PositionWindow, limit: number) => Steps<readonly T[]>,
): Promise<{ found: T[]; end: number }> {
  const found: T[] = []
  for (let from = after; ; ) {
    const { page, window, end } = await reader.read(function* () {
      const end = yield* endOfLog()
      const first = backward ? Math.min(from ?? end + 1, end + 1) - 1 - positions : (from ?? 0)
      const window = { above: Math.max(0, first), upTo: Math.min(first + positions, end) }
      return { page: yield* readWindow(window, limit - found.length), window, end }
    })
    found.push(...page)
    onProgress?.(window.upTo, end)
    const isOver = backward ? window.above === 0 : window.upTo >= end
    if (isOver || found.length === limit) return { found, end }
    from = backward ? window.above + 1 : window.upTo
    await yieldToEventLoop()
  }
}

export interface ReadFilter<T extends string = string> {
  readonly after?: number
  readonly types?: readonly T[]
  readonly exceptTypes?: readonly string[]
  /** The machine whose streams are read, such as `consent`. */
  readonly kind?: string
  readonly stream?: string
  readonly fromVersion?: number
  readonly backward?: boolean
  readonly limit?: number
}

export const logPageRows = 1_000

/** Reads one page of the log in order of position. */
export function* readPage<R extends RecordedEvent>(headers: HeaderReader, filter: ReadFilter): Steps<R[]> {
  const page = readAll<R>(headers, filter, yield* readHeaders(filter))
  if (filter.stream !== undefined && !filter.types && !filter.exceptTypes?.length) checkGapless(page, filter)
  return page
}

/** Checks that no event of a stream is missing between others: its row may name another stream. */
function checkGapless(page: readonly RecordedEvent[], { fromVersion, after, backward = false }: ReadFilter): void {
  const step = backward ? -1 : 1
  let expected = (after === undefined && !backward && fromVersion) || page[0]?.version
  for (const { version, position, stream } of page) {
    if (version !== expected) throw new DamagedEvent(`the one before it in "${stream}" is missing`, { position })
    expected = version + step
  }
}

/** Reads the events that were found. Throws when one is damaged. */
function readAll<R extends RecordedEvent>(
  headers: HeaderReader,
  filter: ReadFilter,
  found: readonly StoredHeader[],
): R[] {
  const { events, damage } = readSound<R>(headers, filter, found)
  if (damage) throw damage.error
  return events
}

/** Reads the events that were found, up to one that is damaged or out of order: it could lead back for ever. */
function readSound<R extends RecordedEvent>(
  headers: HeaderReader,
  filter: ReadFilter,
  found: readonly StoredHeader[],
): { events: R[]; damage?: { readonly error: unknown } } {
  const events: R[] = []
  const { backward = false } = filter
  let { after = backward ? Number.POSITIVE_INFINITY : 0 } = filter
  for (const stored of found) {
    try {
      const event = readAsked<R>(headers, filter, stored)
      if (backward ? event.position >= after : event.position <= after) throw outOfOrder(event)
      after = event.position
      events.push(event)
    } catch (error) {
      return { events, damage: { error } }
    }
  }
  return { events }
}

/** The error for a row that comes after one that it should come before. A damaged page may lead back to it. */
export function outOfOrder({ position }: Pick<RecordedEvent, 'position'>): DamagedEvent {
  return new DamagedEvent('its row is out of order', { position })
}

/** Reads an event. The columns that found it have no tag, so the event itself must be one that the filter asks for. */
function readAsked<R extends RecordedEvent>(headers: HeaderReader, filter: ReadFilter, stored: StoredHeader): R {
  const event = headers.read<R>(stored)
  const { types, exceptTypes = [], kind, stream } = filter
  const isOfType = (types?.includes(event.type) ?? true) && !exceptTypes.includes(event.type)
  const isOfKind = kind === undefined || event.type.startsWith(`${kind}.`)
  const isOfStream = stream === undefined || event.stream === stream
  if (isOfType && isOfKind && isOfStream) return event
  throw new DamagedEvent('its row names another stream or type', { position: stored.position })
}

type Reader = Pick<Connection, 'read'>

/** Reads one page of the log in order of position. A filter without an index searches the log in windows. */
export async function readOrSearch<R extends RecordedEvent>(
  reader: Reader,
  headers: HeaderReader,
  filter: ReadFilter,
): Promise<R[]> {
  if (!needsSearch(filter)) return reader.read(() => readPage<R>(headers, filter))
  return readAll(headers, filter, (await searchHeaders(reader, filter)).found)
}

/** Events in order of position, and the end of the log when they were read. */
export interface LogPage<R extends RecordedEvent> {
  readonly events: readonly R[]
  readonly end: number
}

/**
 * Like `readOrSearch`, with the end of the log at that moment. The page ends before a damaged event, so that the events
 * before it are still processed. Throws when the first event of the page is damaged.
 */
export async function readWithEnd<R extends RecordedEvent>(
  reader: Reader,
  headers: HeaderReader,
  filter: ReadFilter,
): Promise<LogPage<R>> {
  const { found, end } = needsSearch(filter)
    ? await searchHeaders(reader, filter)
    : await reader.read(function* () {
        return { found: yield* readHeaders(filter), end: yield* endOfLog() }
      })
  const { events, damage } = readSound<R>(headers, filter, found)
  if (damage && events.length === 0) throw damage.error
  return { events, end }
}

/** Reports whether a filter has no index: event types have none. */
function needsSearch({ stream, types, exceptTypes, kind }: ReadFilter): boolean {
  return stream === undefined && (types ?? exceptTypes ?? kind) !== undefined
}

function searchHeaders(reader: Reader, filter: ReadFilter) {
  const { limit = logPageRows } = filter
  const readWindow = (window: PositionWindow, left: number) =>
    rows<StoredHeader>(pageStatement({ ...filter, limit: left }, window))
  return searchLog(reader, { ...filter, limit }, readWindow)
}

/** Reads one page of headers without parsing them: a thousand parsed events at once would grow the heap. */
export function* readHeaders(filter: ReadFilter): Steps<readonly StoredHeader[]> {
  return yield* rows(pageStatement(filter))
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
    sql: `select position, header, tag from event ${whereClause} order by ${by} ${order} limit ?`,
    parameters: [...parameters, limit],
  }
}

/** Reads the event at a position. */
export function* readAt<R extends RecordedEvent>(headers: HeaderReader, position: number): Steps<R | undefined> {
  const row = yield* first<StoredHeader>({ sql: selectAt, parameters: [position] })
  return row && headers.read<R>(row)
}

const selectAt = 'select position, header, tag from event where position = ?'

/** A leaf of the Merkle tree: an event's header, and its hash in hexadecimal. */
export interface Leaf {
  readonly header: string
  readonly leaf: string
}

export function* readLeaf(headers: HeaderReader, position: number): Steps<Leaf | undefined> {
  const row = yield* first<StoredHeader & { leaf: Uint8Array }>({ sql: selectLeaf, parameters: [position] })
  if (row) headers.parse(row)
  return row && { header: row.header, leaf: Buffer.from(row.leaf).toString('hex') }
}

const selectLeaf = 'select position, header, leaf, tag from event where position = ?'
