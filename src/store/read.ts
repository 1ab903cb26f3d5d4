import { parsePartAddress } from '../addresses.ts'
import { AverbaError } from '../errors.ts'
import type { Json, PartAddress, Recorded } from '../message.ts'
import type { OwnerKey, Vault } from '../vault/vault.ts'
import { type Connection, column, first, type Statement, type Steps } from './connection.ts'
import { endOfLog } from './end-of-log.ts'
import { readHeader, recordKeyIn } from './header.ts'
import { findMark, type MovedParts } from './moved-parts.ts'
import type { Schemas } from './schemas.ts'

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

/** Reads the events right after a position, in a page. */
export function* readAfter(schemas: Schemas, after: number): Steps<Recorded[]> {
  const page = yield* column<string>({ sql: selectAfter, parameters: [after, pageRows] })
  return page.map(header => readHeader(header, schemas))
}

/** Reads one page of the log, in order of position. */
export function* readPage(connection: Connection, schemas: Schemas, filter: ReadFilter): Steps<Recorded[]> {
  return (yield* readTexts(connection, filter)).map(header => readHeader(header, schemas))
}

/** Reads the newest event of those that a filter names. */
export function* readLast(
  connection: Connection,
  schemas: Schemas,
  filter: LastFilter,
): Steps<Recorded | undefined> {
  const [last] = yield* readPage(connection, schemas, { ...filter, backward: true, limit: 1 })
  return last
}

/**
 * Reads one page of the log as it is stored, for readers that take one event after the other: a thousand parsed events
 * at once would live long enough to grow the heap.
 */
export function* readTexts(connection: Connection, filter: ReadFilter): Steps<readonly string[]> {
  return yield* column(pageOf(connection, filter))
}

/**
 * Reads one page, with the end of the log at that moment. It ends before an event that cannot be read, and throws only
 * when that is the first: what comes before is not held up.
 */
export function* readOn(
  connection: Connection,
  schemas: Schemas,
  filter: ReadFilter,
): Steps<{ events: Recorded[]; end: number }> {
  const events: Recorded[] = []
  for (const text of yield* readTexts(connection, filter)) {
    try {
      events.push(readHeader(text, schemas))
    } catch (error) {
      if (events.length === 0) throw error
      break
    }
  }
  return { events, end: yield* endOfLog() }
}

function pageOf(connection: Connection, filter: ReadFilter): Statement {
  const { after = 0, types, exceptTypes, kind, stream, fromVersion, backward = false } = filter
  const { limit = pageRows } = filter
  // Replays and rebuilds ask for this again and again: it is not compiled each time.
  if (!types && !exceptTypes && kind === undefined && fromVersion === undefined && !backward) {
    if (stream === undefined) return { sql: selectAfter, parameters: [after, limit] }
    return { sql: selectOfStream, parameters: [stream, after, limit] }
  }
  let query = connection.compiler.selectFrom('event').select('event.header').limit(limit)
  // Within a stream both orders are the same, and the index has versions.
  const order = stream === undefined ? 'event.position' : 'event.version'
  query = query.orderBy(order, backward ? 'desc' : 'asc')
  if (filter.after !== undefined) query = query.where('event.position', backward ? '<' : '>', after)
  if (types) query = query.where('event.type', 'in', [...types])
  if (exceptTypes) query = query.where('event.type', 'not in', [...exceptTypes])
  // Events are named after their machine, and '/' is the character after '.'.
  if (kind !== undefined)
    query = query.where('event.type', '>', `${kind}.`).where('event.type', '<', `${kind}/`)
  if (fromVersion !== undefined) query = query.where('event.version', backward ? '<=' : '>=', fromVersion)
  if (stream !== undefined) {
    query = query.where('event.stream', '=', eb =>
      eb.selectFrom('stream').select('key').where('name', '=', stream),
    )
  }
  return query.compile()
}

const selectAfter = 'select header from event where position > ? order by position limit ?'
const selectOfStream = `select header from event where stream = (select key from stream where name = ?)
  and position > ? order by version limit ?`

/** Reads one event. */
export function* readAt(schemas: Schemas, position: number): Steps<Recorded | undefined> {
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

/**
 * Opens a part at its address; `undefined` when it is not there.
 *
 * @throws {AverbaError} `PART_ARCHIVED` when it was moved out to a bundle
 */
export function* openPart(vault: Vault, address: PartAddress, moved: MovedParts): Steps<Json | undefined> {
  const [stream, version, name] = parsePartAddress(address)
  const part = yield* first<OwnerKey & { header: string; sealed: Uint8Array }>({
    sql: selectPart,
    parameters: [stream, version, name],
  })
  if (part) return vault.open(part, address, part.sealed, recordKeyIn(part.header, name))
  yield* checkNotMoved(address, moved)
  return undefined
}

/**
 * Throws for a part that was moved out, which is not damage: the error tells where it went.
 *
 * @throws {AverbaError} `PART_ARCHIVED`
 */
export function* checkNotMoved(address: PartAddress, moved: MovedParts): Steps<void> {
  const [stream, version, name] = parsePartAddress(address)
  const position = yield* findMark(stream, version, name)
  const bundle = position === undefined ? undefined : yield* moved.bundleOf({ position, name })
  if (bundle === undefined) return
  throw new AverbaError('PART_ARCHIVED', `Cannot open the part "${address}": it was moved out to a bundle`, {
    hint: `Put it back with averba archive --restore, from the bundle with the SHA-256 ${bundle}`,
  })
}

const selectPart = `select event.header, part.sealed, owner_key.owner, owner_key.epoch, owner_key.wrapped, owner_key.commitment from stream
  join event on event.stream = stream.key join part on part.position = event.position
  join owner_key on owner_key.key = part.owner
  where stream.name = ? and event.version = ? and part.name = ?`
