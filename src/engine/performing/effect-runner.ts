import { type Clock, monotonicClock } from '../../runtime/clock.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import type { Store } from '../../store/store.ts'
import { AverbaError, isDamage, recordableMessage } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type {
  AttemptOutcome,
  Json,
  MessageWithParts,
  PendingEffect,
  RecordedEvent,
  Settlement,
} from '../../vocabulary/message.ts'
import { effectStream, parseEffectId } from '../../vocabulary/names.ts'
import type { Performer, Performers } from '../../vocabulary/performer.ts'
import { noTracing, type Tracing } from '../../vocabulary/tracing.ts'
import type { AttemptReport } from '../diagnostics.ts'
import type { DecisionRequest } from '../recording/decisions.ts'
import type { Recorder } from '../recording/recorder.ts'
import {
  type ClaimableEffect,
  type ClaimedEffect,
  EffectClaimer,
  isFromBeforeRestore,
  isLost,
  isRepeatable,
} from './effect-claimer.ts'
import { LocalBackoff } from './local-backoff.ts'
import { choose, retryPolicyOf } from './retry-policy.ts'

/**
 * Turns the fact of an ended effect into messages for the streams that it concerns. `since` is the end of the
 * log when the request left.
 */
export type Router = (
  pending: PendingEffect,
  fact: MessageWithParts,
  since: number,
) => Promise<DecisionRequest>

/** Records one portion of a large answer, in the name of whoever asked for it. */
export type RecordPortion = (deliver: () => Promise<DecisionRequest>) => Promise<unknown>

/**
 * Records most of an answer that is too large for one transaction, and gives the rest, as the fact that ends its
 * effect.
 */
export type ChunkRecorder = (
  pending: PendingEffect,
  fact: MessageWithParts,
  record: RecordPortion,
) => Promise<MessageWithParts>

/** What is known of effects and of their answers: what the areas of the API bring. */
export interface EffectRegistry {
  readonly performers: Performers
  /** Routers by the type of the fact. Without one, a fact goes to the stream that owed the effect. */
  readonly routers: Readonly<Record<string, Router>>
  /** What comes before the router, by the type of the fact. */
  readonly chunkRecorders: Readonly<Record<string, ChunkRecorder>>
}

/** What attempts are made with. */
export interface EffectRunnerParts {
  readonly store: Store
  readonly clock: Clock
  readonly entropy: Entropy
  /** Told of what an operator should know. */
  readonly onTrouble: (what: string, error: unknown) => void
  /** Told, once it is recorded, of a call that is parked, and after how many attempts or how long, in our own words. */
  readonly onGivenUp?: (pending: PendingEffect, after: string) => void
  readonly tracing?: Tracing
}

/** Makes single attempts at owed effects, and records what they came to. */
export class EffectRunner {
  readonly taking: EffectClaimer
  readonly #parts: EffectRunnerParts & EffectRegistry
  readonly #recorder: Recorder
  readonly #tracing: Tracing
  readonly #elapsedMs: () => number
  readonly #waits: LocalBackoff
  readonly #onAttempted: (hint: AttemptReport) => void

  constructor(
    parts: EffectRunnerParts & EffectRegistry,
    recorder: Recorder,
    onAttempted: (hint: AttemptReport) => void,
  ) {
    this.#parts = parts
    this.#recorder = recorder
    this.#tracing = parts.tracing ?? noTracing
    this.#elapsedMs = monotonicClock(parts.clock)
    this.#waits = new LocalBackoff(parts.clock)
    this.taking = new EffectClaimer(parts, recorder, this.#waits)
    this.#onAttempted = onAttempted
  }

  /**
   * One attempt, if the effect is due and nobody else has it. It is written down before the request leaves. What this
   * process cannot perform is left as it stands: another one has the service, and has to see what was begun. Says
   * whether it made one.
   */
  async make(found: ClaimableEffect): Promise<boolean> {
    const claimed = await this.taking.take(found)
    if (claimed) await this.#attempt(claimed)
    return claimed !== undefined
  }

  async #attempt(claimed: ClaimedEffect): Promise<void> {
    const { pending, performer } = claimed
    const settle = (fact: MessageWithParts, as: Settlement, reason: string) =>
      this.#settle(claimed, fact, as, reason)
    if (isLost(claimed)) {
      const { type: operation, attempts: attempt } = pending
      const { effectClass } = performer
      this.#onAttempted({ operation, effectClass, attempt, outcome: 'unknown' })
      return settle(performer.lostFact(pending), 'unknown', 'the attempt never reported back')
    }
    if (isFromBeforeRestore(this.#parts.store, claimed))
      return settle(performer.lostFact(pending), 'unknown', 'it was owed before a restore')
    const outcome = await this.#perform(pending, performer)
    if (outcome.status === 'deferred') return this.#putOff(claimed, outcome)
    try {
      return await settle(outcome.fact, outcome.status, outcome.reason ?? '')
    } catch (error) {
      // It would be read again whenever its lease is over, and its answer be lost again.
      if (performer.effectClass !== 'read' || !isDamage(error)) throw error
      this.#parts.onTrouble(error.message, error)
      return this.#putOff(claimed, { status: 'deferred', reason: recordableMessage(error) })
    }
  }

  /** Performs it, and tells of it. */
  async #perform(pending: PendingEffect, performer: Performer): Promise<AttemptOutcome> {
    const { type: operation, attempts: attempt, position } = pending
    const { effectClass } = performer
    const began = this.#elapsedMs()
    const attributes = {
      'averba.operation': operation,
      'averba.attempt': attempt,
      'averba.position': position,
    }
    const outcome = await this.#tracing.span('client', `averba ${operation}`, attributes, async end => {
      const made = await this.#send(pending, performer)
      end({ 'averba.outcome': made.status })
      return made
    })
    const ms = this.#elapsedMs() - began
    this.#onAttempted({ operation, effectClass, attempt, outcome: outcome.status, ms })
    return outcome
  }

  async #send(pending: PendingEffect, performer: Performer): Promise<AttemptOutcome> {
    try {
      const opened = await this.#open(pending)
      if (isRepeatable(performer)) return await performer.perform(pending, opened)
      // A process that took the call over has declared it in doubt, and a person may have paid for it again.
      return await performer.perform(pending, opened, () => this.#parts.store.holdEffect(pending))
    } catch (error) {
      if (!(error instanceof AverbaError)) throw error
      // Our own errors come before anything is sent: a part, a certificate or a secret could not be got.
      this.#parts.onTrouble(error.message, error)
      return { status: 'deferred', reason: recordableMessage(error) }
    }
  }

  /** Certainly not done: it goes later, as its policy says, or is given up and parked. */
  async #putOff(
    claimed: ClaimedEffect,
    { reason, afterMs, ends, isAnswered }: Extract<AttemptOutcome, { status: 'deferred' }>,
  ): Promise<void> {
    const { store, clock, entropy } = this.#parts
    const { pending, performer } = claimed
    const { effectClass } = performer
    const event = await store.readAt(pending.position)
    const policy = retryPolicyOf(pending, effectClass, event?.type)
    const { id: effect, type, attempts } = pending
    const elapsedMs = clock.now() - (await this.#countedFrom(pending, event))
    const choice = choose(policy, { attempts, elapsedMs, knownMs: afterMs, ends }, entropy)
    const told = isAnswered && { isAnswered }
    const data = { effect, type, attempts, reason, ...told, policy: policy.name, elapsedMs }
    if ('givenUp' in choice) {
      const parked = { ...data, reason: `${reason}; ${choice.givenUp}` }
      const message = { type: 'effect.exhaust', data: parked }
      const isLeft = await this.#leave(claimed, 'parked', clock.now(), message)
      if (isLeft) this.#parts.onGivenUp?.(pending, choice.givenUp)
      return
    }
    const dueAt = clock.now() + choice.waitMs
    this.#waits.note(pending, choice.waitMs)
    // What becomes of a reading stands in the ledger only: there are many, and they change nothing.
    if (effectClass === 'read') return store.deferEffect(effect, dueAt, reason)
    const deferred = { ...data, wait: choice.wait, dueAt: toInstant(dueAt) }
    await this.#leave(claimed, 'deferred', dueAt, { type: 'effect.defer', data: deferred })
  }

  /** When the effect was first due, or was last released by an operator. */
  async #countedFrom(pending: PendingEffect, event: RecordedEvent | undefined): Promise<number> {
    const types = ['effect.resumed']
    const resumed = await this.#parts.store.readLast({ stream: effectStream(pending), types })
    const [, , n] = parseEffectId(pending.id)
    const dueAt = event?.effects?.[n]?.dueAt ?? event?.at ?? pending.dueAt
    return fromInstant(resumed?.at ?? dueAt)
  }

  /**
   * Records, in the log and in the ledger, what became of an attempt that did nothing. False when the effect is no
   * longer ours.
   */
  async #leave(
    { pending, about, performer: { undoneFact: undone, givenUpFact: givenUp } }: ClaimedEffect,
    to: 'deferred' | 'parked',
    dueAtMs: number,
    message: { type: string; data: { reason: string } },
  ): Promise<boolean> {
    const { id, attempts } = pending
    const { reason } = message.data
    let isOurs = false
    const deliver = async (): Promise<DecisionRequest> => {
      const now = await this.#parts.store.effect(id)
      // Another process took it meanwhile: its word counts, unless it only said `unknown`.
      isOurs = now?.state === 'started' && now.attempts === attempts
      if (now?.state === 'unknown' && undone)
        return { targets: [{ stream: pending.stream, message: undone(pending) }] }
      if (!isOurs) return { targets: [] }
      const moves = {
        effect: id,
        to,
        from: ['started'],
        attempts,
        dueAt: toInstant(dueAtMs),
        reason,
      } as const
      const told = to === 'parked' && givenUp ? [{ stream: pending.stream, message: givenUp(pending) }] : []
      return { targets: [{ stream: effectStream(pending), message }, ...told], moves }
    }
    await this.#recorder.record(deliver, { isAnswer: true, about })
    return isOurs
  }

  async #settle(
    { pending, since, about }: ClaimedEffect,
    learned: MessageWithParts,
    as: Settlement,
    reason: string,
  ): Promise<void> {
    const record: RecordPortion = deliver => this.#recorder.record(deliver, { isAnswer: true, about })
    const fact = (await this.#parts.chunkRecorders[learned.type]?.(pending, learned, record)) ?? learned
    const route = this.#parts.routers[fact.type]
    const toOwner = { targets: [{ stream: pending.stream, message: fact, since }] }
    const deliver = async () => (await route?.(pending, fact, since)) ?? toOwner
    const settles = { effect: pending.id, as, reason }
    await this.#recorder.record(deliver, { isAnswer: true, settles, about })
  }

  async #open(pending: PendingEffect): Promise<Record<string, Json>> {
    const opened: Record<string, Json> = {}
    for (const [name, address] of Object.entries(pending.opens ?? {})) {
      const value = await this.#parts.store.open(address)
      if (value === undefined)
        throw new AverbaError('CORRUPT', `Cannot open the part "${address}": it is not there`)
      opened[name] = value
    }
    return opened
  }
}
