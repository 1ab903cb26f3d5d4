import { EventEmitter } from 'eventemitter3'
import type { Performers } from './adapters/performer.ts'
import type { Clock, Entropy } from './clock.ts'
import { Decisions, type Delivery } from './decisions.ts'
import { AverbaError } from './errors.ts'
import type { Machine } from './machines/machine.ts'
import type { Carried, Json, Outcome, Owed, Recorded, Settlement } from './message.ts'
import { canonicalJson } from './proof/canonical-json.ts'
import { type About, Recorder, refusal } from './recorder.ts'
import type { Receipt } from './store/append.ts'
import type { Store } from './store/store.ts'

/** What became of a command: recorded, now or before. `effect` is empty when it owed none. */
export interface Handled {
  readonly position: number
  readonly effect: string
  readonly replayed: boolean
  readonly events: readonly Recorded[]
}

/**
 * Turns the fact of an ended effect into messages for the streams that it concerns. `since` is the end of the
 * log when the request left.
 */
export type Router = (owed: Owed, fact: Carried, since: number) => Promise<Delivery>

/** What an engine is made of. */
export interface EngineParts {
  readonly store: Store
  readonly clock: Clock
  readonly entropy: Entropy
  readonly createId: () => string
  readonly machines: readonly Machine[]
  readonly performers: Performers
  /** Routers by the type of the fact. Without one, a fact goes to the stream that owed the effect. */
  readonly routers: Readonly<Record<string, Router>>
  /** Told of what an operator should know. */
  readonly onTrouble: (what: string, error: unknown) => void
}

const backoffBaseMs = 1_000
const backoffMaxMs = 15 * 60_000
const closeWaitMs = 15_000

/**
 * The loop: a command is decided, its events and effects are recorded, the effects are performed, and
 * their outcomes come back as facts that are decided and recorded in turn.
 */
export class Engine {
  readonly #parts: EngineParts
  readonly #recorder: Recorder
  readonly #emitter = new EventEmitter()
  readonly #performing = new Map<string, Promise<void>>()
  readonly #running = new Set<Promise<unknown>>()
  #isClosing = false

  constructor(parts: EngineParts) {
    this.#parts = parts
    const decisions = new Decisions(parts.store, parts.machines)
    const announce = (event: Recorded) => this.#emitter.emit(event.type, event)
    this.#recorder = new Recorder(parts.store, parts.clock, decisions, announce)
  }

  /**
   * Lets a host's work in, and keeps the store open until it has ended.
   *
   * @throws {AverbaError} `CLOSED` once the log is closing
   */
  async admit<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isClosing) throw new AverbaError('CLOSED', 'Cannot use the log: it was closed')
    return this.#hold(work())
  }

  #hold<T>(work: Promise<T>): Promise<T> {
    const held = work.finally(() => this.#running.delete(held))
    this.#running.add(held)
    return held
  }

  /**
   * Decides a command and records what follows from it. The same id gives the same answer again.
   *
   * @param input what the command id stands for, personal data included: kept as a keyed digest only
   * @throws {AverbaError} `REFUSED`, `CONFLICT`, `COMMAND_REUSED`
   */
  async handle(input: Json, deliver: () => Promise<Delivery>, about: About = {}): Promise<Handled> {
    const { store, createId } = this.#parts
    const commandId = about.commandId ?? createId()
    const digest = store.digest('command', canonicalJson(input, { fractions: true }))
    const isNew = about.commandId === undefined
    const known = isNew ? undefined : await store.receipt(commandId)
    if (known) return replay(known, digest)
    const receipt = { commandId, digest, isNew }
    const appended = await this.#recorder.record(deliver, { about: { ...about, commandId }, receipt })
    if (appended.status === 'known') return replay(appended.receipt, digest)
    const effect = appended.events.find(event => event.effects?.length)
    return {
      position: appended.position,
      effect: effect ? `${effect.id}/0` : '',
      replayed: false,
      events: appended.events,
    }
  }

  /** Records a fact from outside: decided again on the newest versions until it is in. */
  record(deliver: () => Promise<Delivery>): Promise<readonly Recorded[]> {
    return this.#hold(this.#recorder.record(deliver, {}).then(made => made.events))
  }

  /** Performs one effect, if it is due and nobody else does, and records how it ended. */
  perform(id: string): Promise<void> {
    const running = this.#performing.get(id)
    if (running) return running
    const work = this.#hold(this.#perform(id)).finally(() => this.#performing.delete(id))
    this.#performing.set(id, work)
    return work
  }

  /** Performs what is due now, and what comes due by it. One that fails does not hold up the others. */
  async settle(): Promise<Record<'settled' | 'deferred' | 'unknown', number>> {
    const { store, clock } = this.#parts
    const counts = { settled: 0, deferred: 0, unknown: 0 }
    const tried = new Set<string>()
    const bugs: unknown[] = []
    for (;;) {
      const due = (await store.dueEffects(clock.now())).filter(id => !tried.has(id))
      if (due.length === 0) break
      for (const id of due) {
        tried.add(id)
        await this.perform(id).catch(error => bugs.push(error))
        const state = (await store.effect(id))?.state
        if (state === 'settled' || state === 'declined') counts.settled += 1
        if (state === 'deferred' || state === 'unknown') counts[state] += 1
      }
    }
    if (bugs.length > 0) throw bugs[0]
    return counts
  }

  /** Hears of events after their commit, in this process, at most once. */
  on(type: string, listener: (event: Recorded) => unknown): () => void {
    const guarded = (event: Recorded) => {
      const fail = (error: unknown) => this.#parts.onTrouble('a listener failed', error)
      try {
        Promise.resolve(listener(event)).catch(fail)
      } catch (error) {
        fail(error)
      }
    }
    this.#emitter.on(type, guarded)
    return () => this.#emitter.off(type, guarded)
  }

  /** Reports whether a reading will tell what became of an effect of this type. */
  isProbed(type: string): boolean {
    return this.#parts.performers[type]?.effectClass === 'probed'
  }

  /** Lets what is under way end, within a bound: what has not ended by then stays in the ledger. */
  async close(): Promise<void> {
    this.#isClosing = true
    const stop = new AbortController()
    const ended = async () => {
      while (this.#running.size > 0) await Promise.allSettled(this.#running)
    }
    await Promise.race([ended(), this.#parts.clock.sleep(closeWaitMs, stop.signal)])
    stop.abort()
    this.#emitter.removeAllListeners()
  }

  async #perform(id: string): Promise<void> {
    const { store, clock, performers } = this.#parts
    const claimed = await store.claimEffect(id, clock.now())
    if (!claimed) return
    const { owed, since } = claimed
    const performer = performers[owed.type]
    if (!performer) return store.deferEffect(id, clock.now() + backoffMaxMs, 'its service is not configured')
    const isRepeatable = performer.effectClass === 'read' || performer.effectClass === 'idempotent'
    if (claimed.wasStarted && !isRepeatable) {
      return this.#settle(owed, performer.lost(owed), 'unknown', 'the attempt never reported back', since)
    }
    const attempt = this.#open(owed).then(opened => performer.perform(owed, opened))
    const outcome = await attempt.catch((error: unknown): Outcome => {
      if (!(error instanceof AverbaError)) throw error
      // Our own errors come before anything is sent: a part, a certificate or a secret that could not be had.
      this.#parts.onTrouble(error.message, error)
      return { status: 'deferred', because: error.message }
    })
    if (outcome.status === 'deferred') {
      const dueAt = clock.now() + (outcome.afterMs ?? this.#backoffMs(owed.attempts))
      return store.deferEffect(id, dueAt, outcome.because)
    }
    return this.#settle(owed, outcome.fact, outcome.status, outcome.because ?? '', since)
  }

  async #settle(owed: Owed, fact: Carried, as: Settlement, because: string, since: number): Promise<void> {
    const route = this.#parts.routers[fact.type]
    const toOwner = { targets: [{ stream: owed.stream, message: fact, since }] }
    const deliver = async () => (await route?.(owed, fact, since)) ?? toOwner
    const about = await this.#aboutOf(owed)
    await this.#recorder.record(deliver, { settles: { effect: owed.id, as, because }, about })
  }

  /** Who asked for an effect is kept with the event that ends it. */
  async #aboutOf(owed: Owed): Promise<Omit<About, 'commandId'>> {
    const { correlationId, actor, basis } = (await this.#parts.store.readAt(owed.position)) ?? {}
    return { ...(correlationId && { correlationId }), ...(actor && { actor }), ...(basis && { basis }) }
  }

  async #open(owed: Owed): Promise<Record<string, Json>> {
    const opened: Record<string, Json> = {}
    for (const [name, address] of Object.entries(owed.opens ?? {})) {
      const value = await this.#parts.store.open(address)
      if (value === undefined)
        throw new AverbaError('CORRUPT', `Cannot open the part "${address}": it is not there`)
      opened[name] = value
    }
    return opened
  }

  /** Full jitter: any wait up to a bound that doubles. */
  #backoffMs(attempts: number): number {
    const bound = Math.min(backoffBaseMs * 2 ** attempts, backoffMaxMs)
    const [high = 0, low = 0] = this.#parts.entropy.bytes(2)
    return Math.ceil(bound * ((high * 256 + low + 1) / 65_536))
  }
}

function replay(receipt: Receipt, digest: Uint8Array): Handled {
  if (!Buffer.from(digest).equals(Buffer.from(receipt.digest))) {
    throw new AverbaError(
      'COMMAND_REUSED',
      `Cannot use the command id "${receipt.commandId}" again: its input differs`,
      {
        hint: 'Give every command an id of its own, and repeat an id only with the very same input',
      },
    )
  }
  if (receipt.code === 'refused') throw refusal(receipt.detail)
  return { position: receipt.position, effect: receipt.effect, replayed: true, events: [] }
}
