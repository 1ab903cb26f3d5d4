import { movedType } from '../../proof/recorded-header.ts'
import { afterTurn } from '../../runtime/event-loop.ts'
import { EpochMissingError, KeyringUnreadableError } from '../../vault/keyring.ts'
import type { Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import { type Connection, first, HeadMovedError, type Steps, together } from '../database/connection.ts'
import { agreesBesidesEvents, type Head, headMarkOf, readHead, requireHead, selectHeadMark } from '../log/head.ts'
import type { HeaderReader } from '../log/header.ts'
import type { Tags } from '../log/tags.ts'
import { type ForeignEvent, movedError, readForeign, readLeafHash } from '../log/tail.ts'
import { Tree } from '../log/tree.ts'
import type { Append, Appended } from './append.ts'
import { findAll } from './found.ts'
import { Batch, stageAppend } from './stage.ts'
import { RecentDigests, WriterCache } from './writer-cache.ts'

export interface WriterParts {
  readonly connection: Connection
  readonly vault: Vault
  readonly headers: HeaderReader
  readonly tags: Tags
  /** Checks what another process has written: that it has the keys of the log, and changed no table. */
  readonly checkForeign: (position: number, after: number) => Steps<void>
  /** Updates the views, in the transaction of the events. With `isTrusting` a row that cannot be written fails it. */
  readonly project: (events: readonly RecordedEvent[], cache: WriterCache, isTrusting: boolean) => Steps<void>
  /** Forgets what events of another process have changed in the views. */
  readonly onForeign: (events: readonly ForeignEvent[], cache: WriterCache) => void
  readonly onCommitted: (position: number) => void
  /** Called with why nothing of a batch was recorded. */
  readonly onFailed: (error: unknown) => void
}

interface WaitingAppend {
  readonly input: Append
  readonly resolve: (appended: Appended) => void
  readonly reject: (error: unknown) => void
}

type AppendResult = { readonly appended: Appended } | { readonly error: unknown }

/** Appends per transaction: more would block the event loop for too long. */
const batchMax = 512
/** For how many turns of the event loop appends that arrive one after the other, as over sockets, are gathered. */
const turnsMax = 16
/** Commits in one turn of the event loop for callers that append again at once: other callers need turns too. */
const commitsPerTurnMax = 16
/** Where processes write in turns, a commit on trust in the head would often be made twice. */
const commitsInTurns = 32

/**
 * Group commit: appends of the same turn of the event loop, or of directly following turns, share one transaction, and
 * each gets its own result. A single caller does not wait for others.
 */
export class Writer {
  readonly recents = new RecentDigests()
  /** The newest event that this process has written or looked at. */
  newest: Newest = { position: 0, leaf: null }
  readonly #parts: WriterParts
  readonly #waiting: WaitingAppend[] = []
  #cache: WriterCache | undefined
  /** The value of `Connection.foreignWrites` for which `#cache` is valid. */
  #foreignWrites: string | undefined
  /** How many commits still look at the head first, after another process was faster. */
  #commitsInTurns = 0
  #isScheduled = false
  /** The last commit had one caller, who may append again at once. */
  #isAlone = false
  /** The callers of the last commit: once as many wait again, the writer gathers no longer. */
  #callers = 0
  #stopGathering: (() => void) | undefined
  /** How many more commits may run in this turn of the event loop. */
  #commitsLeft = commitsPerTurnMax

  constructor(parts: WriterParts) {
    this.#parts = parts
  }

  /**
   * Appends to one or more streams with parts, receipt and index entries: all of it or nothing.
   *
   * @throws {AverbaError} `STORE_BUSY` when another process holds the file for seconds
   */
  append(input: Append): Promise<Appended> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject })
      this.#schedule()
    })
  }

  forget(): void {
    this.#cache = undefined
  }

  /** Gathers appends until a turn of the event loop brings no new one. Callers who append again at once do not wait. */
  #schedule(): void {
    const mayFlush = this.#commitsLeft > 0
    if (!this.#isScheduled) {
      this.#isScheduled = true
      if (this.#isAlone && mayFlush) this.#flushSoon()
      else this.#gather(0, 1)
    } else if (this.#stopGathering && mayFlush && this.#waiting.length === this.#callers) {
      this.#stopGathering()
      this.#stopGathering = undefined
      this.#flushSoon()
    }
  }

  #flushSoon(): void {
    this.#commitsLeft -= 1
    queueMicrotask(() => void this.#flush())
  }

  /** An idle turn costs microseconds; a commit for one caller delays the following ones a thousand times as long. */
  #gather(before: number, turns: number): void {
    this.#stopGathering = afterTurn(() => {
      this.#stopGathering = undefined
      this.#commitsLeft = commitsPerTurnMax
      const { length } = this.#waiting
      if (length > before && length < batchMax && turns < turnsMax) this.#gather(length, turns + 1)
      else void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    const batch = this.#waiting.splice(0, batchMax)
    this.#isAlone = batch.length === 1
    try {
      const { vault, onCommitted } = this.#parts
      let tries = 0
      const results = await vault.keyring.withRefresh(() => {
        tries += 1
        return this.#commit(batch, tries > 1)
      })
      // Keys of an erased person must not stay in memory.
      if (batch.some(({ input }) => input.destroys?.person)) vault.forget()
      if (this.#cache) {
        this.#remember(this.#cache)
        onCommitted(this.#cache.position)
      }
      for (const [i, { resolve, reject }] of batch.entries()) {
        const result = results[i]
        if (result && 'appended' in result) resolve(result.appended)
        else reject(result?.error)
      }
    } catch (error) {
      // Read again, the keyring lacks the epoch still: nothing can be recorded with it.
      this.#parts.onFailed(error instanceof EpochMissingError ? new KeyringUnreadableError(error) : error)
      for (const { reject } of batch) reject(error)
    } finally {
      this.#isScheduled = false
      this.#callers = batch.length + this.#waiting.length
      if (this.#waiting.length > 0) this.#schedule()
      // A caller who has not appended again by now was the last one: the next comes from outside, with others after it.
      process.nextTick(() => {
        this.#callers = 0
        if (!this.#isScheduled) this.#isAlone = false
      })
    }
  }

  /**
   * Commits a batch, first on trust: that no other process has written since, that what is new does not exist, and that
   * the views accept their rows. The database refuses the transaction if that is wrong; then it is looked up.
   */
  async #commit(batch: readonly WaitingAppend[], isRefreshed: boolean, trust = this.#trust()): Promise<AppendResult[]> {
    try {
      const results = await this.#parts.connection.transact(() => this.#stageBatch(batch, isRefreshed, trust))
      if (this.#commitsInTurns > 0) this.#commitsInTurns -= 1
      return results
    } catch (error) {
      // Both contain staged data that was not written.
      this.#cache = undefined
      this.recents.undo()
      if (error instanceof HeadMovedError) {
        this.#commitsInTurns = commitsInTurns
        return this.#commit(batch, isRefreshed, { ...trust, inHead: false })
      }
      if (!trust.inRows || !isRefusal(error)) throw error
      return this.#commit(batch, isRefreshed, { inHead: false, inRows: false })
    }
  }

  #trust(): Trust {
    return { inHead: this.#commitsInTurns === 0, inRows: true }
  }

  *#stageBatch(waiting: readonly WaitingAppend[], isRefreshed: boolean, trust: Trust): Steps<AppendResult[]> {
    const { connection, vault, headers, tags, project } = this.#parts
    const cache = yield* this.#refreshCache(connection, trust)
    const isTrusting = trust.inRows
    // Another process has begun an epoch: a key wrapped by an older one would be destroyed with it.
    const { epoch } = vault.keyring
    if (cache.epoch > epoch) throw new EpochMissingError(cache.epoch, epoch)
    const batch = new Batch()
    const context = { vault, headers, tags, cache, recents: this.recents, batch, isTrusting }
    const inputs = waiting.map(({ input }) => input)
    const findings = yield* findAll(context, inputs)
    const results: AppendResult[] = []
    for (const finding of findings) {
      try {
        if ('error' in finding) throw finding.error
        const appended = stageAppend(context, finding.input, finding.found)
        // Its receipt was not looked up: it may have been recorded before, and then has the answer of that time.
        if (isTrusting && finding.input.receipt && appended.status === 'conflict') throw new DistrustError()
        results.push({ appended })
      } catch (error) {
        if (error instanceof DistrustError) throw error
        if (isTrusting && finding.input.receipt) throw new DistrustError()
        // Another process began the epoch and did not record it yet: the keyring file may have it by now.
        if (error instanceof EpochMissingError && !isRefreshed) throw error
        results.push({ error })
      }
    }
    cache.trim()
    if (batch.isEmpty) return results
    yield* batch.write(tags, cache, this.recents)
    const recorded = batch.events.map(event => event.recorded)
    if (recorded.length > 0) yield* project(recorded, cache, isTrusting)
    if (!connection.foreignWrites) this.#foreignWrites = JSON.stringify(headMarkOf(cache))
    return results
  }

  /** Loads the cache again when another process has written, after a look at what it wrote. */
  *#refreshCache(connection: Connection, { inHead }: Trust): Steps<WriterCache> {
    if (this.#cache && !connection.foreignWrites) {
      if (!inHead) return yield* this.#follow(this.#cache)
      yield* requireHead(this.#cache)
      return this.#cache
    }
    const value = JSON.stringify(yield* first(connection.foreignWrites ?? selectHeadMark))
    if (!this.#cache || value !== this.#foreignWrites) {
      const head = yield* readHead(this.#parts.tags)
      yield* this.#checkForeign(head)
      this.#remember(head)
      this.#cache = new WriterCache(head)
      this.recents.markStale()
    }
    this.#foreignWrites = value
    return this.#cache
  }

  /** Follows in one request what others have written: the tag of the head shows its keys. Reads all if it is much. */
  *#follow(before: WriterCache): Steps<WriterCache> {
    const { tags, onForeign } = this.#parts
    let [head, tail]: [Head | undefined, readonly ForeignEvent[]] = [undefined, []]
    yield* together<void>([
      into(readHead(tags), found => (head = found)),
      into(readForeign(before.position, before.viewRows.size > 0), found => (tail = found)),
    ])
    if (!head) throw new TypeError('A head was read')
    const isAll = isContinued(before, tail, head) && agreesBesidesEvents(before, head)
    if (!isAll) yield* this.#checkForeign(head)
    else if (tail.at(-1)?.type === movedType) throw movedError()
    this.#remember(head)
    const cache = new WriterCache(head, isAll ? before : undefined)
    this.#cache = cache
    if (tail.length > 0) {
      this.recents.markStale()
      // The others have not stopped writing.
      this.#commitsInTurns = commitsInTurns
    }
    if (isAll && tail.length > 0) {
      cache.follow(tail)
      onForeign(tail, cache)
    }
    return cache
  }

  /** Checks what another process has written, and that all is there that this process knows of. */
  *#checkForeign({ position, leaf }: Newest): Steps<void> {
    yield* this.checkKnown(position === this.newest.position ? leaf : undefined)
    yield* this.#parts.checkForeign(position, this.newest.position)
  }

  /** Throws `ROLLED_BACK` when the log lacks the newest event that this process has written or looked at. */
  *checkKnown(found?: Uint8Array | null): Steps<void> {
    const { position, leaf } = this.newest
    const stored = found ?? (yield* readLeafHash(position))
    if (leaf !== null && (!stored || !Buffer.from(leaf).equals(stored))) throw rolledBackError(position)
  }

  #remember({ position, leaf }: Newest): void {
    this.newest = { position, leaf }
  }
}

/** An event that the log must have, by its place in the tree. */
type Newest = Pick<Head, 'position' | 'leaf'>

function rolledBackError(known: number): AverbaError {
  return new AverbaError('ROLLED_BACK', `Cannot record: the log lacks event ${known}, which it had`, {
    hint: 'Its server was replaced by one that is behind, or put back. Stop all processes and find the newest copy: averba resume continues from another one',
  })
}

/** What a commit takes for granted instead of looking it up. */
interface Trust {
  /** That the head is as this process wrote it last. */
  readonly inHead: boolean
  /** That nothing exists that would be in the way of new rows, and that views accept theirs. */
  readonly inRows: boolean
}

/** Whether a head has exactly these events more: a server may have been replaced by one that lacked some. */
function isContinued({ position, tree }: WriterCache, events: readonly ForeignEvent[], head: Head): boolean {
  const continued = Tree.of(position, tree.frontier)
  if (!continued || position + events.length !== head.position) return false
  for (const { leaf } of events) continued.add(leaf)
  return continued.root() === head.tree.root()
}

function* into<T>(reading: Steps<T>, onFound: (found: T) => void): Steps<void> {
  onFound(yield* reading)
}

/** What was found on trust may be wrong. */
class DistrustError extends Error {}

/** Whether the database refused what was written: that has no code of ours, or looks like damage. */
function isRefusal(error: unknown): boolean {
  return !(error instanceof AverbaError) || error.code === 'CORRUPT'
}
