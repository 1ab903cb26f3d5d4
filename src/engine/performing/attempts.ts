import { type Clock, stopwatchOf } from '../../runtime/clock.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import type { Store } from '../../store/store.ts'
import { AverbaError, isDamage, recordable } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Carried, Json, Outcome, Owed, Recorded, Settlement } from '../../vocabulary/message.ts'
import { effectStream, parseEffectId } from '../../vocabulary/names.ts'
import type { Performer, Performers } from '../../vocabulary/performer.ts'
import { noTracing, type Tracing } from '../../vocabulary/tracing.ts'
import type { Attempted } from '../diagnostics.ts'
import type { Delivery } from '../recording/decisions.ts'
import type { Recorder } from '../recording/recorder.ts'
import {
  isFromBeforeRestore,
  isLost,
  isRepeatable,
  type Takeable,
  type Taken,
  Taking,
} from './effect-claimer.ts'
import { OwnWaits } from './local-waits.ts'
import { choose, retryPolicyOf } from './retry-policy.ts'

/**
 * Turns the fact of an ended effect into messages for the streams that it concerns. `since` is the end of the
 * log when the request left.
 */
export type Router = (owed: Owed, fact: Carried, since: number) => Promise<Delivery>

/** Records one portion of a large answer, in the name of whoever asked for it. */
export type RecordPortion = (deliver: () => Promise<Delivery>) => Promise<unknown>

/**
 * Records most of an answer that is too large for one transaction, and gives the rest, as the fact that ends its
 * effect.
 */
export type ChunkRecorder = (owed: Owed, fact: Carried, record: RecordPortion) => Promise<Carried>

/** What is known of effects and of their answers: what the areas of the API bring. */
export interface Registered {
  readonly performers: Performers
  /** Routers by the type of the fact. Without one, a fact goes to the stream that owed the effect. */
  readonly routers: Readonly<Record<string, Router>>
  /** What comes before the router, by the type of the fact. */
  readonly chunkRecorders: Readonly<Record<string, ChunkRecorder>>
}

/** What attempts are made with. */
export interface AttemptParts {
  readonly store: Store
  readonly clock: Clock
  readonly entropy: Entropy
  /** Told of what an operator should know. */
  readonly onTrouble: (what: string, error: unknown) => void
  /** Told, once it is recorded, of a call that is parked, and after how many attempts or how long, in our own words. */
  readonly onGivenUp?: (owed: Owed, after: string) => void
  readonly tracing?: Tracing
}

/** Makes single attempts at owed effects, and records what they came to. */
export class Attempts {
  readonly taking: Taking
  readonly #parts: AttemptParts & Registered
  readonly #recorder: Recorder
  readonly #tracing: Tracing
  readonly #elapsedMs: () => number
  readonly #waits: OwnWaits
  readonly #onAttempted: (hint: Attempted) => void

  constructor(parts: AttemptParts & Registered, recorder: Recorder, onAttempted: (hint: Attempted) => void) {
    this.#parts = parts
    this.#recorder = recorder
    this.#tracing = parts.tracing ?? noTracing
    this.#elapsedMs = stopwatchOf(parts.clock)
    this.#waits = new OwnWaits(parts.clock)
    this.taking = new Taking(parts, recorder, this.#waits)
    this.#onAttempted = onAttempted
  }

  /**
   * One attempt, if the effect is due and nobody else has it. It is written down before the request leaves. What this
   * process cannot perform is left as it stands: another one has the service, and has to see what was begun. Says
   * whether it made one.
   */
  async make(found: Takeable): Promise<boolean> {
    const taken = await this.taking.take(found)
    if (taken) await this.#attempt(taken)
    return taken !== undefined
  }

  async #attempt(taken: Taken): Promise<void> {
    const { owed, performer } = taken
    const settle = (fact: Carried, as: Settlement, because: string) => this.#settle(taken, fact, as, because)
    if (isLost(taken)) {
      const { type: operation, attempts: attempt } = owed
      const { effectClass } = performer
      this.#onAttempted({ operation, effectClass, attempt, outcome: 'unknown' })
      return settle(performer.lost(owed), 'unknown', 'the attempt never reported back')
    }
    if (isFromBeforeRestore(this.#parts.store, taken))
      return settle(performer.lost(owed), 'unknown', 'it was owed before a restore')
    const outcome = await this.#perform(owed, performer)
    if (outcome.status === 'deferred') return this.#putOff(taken, outcome)
    try {
      return await settle(outcome.fact, outcome.status, outcome.because ?? '')
    } catch (error) {
      // It would be read again whenever its lease is over, and its answer be lost again.
      if (performer.effectClass !== 'read' || !isDamage(error)) throw error
      this.#parts.onTrouble(error.message, error)
      return this.#putOff(taken, { status: 'deferred', because: recordable(error) })
    }
  }

  /** Performs it, and tells of it. */
  async #perform(owed: Owed, performer: Performer): Promise<Outcome> {
    const { type: operation, attempts: attempt, position } = owed
    const { effectClass } = performer
    const began = this.#elapsedMs()
    const attributes = {
      'averba.operation': operation,
      'averba.attempt': attempt,
      'averba.position': position,
    }
    const outcome = await this.#tracing.span('client', `averba ${operation}`, attributes, async end => {
      const made = await this.#send(owed, performer)
      end({ 'averba.outcome': made.status })
      return made
    })
    const ms = this.#elapsedMs() - began
    this.#onAttempted({ operation, effectClass, attempt, outcome: outcome.status, ms })
    return outcome
  }

  async #send(owed: Owed, performer: Performer): Promise<Outcome> {
    try {
      const opened = await this.#open(owed)
      if (isRepeatable(performer)) return await performer.perform(owed, opened)
      // A process that took the call over has declared it in doubt, and a person may have paid for it again.
      return await performer.perform(owed, opened, () => this.#parts.store.holdEffect(owed))
    } catch (error) {
      if (!(error instanceof AverbaError)) throw error
      // Our own errors come before anything is sent: a part, a certificate or a secret could not be got.
      this.#parts.onTrouble(error.message, error)
      return { status: 'deferred', because: recordable(error) }
    }
  }

  /** Certainly not done: it goes later, as its policy says, or is given up and parked. */
  async #putOff(
    taken: Taken,
    { because, afterMs, ends, isAnswered }: Extract<Outcome, { status: 'deferred' }>,
  ): Promise<void> {
    const { store, clock, entropy } = this.#parts
    const { owed, performer } = taken
    const { effectClass } = performer
    const event = await store.readAt(owed.position)
    const policy = retryPolicyOf(owed, effectClass, event?.type)
    const { id: effect, type, attempts } = owed
    const elapsedMs = clock.now() - (await this.#countedFrom(owed, event))
    const choice = choose(policy, { attempts, elapsedMs, knownMs: afterMs, ends }, entropy)
    const told = isAnswered && { isAnswered }
    const data = { effect, type, attempts, because, ...told, policy: policy.name, elapsedMs }
    if ('givenUp' in choice) {
      const parked = { ...data, because: `${because}; ${choice.givenUp}` }
      const message = { type: 'effect.exhaust', data: parked }
      const isLeft = await this.#leave(taken, 'parked', clock.now(), message)
      if (isLeft) this.#parts.onGivenUp?.(owed, choice.givenUp)
      return
    }
    const dueAt = clock.now() + choice.waitMs
    this.#waits.note(owed, choice.waitMs)
    // What becomes of a reading stands in the ledger only: there are many, and they change nothing.
    if (effectClass === 'read') return store.deferEffect(effect, dueAt, because)
    const deferred = { ...data, wait: choice.wait, dueAt: toInstant(dueAt) }
    await this.#leave(taken, 'deferred', dueAt, { type: 'effect.defer', data: deferred })
  }

  /** When the effect was first due, or was last released by an operator. */
  async #countedFrom(owed: Owed, event: Recorded | undefined): Promise<number> {
    const types = ['effect.resumed']
    const resumed = await this.#parts.store.readLast({ stream: effectStream(owed), types })
    const [, , n] = parseEffectId(owed.id)
    const dueAt = event?.effects?.[n]?.dueAt ?? event?.at ?? owed.dueAt
    return fromInstant(resumed?.at ?? dueAt)
  }

  /**
   * Records, in the log and in the ledger, what became of an attempt that did nothing. False when the effect is no
   * longer ours.
   */
  async #leave(
    { owed, about, performer: { undone, givenUp } }: Taken,
    to: 'deferred' | 'parked',
    dueAtMs: number,
    message: { type: string; data: { because: string } },
  ): Promise<boolean> {
    const { id, attempts } = owed
    const { because } = message.data
    let isOurs = false
    const deliver = async (): Promise<Delivery> => {
      const now = await this.#parts.store.effect(id)
      // Another process took it meanwhile: its word counts, unless it only said `unknown`.
      isOurs = now?.state === 'started' && now.attempts === attempts
      if (now?.state === 'unknown' && undone)
        return { targets: [{ stream: owed.stream, message: undone(owed) }] }
      if (!isOurs) return { targets: [] }
      const moves = {
        effect: id,
        to,
        from: ['started'],
        attempts,
        dueAt: toInstant(dueAtMs),
        because,
      } as const
      const told = to === 'parked' && givenUp ? [{ stream: owed.stream, message: givenUp(owed) }] : []
      return { targets: [{ stream: effectStream(owed), message }, ...told], moves }
    }
    await this.#recorder.record(deliver, { isAnswer: true, about })
    return isOurs
  }

  async #settle(
    { owed, since, about }: Taken,
    learned: Carried,
    as: Settlement,
    because: string,
  ): Promise<void> {
    const record: RecordPortion = deliver => this.#recorder.record(deliver, { isAnswer: true, about })
    const fact = (await this.#parts.chunkRecorders[learned.type]?.(owed, learned, record)) ?? learned
    const route = this.#parts.routers[fact.type]
    const toOwner = { targets: [{ stream: owed.stream, message: fact, since }] }
    const deliver = async () => (await route?.(owed, fact, since)) ?? toOwner
    const settles = { effect: owed.id, as, because }
    await this.#recorder.record(deliver, { isAnswer: true, settles, about })
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
}
