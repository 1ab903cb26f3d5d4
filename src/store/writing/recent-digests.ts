import { fromInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { each, first, rows, type Steps } from '../database/connection.ts'

/** A keyed digest under which nothing may have been recorded a short while ago. */
export interface RecentDigest {
  readonly digest: Uint8Array
  /** Anything recorded before this is too long ago. In milliseconds, by a clock. */
  readonly since: number
  /**
   * Anything recorded after this came from a clock that was ahead and has been put back: its age is unknown, and it
   * does not count. In milliseconds.
   */
  readonly until: number
}

/** What was recorded under a digest: the last event of its append, and when, by the clock of its process. */
interface RecentEvent {
  readonly position: number
  /** The log's time may be later: it never goes back, and a clock's may. */
  readonly at: Instant
}

/** What a batch records under a digest. */
export type NewlySeen = RecentDigest & RecentEvent

/** How many are kept at most, however young: the oldest go first. */
const keptMax = 100_000
/** How many new ones come between two removals of old ones. */
const sweepEvery = 1_000

/**
 * What was recorded a short while ago, found by keyed digests: kept in a table in the order of the log, where adding
 * costs next to nothing, and looked up in memory. An index on disk would be written at random places.
 */
export class RecentDigests {
  /** By digest, the oldest first. */
  readonly #seen = new Map<string, RecentEvent>()
  /** Rows of other processes beyond this position have not been read. */
  #position = 0
  #isBehind = true
  #unswept = 0

  /** Another process has written: its rows are read when they are needed. */
  fallBehind(): void {
    this.#isBehind = true
  }

  /** Drops what was added, since its commit failed. */
  forget(): void {
    this.#seen.clear()
    this.#position = 0
    this.#isBehind = true
  }

  /** Reads what others added. */
  *catchUp(): Steps<void> {
    if (!this.#isBehind) return
    const parameters = [this.#position]
    const found = yield* rows<RecentEvent & { digest: Uint8Array }>({ sql: selectAfter, parameters })
    for (const { digest, position, at } of found) this.#put(keyOf(digest), { position, at })
    // A process that adds a few and ends leaves its rows to be swept by others.
    this.#unswept += found.length
    this.#isBehind = false
  }

  /** The event in memory under a digest, unless it is too long ago. Most digests have none, and need no query. */
  remembered(recent: RecentDigest): number | undefined {
    const seen = this.#seen.get(keyOf(recent.digest))
    return seen && isWithin(recent, seen) ? seen.position : undefined
  }

  /** Finds the event that was recorded under a digest, unless that is too long ago, or its parts were destroyed. */
  *find(recent: RecentDigest): Steps<number | undefined> {
    const position = this.remembered(recent)
    if (position === undefined) return undefined
    const row = yield* first<{ position: number }>({ sql: selectOne, parameters: [position, recent.digest] })
    return row?.position
  }

  /** Writes what a batch recorded, once all of the others' rows have been read. */
  *add(added: ReadonlyMap<string, NewlySeen>): Steps<void> {
    const newest = [...added.values()].at(-1)
    if (!newest) return
    yield* each(
      insertOne,
      Array.from(added.values(), ({ position, at, digest }) => [position, at, digest]),
    )
    for (const [key, { position, at }] of added) this.#put(key, { position, at })
    this.#unswept += added.size
    if (this.#unswept >= sweepEvery) yield* this.#sweep(newest)
  }

  *#sweep(newest: RecentDigest): Steps<void> {
    this.#unswept = 0
    let last: RecentEvent | undefined
    for (const [key, seen] of this.#seen) {
      if (isWithin(newest, seen) && this.#seen.size <= keptMax) break
      this.#seen.delete(key)
      last = seen
    }
    if (last) yield* rows({ sql: deleteUntil, parameters: [last.position] })
  }

  #put(key: string, seen: RecentEvent): void {
    // Deleted first, so that it is inserted at the end.
    this.#seen.delete(key)
    this.#seen.set(key, seen)
    this.#position = seen.position
  }
}

function isWithin({ since, until }: RecentDigest, { at }: RecentEvent): boolean {
  const ms = fromInstant(at)
  return ms >= since && ms <= until
}

/** A digest as the key of a map. */
export function keyOf(digest: Uint8Array): string {
  return Buffer.from(digest.buffer, digest.byteOffset, digest.length).toString('latin1')
}

/** Removes the digests of events whose parts are destroyed. */
export function* forgetRecent(positions: readonly number[]): Steps<void> {
  yield* each(
    deleteOne,
    positions.map(position => [position]),
  )
}

const selectAfter = 'select position, at, digest from recent_digest where position > ? order by position'
const selectOne = 'select position from recent_digest where position = ? and digest = ?'
const insertOne = 'insert into recent_digest (position, at, digest) values (?, ?, ?)'
const deleteUntil = 'delete from recent_digest where position <= ?'
const deleteOne = 'delete from recent_digest where position = ?'
