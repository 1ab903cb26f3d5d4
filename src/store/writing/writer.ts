import { afterTurn } from '../../runtime/event-loop.ts'
import { EpochMissingError } from '../../vault/keyring.ts'
import type { Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { Connection, Steps } from '../database/connection.ts'
import type { Schemas } from '../log/upcasters.ts'
import type { Append, Appended } from './append.ts'
import { Batch } from './batch.ts'
import { RecentDigests } from './recent-digests.ts'
import { stage } from './stage.ts'
import { WriterCache } from './writer-cache.ts'

/** What a writer is made of. */
export interface WriterParts {
  readonly connection: Connection
  readonly vault: Vault
  readonly schemas: Schemas
  /** Brings the views in step, in the transaction of the events. */
  readonly project: (events: readonly RecordedEvent[], known: WriterCache) => Steps<void>
  /** Told after a commit, with the end of the log. */
  readonly onCommitted: (position: number) => void
}

interface WaitingAppend {
  readonly input: Append
  readonly resolve: (appended: Appended) => void
  readonly reject: (error: unknown) => void
}

/** What became of one append of a transaction: its answer, or what it threw. */
type AppendResult = { readonly appended: Appended } | { readonly error: unknown }

/** How many appends share a transaction: more would hold the event loop for too long. */
const batchMax = 512
/** For how many turns of the event loop appends are gathered that come one after the other, as over sockets. */
const turnsMax = 16
/** How many commits callers that ask again at once get before the event loop turns: others have to get in too. */
const turnlessMax = 16
/** How many appends may wait. Only commands are refused: facts from outside have to get in. */
const waitingMax = 10_000

/**
 * Group commit: appends asked for in the same turn of the event loop, or in turns right after each other, share one
 * transaction, and each gets its own answer. A single caller does not wait for others.
 */
export class Writer {
  /** What was recorded a short while ago. */
  readonly recents = new RecentDigests()
  readonly #parts: WriterParts
  readonly #waiting: WaitingAppend[] = []
  #known: WriterCache | undefined
  /** What the database said of foreign writes when `#known` was last right. */
  #mark: unknown
  #isScheduled = false
  /** The last commit was for one caller, who may ask again at once. */
  #isAlone = false
  /** How many callers the last commit had: once as many wait again, nobody else is waited for. */
  #callers = 0
  #endWait: (() => void) | undefined
  /** How many more commits may go without a turn of the event loop. */
  #turnlessLeft = turnlessMax

  constructor(parts: WriterParts) {
    this.#parts = parts
  }

  /**
   * Appends to one or more streams, with all that belongs to it, or leaves no trace.
   *
   * @throws {AverbaError} `STORE_BUSY` when another process holds the file for seconds, or too many wait
   */
  append(input: Append): Promise<Appended> {
    if (input.receipt && this.#waiting.length >= waitingMax) {
      const hint = 'Wait for earlier commands before you send more'
      return Promise.reject(
        new AverbaError('STORE_BUSY', `Cannot record: ${waitingMax} appends wait already`, { hint }),
      )
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, resolve, reject })
      this.#schedule()
    })
  }

  /** Forgets what was remembered: the next append reads it again. */
  forget(): void {
    this.#known = undefined
  }

  /** Gathers until a turn of the event loop brings nobody new. Those who came back at once are not kept waiting. */
  #schedule(): void {
    const mayGo = this.#turnlessLeft > 0
    if (!this.#isScheduled) {
      this.#isScheduled = true
      if (this.#isAlone && mayGo) this.#flushSoon()
      else this.#gather(0, 1)
    } else if (this.#endWait && mayGo && this.#waiting.length === this.#callers) {
      this.#endWait()
      this.#endWait = undefined
      this.#flushSoon()
    }
  }

  #flushSoon(): void {
    this.#turnlessLeft -= 1
    queueMicrotask(() => void this.#flush())
  }

  /** An empty turn costs microseconds; a commit for one caller alone costs those behind it a thousand times as much. */
  #gather(before: number, turns: number): void {
    this.#endWait = afterTurn(() => {
      this.#endWait = undefined
      this.#turnlessLeft = turnlessMax
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
      const results = await keyring.whenRefreshed(() => {
        tries += 1
        return connection
          .transact(() => this.#steps(batch, tries > 1))
          .catch(error => {
            // What was staged is known already, and not there.
            this.#known = undefined
            this.recents.forget()
            throw error
          })
      })
      // Even where no other key is wrapped anew: what was erased must no longer open in memory.
      if (batch.some(({ input }) => input.destroys?.person)) vault.forget()
      if (this.#known) onCommitted(this.#known.position)
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
      // Who does not ask again at once is gone: the next caller comes from outside, where others may follow.
      process.nextTick(() => {
        this.#callers = 0
        if (!this.#isScheduled) this.#isAlone = false
      })
    }
  }

  *#steps(waiting: readonly WaitingAppend[], isRefreshed: boolean): Steps<AppendResult[]> {
    const { connection, vault, schemas, project } = this.#parts
    const known = yield* this.#refresh(connection)
    // Another process has begun an epoch: a key under an older one would be lost with that.
    const { epoch } = vault.keyring
    if (known.epoch > epoch) throw new EpochMissingError(known.epoch, epoch)
    const batch = new Batch()
    const desk = { vault, schemas, known, recents: this.recents, batch }
    const results: AppendResult[] = []
    for (const { input } of waiting) {
      try {
        results.push({ appended: yield* stage(desk, input) })
      } catch (error) {
        // An epoch that another process began and did not come to record: the keyring may have it by now.
        if (error instanceof EpochMissingError && !isRefreshed) throw error
        results.push({ error })
      }
    }
    known.trim()
    if (batch.isEmpty) return results
    yield* batch.write(known.tree.takeChanged(), this.recents)
    if (batch.events.length > 0)
      yield* project(
        batch.events.map(event => event.recorded),
        known,
      )
    return results
  }

  /** What is known holds until another process has written. */
  *#refresh(connection: Connection): Steps<WriterCache> {
    // As the connection has it.
    const [found] = (yield connection.foreignWrites) as readonly Readonly<Record<string, unknown>>[]
    const mark = Object.values(found ?? {})[0]
    if (!this.#known || mark !== this.#mark) {
      this.#known = yield* WriterCache.load()
      this.recents.fallBehind()
    }
    this.#mark = mark
    return this.#known
  }
}
