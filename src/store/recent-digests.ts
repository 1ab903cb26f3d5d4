import { fromInstant } from '../clock.ts'
import type { Instant } from '../message.ts'
import { each, first, rows, type Steps } from './connection.ts'

/** A keyed digest under which nothing may have been recorded a short while ago. */
export interface RecentDigest {
  readonly digest: Uint8Array
  /** What was recorded before it is too long ago. In milliseconds, as a clock has it. */
  readonly since: number
  /**
   * What was recorded after it is of a clock that was ahead, and has gone back since: nobody knows how long ago that is,
   * and it is in nobody's way. In milliseconds.
   */
  readonly until: number
}

/** What was recorded under a digest: the last event of its append, and when that was for the clock of its process. */
interface Seen {
  readonly position: number
  /** The log may be ahead of it: its times never go back, and a clock's do. */
  readonly at: Instant
}

/** What a batch records under a digest. */
export type NewlySeen = RecentDigest & Seen

/** How many are kept, be they as young as they may: then the oldest give way. */
const keptMax = 100_000
/** After how many new ones those go that are too old. */
const sweepEvery = 1_000

/**
 * What was recorded a short while ago, found by keyed digests: a table in the order of the log, to which adding costs
 * next to nothing, and all of it in memory, where it is looked up. An index would be written at random places.
 */
export class RecentDigests {
  /** By digest, the oldest first. */
  readonly #seen = new Map<string, Seen>()
  /** What others added beyond this position has not been read. */
  #position = 0
  #isBehind = true
  #unswept = 0

  /** Somebody else has written: what that added is read when it is needed. */
  fallBehind(): void {
    this.#isBehind = true
  }

  /** Nothing that was added counts: its commit failed. */
  forget(): void {
    this.#seen.clear()
    this.#position = 0
    this.#isBehind = true
  }

  /** Reads what others added. */
  *catchUp(): Steps<void> {
    if (!this.#isBehind) return
    const parameters = [this.#position]
    const found = yield* rows<Seen & { digest: Uint8Array }>({ sql: selectAfter, parameters })
    for (const { digest, position, at } of found) this.#put(keyOf(digest), { position, at })
    // Of those who add a few and are gone, nobody else would sweep after.
    this.#unswept += found.length
    this.#isBehind = false
  }

  /** The event that memory has under a digest, unless that is too long ago: most digests have none, and ask no table. */
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

  /** Writes what a batch recorded, all of it since the last time that others were read. */
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
    let last: Seen | undefined
    for (const [key, seen] of this.#seen) {
      if (isWithin(newest, seen) && this.#seen.size <= keptMax) break
      this.#seen.delete(key)
      last = seen
    }
    if (last) yield* rows({ sql: deleteUntil, parameters: [last.position] })
  }

  #put(key: string, seen: Seen): void {
    // Deleted first, to stand at the end.
    this.#seen.delete(key)
    this.#seen.set(key, seen)
    this.#position = seen.position
  }
}

function isWithin({ since, until }: RecentDigest, { at }: Seen): boolean {
  const ms = fromInstant(at)
  return ms >= since && ms <= until
}

/** A digest as the key of a map. */
export function keyOf(digest: Uint8Array): string {
  return Buffer.from(digest.buffer, digest.byteOffset, digest.length).toString('latin1')
}

/** Removes what was recorded under digests with events whose parts are destroyed. */
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
