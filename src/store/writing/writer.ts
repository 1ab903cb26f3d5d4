import { afterTurn } from '../../runtime/event-loop.ts'
import { EpochMissingError } from '../../vault/keyring.ts'
import type { Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import { type Connection, first, type Steps } from '../database/connection.ts'
import { headMarkOf, readHead, selectHeadMark } from '../log/head.ts'
import type { HeaderReader } from '../log/header.ts'
import type { Tags } from '../log/tags.ts'
import type { Append, Appended } from './append.ts'
import { findAll } from './found.ts'
import { Batch, stageAppend } from './stage.ts'
import { RecentDigests, WriterCache } from './writer-cache.ts'

/** What a writer works with. */
export interface WriterParts {
  readonly connection: Connection
  readonly vault: Vault
  readonly headers: HeaderReader
  readonly tags: Tags
  /** Checks what another process has written: that it has the keys of the log, and changed no table. */
  readonly checkForeign: (position: number, after: number) => Steps<void>
  /** Updates the views, in the transaction of the events. */
  readonly project: (events: readonly RecordedEvent[], cache: WriterCache) => Steps<void>
  readonly onCommitted: (position: number) => void
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
/** How many appends may wait. Beyond that commands are refused, but facts from outside are still accepted. */
const waitingMax = 10_000

/**
 * Group commit: appends of the same turn of the event loop, or of directly following turns, share one transaction, and
 * each gets its own result. A single caller does not wait for others.
 */
export class Writer {
  readonly recents = new RecentDigests()
  /** The end of the log when it was checked last: this process has written what follows, or looks at it. */
  checked = 0
  readonly #parts: WriterParts
  readonly #waiting: WaitingAppend[] = []
  #cache: WriterCache | undefined
  /** The value of `Connection.foreignWrites` for which `#cache` is valid. */
  #foreignWrites: string | undefined
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
   * @throws {AverbaError} `STORE_BUSY` when another process holds the file for seconds, or too many appends wait
   */
  append(input: Append): Promise<Appended> {
    if (input.receipt && this.#waiting.length >= waitingMax) {
      const hint = 'Wait for earlier commands to finish before you send more'
      return Promise.reject(
        new AverbaError('STORE_BUSY', `Cannot record: ${waitingMax} appends are waiting already`, { hint }),
      )
    }
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
      const { connection, vault, onCommitted } = this.#parts
      const { keyring } = vault
      let tries = 0
      const results = await keyring.withRefresh(() => {
        tries += 1
        return connection
          .transact(() => this.#stageBatch(batch, tries > 1))
          .catch(error => {
            // Both contain staged data that was not written.
            this.#cache = undefined
            this.recents.forget()
            throw error
          })
      })
      // Keys of an erased person must not stay in memory.
      if (batch.some(({ input }) => input.destroys?.person)) vault.forget()
      if (this.#cache) {
        this.checked = this.#cache.position
        onCommitted(this.#cache.position)
      }
      for (const [i, { resolve, reject }] of batch.entries()) {
        const result = results[i]
        if (result && 'appended' in result) resolve(result.appended)
        else reject(result?.error)
      }
    } catch (error) {
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

  *#stageBatch(waiting: readonly WaitingAppend[], isRefreshed: boolean): Steps<AppendResult[]> {
    const { connection, vault, headers, tags, project } = this.#parts
    const cache = yield* this.#refreshCache(connection)
    // Another process has begun an epoch: a key wrapped by an older one would be destroyed with it.
    const { epoch } = vault.keyring
    if (cache.epoch > epoch) throw new EpochMissingError(cache.epoch, epoch)
    const batch = new Batch()
    const context = { vault, headers, tags, cache, recents: this.recents, batch }
    const findings = yield* findAll(
      context,
      waiting.map(({ input }) => input),
    )
    const results: AppendResult[] = []
    for (const finding of findings) {
      try {
        if ('error' in finding) throw finding.error
        results.push({ appended: stageAppend(context, finding.input, finding.found) })
      } catch (error) {
        // Another process began the epoch and did not record it yet: the keyring file may have it by now.
        if (error instanceof EpochMissingError && !isRefreshed) throw error
        results.push({ error })
      }
    }
    cache.trim()
    if (batch.isEmpty) return results
    yield* batch.write(tags, cache, this.recents)
    if (batch.events.length > 0)
      yield* project(
        batch.events.map(event => event.recorded),
        cache,
      )
    if (!connection.foreignWrites) this.#foreignWrites = JSON.stringify(headMarkOf(cache))
    return results
  }

  /** Loads the cache again when another process has written, after a look at what it wrote. */
  *#refreshCache(connection: Connection): Steps<WriterCache> {
    const value = JSON.stringify(yield* first(connection.foreignWrites ?? selectHeadMark))
    if (!this.#cache || value !== this.#foreignWrites) {
      const head = yield* readHead(this.#parts.tags)
      yield* this.#parts.checkForeign(head.position, this.checked)
      this.checked = head.position
      this.#cache = new WriterCache(head)
      this.recents.markStale()
    }
    this.#foreignWrites = value
    return this.#cache
  }
}
