import { absenceTypes } from '../../proof/log-verifier.ts'
import type { OwnerKey, Vault } from '../../vault/vault.ts'
import { fromInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { Cell } from '../../vocabulary/view.ts'
import { each, first, rows, type Steps } from '../database/connection.ts'
import type { Head } from '../log/head.ts'
import { damagedLogError, type HeaderReader } from '../log/header.ts'
import { digestKey } from '../log/keyed-index.ts'
import { readErasedAt } from '../log/read.ts'
import { readStreamEnd, type StreamEnd } from '../log/streams.ts'
import type { Tags } from '../log/tags.ts'
import type { ForeignEvent } from '../log/tail.ts'
import type { Tree } from '../log/tree.ts'

/** An owner's key with its number. An erased owner never gets a new key. */
export type KnownOwner = OwnerKey & {
  readonly key: number
  readonly isErased: 0 | 1
  readonly isNew?: boolean
}

/** A row of any view, by column. */
type Row = Readonly<Record<string, Cell>>

const streamsMax = 100_000
const ownersMax = 20_000
const rowsOfViewMax = 2_000

/**
 * What the writer keeps in memory between commits: the end of the log, the edge of its tree, the versions of streams,
 * the keys of owners. Discarded as a whole when a commit fails or another process has written.
 */
export class WriterCache implements Head {
  position: number
  at: Instant
  stream: number
  owner: number
  /** The views that are up to date, as the head lists them. */
  views: string
  readonly epoch: number
  readonly fence: number
  readonly schema: number
  tag: string
  readonly tree: Tree
  leaf: Uint8Array | null
  readonly streams: Map<string, StreamEnd>
  readonly owners: Map<string, KnownOwner>
  /** The rows of views that were written last, by view and key. */
  readonly viewRows: Map<string, Map<string, Row | undefined>>

  /** @param known what is known from before */
  constructor(head: Head, known?: Pick<WriterCache, 'streams' | 'owners' | 'viewRows'>) {
    const { position, at, stream, owner, tree, leaf, views, epoch, fence, schema, tag } = head
    this.streams = known?.streams ?? new Map()
    this.owners = known?.owners ?? new Map()
    this.viewRows = known?.viewRows ?? new Map()
    this.position = position
    this.at = at
    this.stream = stream
    this.owner = owner
    this.tree = tree
    this.leaf = leaf
    this.views = views
    this.epoch = epoch
    this.fence = fence
    this.schema = schema
    this.tag = tag
  }

  /** Follows events of another process: what they changed is known, or read again. */
  follow(events: readonly ForeignEvent[]): void {
    for (const { stream: key, name, version, type } of events) {
      if (this.streams.has(name)) this.streams.set(name, { key, version })
      if (absenceTypes.some(each => each === type)) this.owners.clear()
    }
  }

  /** Bounds its memory. Dropped entries are read again when needed. */
  trim(): void {
    if (this.streams.size > streamsMax) this.streams.clear()
    if (this.owners.size > ownersMax) this.owners.clear()
    for (const [view, known] of this.viewRows) if (known.size > rowsOfViewMax) this.viewRows.delete(view)
  }

  /** Reads a stream into the cache, if it exists. */
  *readStream(tags: Tags, name: string): Steps<void> {
    const found = yield* readStreamEnd(tags, name)
    if (found) this.streams.set(name, found)
  }

  /** Reads an owner's key into the cache, if the owner has one. */
  *readOwner(headers: HeaderReader, owner: string): Steps<void> {
    const found = yield* first<KnownOwner>({ sql: selectOwner, parameters: [owner] })
    // The mark has no tag, and what belongs to an erased person is not kept.
    if (found?.isErased === 1 && (yield* readErasedAt(headers, owner)) === '')
      throw damagedLogError(`The key of "${owner}" is marked as erased, and no event says so`)
    if (found) this.owners.set(owner, found)
  }

  nextStream(): number {
    this.stream += 1
    return this.stream
  }

  newOwner(owner: string, vault: Vault): KnownOwner {
    this.owner += 1
    return { ...vault.createOwnerKey(owner), key: this.owner, isErased: 0, isNew: true }
  }
}

const selectOwner = `select key, owner, epoch, wrapped, commitment, is_erased as "isErased" from owner_key
  where owner = ?`

/** A keyed digest of received content, with the period within which equal content is a duplicate. */
export interface RecentDigest {
  readonly digest: Uint8Array
  readonly since: number
  /** The end, in milliseconds. A later record came from a clock that was ahead, so its age is unknown. */
  readonly until: number
}

/** The last event of an append with a digest, and the time by the clock of its process. */
interface RecentEvent {
  readonly position: number
  /** May be earlier than the event's time: a clock may go back, the times of the log never do. */
  readonly at: Instant
}

/** A digest that a batch records, with its event. */
export type NewRecentDigest = RecentDigest & RecentEvent

/** Digests kept at most. The oldest are deleted first. */
const digestsMax = 100_000
/** New digests between two deletions of old ones. */
const sweepEvery = 1_000

/**
 * Finds recently recorded content by keyed digest. The digests are in a table in log order, where inserting is cheap,
 * and are looked up in memory: an index on disk would cause random writes.
 */
export class RecentDigests {
  readonly #seen = new Map<string, RecentEvent>()
  /** Rows of other processes up to this position have been read. */
  #position = 0
  #isStale = true
  #unswept = 0
  /** The digests of the last batch, and how far was read before it. */
  #added: { readonly keys: readonly string[]; readonly before: number } = { keys: [], before: 0 }

  /** Forgets the digests of the last batch, which was not written. */
  undo(): void {
    for (const key of this.#added.keys) this.#seen.delete(key)
    this.#position = this.#added.before
    this.#isStale = true
  }

  markStale(): void {
    this.#isStale = true
  }

  *catchUp(): Steps<void> {
    if (!this.#isStale) return
    const parameters = [this.#position]
    const found = yield* rows<RecentEvent & { digest: Uint8Array }>({ sql: selectAfter, parameters })
    for (const { digest, position, at } of found) this.#remember(digestKey(digest), { position, at })
    // Rows of other processes count too: a short-lived process never reaches `sweepEvery` itself.
    this.#unswept += found.length
    this.#isStale = false
  }

  /** Finds a recent event in memory. Most digests have none and need no query. */
  findInMemory(recent: RecentDigest): number | undefined {
    const seen = this.#seen.get(digestKey(recent.digest))
    return seen && isRecent(recent, seen) ? seen.position : undefined
  }

  /** Finds a recent event under a digest, unless its parts were destroyed. */
  *find(recent: RecentDigest): Steps<number | undefined> {
    const position = this.findInMemory(recent)
    if (position === undefined) return undefined
    const row = yield* first<{ position: number }>({ sql: selectOne, parameters: [position, recent.digest] })
    return row?.position
  }

  /** Inserts the digests of a batch. Call `catchUp` first. */
  *add(added: ReadonlyMap<string, NewRecentDigest>): Steps<void> {
    this.#added = { keys: [...added.keys()], before: this.#position }
    const newest = [...added.values()].at(-1)
    if (!newest) return
    yield* each(insertOne, [...added.values()], ({ position, at, digest }) => [position, at, digest])
    for (const [key, { position, at }] of added) this.#remember(key, { position, at })
    this.#unswept += added.size
    if (this.#unswept >= sweepEvery) yield* this.#sweep(newest)
  }

  *#sweep(newest: RecentDigest): Steps<void> {
    this.#unswept = 0
    let last: RecentEvent | undefined
    for (const [key, seen] of this.#seen) {
      if (isRecent(newest, seen) && this.#seen.size <= digestsMax) break
      this.#seen.delete(key)
      last = seen
    }
    if (last) yield* rows({ sql: deleteUntil, parameters: [last.position] })
  }

  #remember(key: string, seen: RecentEvent): void {
    // Deleted first, so that the new entry is the last one.
    this.#seen.delete(key)
    this.#seen.set(key, seen)
    this.#position = seen.position
  }
}

function isRecent({ since, until }: RecentDigest, { at }: RecentEvent): boolean {
  const ms = fromInstant(at)
  return ms >= since && ms <= until
}

/** Deletes the digests of events whose parts are destroyed. */
export function* deleteRecentDigests(positions: readonly number[]): Steps<void> {
  yield* each(deleteOne, positions, position => [position])
}

const selectAfter = 'select position, at, digest from recent_digest where position > ? order by position'
const selectOne = 'select position from recent_digest where position = ? and digest = ?'
const insertOne = 'insert into recent_digest (position, at, digest) values (?, ?, ?)'
const deleteUntil = 'delete from recent_digest where position <= ?'
const deleteOne = 'delete from recent_digest where position = ?'
