import { type Clock, monotonicClock } from '../../runtime/clock.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import type { Store } from '../../store/store.ts'
import { AverbaError, hasCode, recordableMessage } from '../../vocabulary/errors.ts'
import { foreignCodeIn, type UnreadAnswer } from '../../vocabulary/foreign-answer.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { EffectMap, EndedBy, FactIn, PendingIn } from '../../vocabulary/log-types.ts'
import type {
  AttemptOutcome,
  DeferredOutcome,
  Fact,
  Json,
  PendingEffect,
  RecordedEvent,
  Settlement,
} from '../../vocabulary/message.ts'
import { effectStream, parseEffectId, serviceOf } from '../../vocabulary/names.ts'
import { effectOwner, type Performer, type Performers, whileHeld } from '../../vocabulary/performer.ts'
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
  LocalBackoff,
} from './effect-claimer.ts'
import { chooseRetry, retryPolicyOf } from './retry-policy.ts'

/** Turns an effect's outcome into messages for its streams. `since` is the end of the log when the request was sent. */
export type Router<P extends PendingEffect = PendingEffect, F extends Fact = Fact> = {
  // A method, so that a router of one type of fact can be registered: it gets only the effects that such a fact ends.
  route(pending: P, fact: F, since: number): Promise<DecisionRequest>
}['route']

/** Routers by the type of the fact, for the effects of a map. A fact of a chunk recorder is routed as it made it. */
export type RoutersOf<M extends EffectMap> = {
  readonly [T in FactIn<M>['type']]?: Router<PendingIn<M, EndedBy<M, T>>, Extract<FactIn<M>, { type: T }>>
}

/** Records one chunk of a large answer, on behalf of whoever requested the effect. */
export type RecordChunk = (createRequest: () => Promise<DecisionRequest>) => Promise<unknown>

/** Records most of an answer too large for one transaction, and returns the rest as the fact that ends the effect. */
export type ChunkRecorder<P extends PendingEffect = PendingEffect, F extends Fact = Fact> = {
  record(pending: P, fact: F, record: RecordChunk): Promise<Fact>
}['record']

export type ChunkRecordersOf<M extends EffectMap> = {
  readonly [T in FactIn<M>['type']]?: ChunkRecorder<PendingIn<M, EndedBy<M, T>>, Extract<FactIn<M>, { type: T }>>
}

/** The performers of effects, and what handles their answers. The modules of the API register them. */
export interface EffectRegistry {
  readonly performers: Performers
  /** Routers by the type of the fact. Without one, a fact goes to the stream that requested the effect. */
  readonly routers: Readonly<Record<string, Router>>
  /** Called before the router, by the type of the fact. */
  readonly chunkRecorders: Readonly<Record<string, ChunkRecorder>>
}

/** For how long a service that asks for a pause gets no due calls. A revocation must not wait as long as a list may. */
const closedMaxMs = 60_000

export interface EffectRunnerParts {
  readonly store: Store
  readonly clock: Clock
  readonly entropy: Entropy
  readonly onTrouble: (what: string, error: unknown) => void
  /** Called before a call is tried whose last attempt has no outcome: its process ended, for example. */
  readonly onTakenOver?: (pending: PendingEffect) => void
  /** Called after a call is parked, with the number of attempts or the time as text. */
  readonly onGivenUp?: (pending: PendingEffect, after: string, reason: string) => void
  readonly tracing?: Tracing
}

/** Makes single attempts at pending effects, and records their outcomes. */
export class EffectRunner {
  readonly claimer: EffectClaimer
  readonly #parts: EffectRunnerParts & EffectRegistry
  readonly #recorder: Recorder
  readonly #tracing: Tracing
  readonly #elapsedMs: () => number
  readonly #backoff: LocalBackoff
  readonly #onAttempted: (report: AttemptReport) => void

  constructor(
    parts: EffectRunnerParts & EffectRegistry,
    recorder: Recorder,
    onAttempted: (report: AttemptReport) => void,
  ) {
    this.#parts = parts
    this.#recorder = recorder
    this.#tracing = parts.tracing ?? noTracing
    this.#elapsedMs = monotonicClock(parts.clock)
    this.#backoff = new LocalBackoff(parts.clock)
    this.claimer = new EffectClaimer(parts, recorder, this.#backoff)
    this.#onAttempted = onAttempted
  }

  /** Makes one attempt, recorded before the request leaves. False for an effect that this process cannot claim. */
  async makeAttempt(found: ClaimableEffect): Promise<boolean> {
    const claimed = await this.claimer.claim(found)
    // Also while its answer is recorded: it would be asked for again.
    if (claimed) await this.#parts.store.leaseKeeper.keep({ effect: claimed.pending }, () => this.#attempt(claimed))
    return claimed !== undefined
  }

  async #attempt(claimed: ClaimedEffect): Promise<void> {
    const { pending, performer, wasStarted: isTakenOver } = claimed
    if (isTakenOver) this.#parts.onTakenOver?.(pending)
    const settle = (fact: Fact, as: Settlement, reason: string, unread?: UnreadAnswer) =>
      this.#settle(claimed, fact, as, reason, unread)
    const lost = isLost(claimed)
      ? 'the attempt never reported back'
      : isFromBeforeRestore(this.#parts.store, claimed) && 'the call is from before a restore'
    if (lost) {
      const { type: operation, attempts: attempt } = pending
      const { effectClass } = performer
      this.#onAttempted({ operation, effectClass, attempt, isTakenOver, outcome: 'unknown' })
      return settle(performer.lostFact(pending), 'unknown', lost)
    }
    const outcome = await this.#perform(claimed)
    if (outcome.status === 'deferred') {
      await this.#postpone(claimed, outcome)
      return this.#closeService(pending, outcome)
    }
    try {
      return await settle(outcome.fact, outcome.status, outcome.reason ?? '', outcome.unread)
    } catch (error) {
      // Otherwise it would be read again whenever its lease expires, and its answer lost again.
      if (performer.effectClass !== 'read' || !hasCode(error, 'CORRUPT', 'KEYS_MISMATCH')) throw error
      this.#parts.onTrouble(error.message, error)
      return this.#postpone(claimed, { status: 'deferred', reason: recordableMessage(error) })
    }
  }

  async #perform({ pending, performer, wasStarted: isTakenOver }: ClaimedEffect): Promise<AttemptOutcome> {
    const { type: operation, attempts: attempt, position } = pending
    const { effectClass } = performer
    const began = this.#elapsedMs()
    const attributes = { 'averba.operation': operation, 'averba.attempt': attempt, 'averba.position': position }
    const outcome = await this.#tracing.span('client', `averba ${operation}`, attributes, async end => {
      const made = await this.#send(pending, performer)
      end({ 'averba.outcome': made.status })
      return made
    })
    const ms = this.#elapsedMs() - began
    const unread = foreignCodeIn(outcome.reason ?? '') ?? (outcome.unread && 'other')
    const about = { operation, effectClass, attempt, isTakenOver }
    this.#onAttempted({ ...about, outcome: outcome.status, ms, ...(unread && { unread }) })
    return outcome
  }

  async #send(pending: PendingEffect, performer: Performer): Promise<AttemptOutcome> {
    try {
      const opened = await this.#openParts(pending)
      if (performer.effectClass === 'read') return await performer.perform(pending, opened)
      // A process that took the call over has recorded it as unknown, or makes it: a token is requested once.
      const extend = () => this.#parts.store.extendLease(pending)
      return await performer.perform(pending, opened, whileHeld(this.#elapsedMs, extend))
    } catch (error) {
      if (!(error instanceof AverbaError)) throw error
      // Our own errors happen before anything is sent: a part, a certificate or a secret was not available.
      this.#parts.onTrouble(error.message, error)
      return { status: 'deferred', reason: recordableMessage(error) }
    }
  }

  /** Certainly not done: postpones it as its policy says, or parks it. */
  async #postpone(
    claimed: ClaimedEffect,
    { reason, afterMs, ends, isAnswered, unread }: DeferredOutcome,
  ): Promise<void> {
    const { store, clock, entropy } = this.#parts
    const { pending, performer } = claimed
    const { effectClass } = performer
    const read = async () => {
      const event = await store.readAt(pending.position)
      const startMs = await this.#readPolicyStart(pending, event)
      return { event, startMs, hadUnread: unread !== undefined && (await this.#hasUnread(pending)) }
    }
    const known = await this.#recorder.whenWritable(read)
    const policy = retryPolicyOf(pending, known.event, known.startMs)
    const { id: effect, type, attempts } = pending
    const elapsedMs = clock.now() - known.startMs
    const choice = chooseRetry(policy, { attempts, elapsedMs, knownMs: afterMs, ends }, entropy)
    const seen = unread && { unread: { httpStatus: unread.httpStatus, form: unread.form } }
    const extra = { ...(isAnswered && { isAnswered }), ...seen }
    const isFirst = unread && !known.hadUnread
    const parts = isFirst && answerPart(pending, unread)
    const data = { effect, type, attempts, reason, ...extra, policy: policy.name, elapsedMs }
    if ('givenUp' in choice) {
      const parked = { ...data, reason: `${reason}; ${choice.givenUp}` }
      const message = { type: 'effect.exhaust', data: parked, ...parts }
      const isLeft = await this.#recordNotDone(claimed, 'parked', undefined, message)
      if (isLeft) this.#parts.onGivenUp?.(pending, choice.givenUp, reason)
      return
    }
    const dueAt = clock.now() + choice.waitMs
    this.#backoff.postpone(pending, choice.waitMs)
    // Readings are postponed in the ledger only: there are many, and they change nothing.
    if (effectClass === 'read' && !isFirst)
      return this.#recorder.whenWritable(() => store.deferEffect(pending, dueAt, reason))
    const deferred = { ...data, wait: choice.wait, dueAt: toInstant(dueAt) }
    await this.#recordNotDone(claimed, 'deferred', dueAt, { type: 'effect.defer', data: deferred, ...parts })
  }

  /** Lets no due call leave to a service that asks for a pause. What came of this one is recorded already. */
  async #closeService({ type }: PendingEffect, { isServiceBusy, afterMs = 0 }: DeferredOutcome): Promise<void> {
    if (!isServiceBusy) return
    const onFailed = (error: unknown) => this.#parts.onTrouble('the pause of a service could not be shared', error)
    await this.#parts.store.rates.close(serviceOf(type), Math.min(afterMs, closedMaxMs)).catch(onFailed)
  }

  /** Whether one of the last attempts got an answer that was not understood: of several, the first is kept. */
  async #hasUnread(pending: PendingEffect): Promise<boolean> {
    const types = ['effect.deferred', 'effect.parked']
    const last = await this.#parts.store.read({ stream: effectStream(pending), types, backward: true, limit: 20 })
    return last.some(({ data }) => 'unread' in Object(data))
  }

  /** When the effect was first due, or was last released by an operator. */
  async #readPolicyStart(pending: PendingEffect, event: RecordedEvent | undefined): Promise<number> {
    const types = ['effect.resumed']
    const resumed = await this.#parts.store.readLast({ stream: effectStream(pending), types })
    const [, , n] = parseEffectId(pending.id)
    const dueAt = resumed?.at ?? event?.effects?.[n]?.dueAt ?? event?.at
    return dueAt === undefined ? this.#parts.clock.now() : fromInstant(dueAt)
  }

  /** Records an attempt that did nothing, in the log and the ledger. False when another process has the effect now. */
  async #recordNotDone(
    { pending, about, performer: { undoneFact: undone, givenUpFact: givenUp } }: ClaimedEffect,
    to: 'deferred' | 'parked',
    dueAtMs: number | undefined,
    message: { type: string; data: { reason: string }; parts?: NonNullable<Fact['parts']> },
  ): Promise<boolean> {
    const { store } = this.#parts
    const { id, attempts } = pending
    const { reason } = message.data
    let isOurs = false
    const createRequest = async (): Promise<DecisionRequest> => {
      const now = await store.effect(id)
      // Another process took it meanwhile: its outcome counts, unless it only recorded `unknown`.
      isOurs = await store.holds(pending)
      if (now?.state === 'unknown' && undone) return { targets: [{ stream: pending.stream, message: undone(pending) }] }
      if (!isOurs) return { targets: [] }
      const moves = {
        effect: id,
        to,
        from: ['started'],
        attempts,
        owner: store.owner,
        ...(dueAtMs !== undefined && { dueAt: toInstant(dueAtMs) }),
        reason,
      } as const
      const extra = to === 'parked' && givenUp ? [{ stream: pending.stream, message: givenUp(pending) }] : []
      return { targets: [...extra, { stream: effectStream(pending), message }], moves }
    }
    await this.#recorder.record(createRequest, { isAnswer: true, about })
    return isOurs
  }

  async #settle(
    { pending, since, about }: ClaimedEffect,
    learned: Fact,
    as: Settlement,
    reason: string,
    unread: UnreadAnswer | undefined,
  ): Promise<void> {
    const record: RecordChunk = createRequest => this.#recorder.record(createRequest, { isAnswer: true, about })
    const fact = (await this.#parts.chunkRecorders[learned.type]?.(pending, learned, record)) ?? learned
    const route = this.#parts.routers[fact.type]
    const toOwner = { targets: [{ stream: pending.stream, message: fact, since }] }
    const createRequest = async (): Promise<DecisionRequest> => {
      const routed = (await route?.(pending, fact, since)) ?? toOwner
      return unread
        ? { ...routed, targets: [...routed.targets, misunderstood(pending, unread, fact.parts !== undefined)] }
        : routed
    }
    const settles = { effect: pending.id, attempts: pending.attempts, owner: this.#parts.store.owner, as, reason }
    await this.#recorder.record(createRequest, { isAnswer: true, settles, about })
  }

  async #openParts(pending: PendingEffect): Promise<Record<string, Json>> {
    const opened: Record<string, Json> = {}
    for (const [name, address] of Object.entries(pending.opens ?? {})) {
      const value = await this.#parts.store.open(address)
      if (value === undefined) throw new AverbaError('CORRUPT', `Cannot open the part "${address}": it does not exist`)
      opened[name] = value
    }
    return opened
  }
}

/** The answer of a call as a sealed part, of whom the call is about. */
function answerPart(pending: PendingEffect, { text }: UnreadAnswer) {
  if (text === '') return {}
  return { parts: { answer: { owner: effectOwner(pending), value: text } } }
}

/** @param isKept whether the fact of the outcome has the answer already */
function misunderstood(pending: PendingEffect, unread: UnreadAnswer, isKept: boolean) {
  const { id: effect, type } = pending
  const data = { effect, type, unread: { httpStatus: unread.httpStatus, form: unread.form } }
  const parts = isKept ? {} : answerPart(pending, unread)
  return { stream: effectStream(pending), message: { type: 'effect.misunderstand', data, ...parts } }
}
