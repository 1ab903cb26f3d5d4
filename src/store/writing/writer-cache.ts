import type { OwnerKey, Vault } from '../../vault/vault.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { first, type Steps } from '../database/connection.ts'
import { parseHeader } from '../log/header.ts'
import { Tree } from '../log/tree.ts'

/** A stream in the writer's cache: its number and its version. */
export interface KnownStream {
  readonly key: number
  version: number
}

/** An owner's key with its number. An erased owner never gets a new key. */
export type KnownOwner = OwnerKey & {
  readonly key: number
  readonly isErased: 0 | 1
  readonly isNew?: boolean
}

const streamsMax = 100_000
const ownersMax = 20_000

/**
 * What the writer keeps in memory between commits: the end of the log, the edge of its tree, the versions of streams,
 * the keys of owners. Discarded as a whole when a commit fails or another process has written.
 */
export class WriterCache {
  position: number
  at: Instant
  /** The views that are up to date, as `readViews` reads them. */
  views: string
  readonly epoch: number
  readonly tree: Tree
  readonly streams = new Map<string, KnownStream>()
  readonly owners = new Map<string, KnownOwner>()
  #lastStream: number
  #lastOwner: number

  private constructor(head: WriterHead, tree: Tree) {
    this.position = head.position
    this.at = head.at
    this.views = head.views
    this.epoch = head.epoch
    this.#lastStream = head.stream ?? 0
    this.#lastOwner = head.owner ?? 0
    this.tree = tree
  }

  /** Reads the end of the log and the edge of its tree. */
  static *load(): Steps<WriterCache> {
    const head = yield* first<WriterHead>({ sql: selectHead, parameters: [] })
    const last = yield* first<{ position: number; header: string }>({ sql: selectLast, parameters: [] })
    const { views = '', epoch = 1, stream = 0, owner = 0 } = head ?? {}
    const { position = 0, header } = last ?? {}
    const at: Instant = header === undefined ? '' : parseHeader(header).at
    return new WriterCache({ position, at, views, epoch, stream, owner }, yield* Tree.load(position))
  }

  /** Bounds its memory. Dropped entries are read again when needed. */
  trim(): void {
    if (this.streams.size > streamsMax) this.streams.clear()
    if (this.owners.size > ownersMax) this.owners.clear()
  }

  /** Reads a stream into the cache; `undefined` when it does not exist. */
  *readStream(name: string): Steps<KnownStream | undefined> {
    const found = yield* first<KnownStream>({ sql: selectStream, parameters: [name] })
    if (found) this.streams.set(name, found)
    return found
  }

  /** Reads an owner's key into the cache; `undefined` when the owner has none yet. */
  *readOwner(owner: string): Steps<KnownOwner | undefined> {
    const found = yield* first<KnownOwner>({ sql: selectOwner, parameters: [owner] })
    if (found) this.owners.set(owner, found)
    return found
  }

  nextStream(): number {
    this.#lastStream += 1
    return this.#lastStream
  }

  newOwner(owner: string, vault: Vault): KnownOwner {
    this.#lastOwner += 1
    return { ...vault.createOwnerKey(owner), key: this.#lastOwner, isErased: 0, isNew: true }
  }
}

interface WriterHead {
  readonly position: number
  readonly at: Instant
  readonly views: string
  readonly epoch: number
  readonly stream: number | null
  readonly owner: number | null
}

const selectHead = `select views, epoch, (select max(key) from stream) as stream,
  (select max(key) from owner_key) as owner from head`
const selectLast = 'select position, header from event order by position desc limit 1'
const selectStream = `select key, (select max(version) from event where event.stream = stream.key) as version
  from stream where name = ?`
const selectOwner = `select key, owner, epoch, wrapped, commitment, is_erased as "isErased" from owner_key
  where owner = ?`
