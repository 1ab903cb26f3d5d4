import { type Clock, monotonicClock } from '../../runtime/clock.ts'
import type { ClaimCandidate, LedgerClaim } from '../../store/ledger/ledger.ts'
import type { Store } from '../../store/store.ts'
import { wrongClockMs } from '../../vocabulary/instant.ts'
import type { PendingEffect } from '../../vocabulary/message.ts'
import { effectStream } from '../../vocabulary/names.ts'
import type { Performer, Performers } from '../../vocabulary/performer.ts'
import type { DecisionRequest } from '../recording/decisions.ts'
import type { Recorder, RequestContext } from '../recording/recorder.ts'

type Requester = Omit<RequestContext, 'commandId'>

export interface ClaimableEffect extends ClaimCandidate {
  readonly performer: Performer
}

export interface ClaimedEffect extends LedgerClaim {
  readonly performer: Performer
  readonly about: Requester
}

interface EffectClaimerParts {
  readonly store: Store
  readonly clock: Clock
  readonly performers: Performers
}

/** Finds the effects that this process may attempt, and claims them: no other process attempts a claimed effect. */
export class EffectClaimer {
  readonly #parts: EffectClaimerParts
  readonly #recorder: Recorder
  readonly #backoff: LocalBackoff

  constructor(parts: EffectClaimerParts, recorder: Recorder, backoff: LocalBackoff) {
    this.#parts = parts
    this.#recorder = recorder
    this.#backoff = backoff
  }

  /** Finds a due effect that no process has claimed, and that is not for a process with another configuration. */
  async findClaimable(id: string): Promise<ClaimableEffect | undefined> {
    const found = await this.#findClaimable(id)
    if (!found || this.#backoff.isPostponed(found)) return undefined
    return (await this.#isForOthers(found)) ? undefined : found
  }

  /** Reports whether a due effect is left to a process with another configuration. */
  async isLeftToOthers(id: string): Promise<boolean> {
    const found = await this.#findClaimable(id)
    return found ? this.#isForOthers(found) : false
  }

  /** Claims an effect. What may change something or cost money gets an event in the same transaction. */
  async claim(found: ClaimableEffect): Promise<ClaimedEffect | undefined> {
    const { store, clock } = this.#parts
    // The call may have been postponed while it waited for the throttle.
    if (this.#backoff.isPostponed(found)) return undefined
    const { performer } = found
    const { id } = found.pending
    // Read before the call is sent, since a failure here afterwards would lose its answer.
    const about = await this.#readRequester(found.pending)
    if (!this.#isRecorded(found)) {
      // Another process may have ended the lost attempt meanwhile: then the call is found again.
      const read = await store.claimEffect(id, clock.now(), now => !this.#isRecorded(now))
      return read && { ...read, performer, about }
    }
    let known: ClaimCandidate | undefined = found
    let claimed: ClaimCandidate | undefined
    const createRequest = async (): Promise<DecisionRequest> => {
      // If its state has changed, the append conflicts and it is read again.
      const now = known ?? (await store.findClaimable(id, clock.now()))
      known = undefined
      claimed = now && this.#isRecorded(now) ? now : undefined
      if (!claimed) return { targets: [] }
      const { pending, move } = claimed
      const data = { effect: id, type: pending.type, attempts: pending.attempts }
      const message = { type: 'effect.attempt', data }
      return { targets: [{ stream: effectStream(pending), message }], moves: store.addLease(move) }
    }
    const { position } = await this.#recorder.record(createRequest, { about })
    return claimed && { ...claimed, performer, about, since: position }
  }

  async #findClaimable(id: string): Promise<ClaimableEffect | undefined> {
    const { store, clock, performers } = this.#parts
    // By a wrong clock, calls are due that are not.
    if ((await store.findClockFault(wrongClockMs)) !== undefined) return undefined
    const found = await store.findClaimable(id, clock.now())
    const performer = found && performers[found.pending.type]
    return performer && { ...found, performer }
  }

  /** An effect in doubt is not sent again, so any process may record that. */
  async #isForOthers(found: ClaimableEffect): Promise<boolean> {
    const isSent = !isLost(found) && !isFromBeforeRestore(this.#parts.store, found)
    return isSent && (await found.performer.takes?.(found.pending)) === false
  }

  /** Whether the attempt gets an event: not readings, nor calls that only end as unknown. */
  #isRecorded({ pending, wasStarted }: ClaimCandidate): boolean {
    const effectClass = this.#parts.performers[pending.type]?.effectClass
    if (effectClass === undefined || effectClass === 'read') return false
    return effectClass === 'idempotent' || !wasStarted
  }

  async #readRequester(pending: PendingEffect): Promise<Requester> {
    const { correlationId, actor, basis } = (await this.#parts.store.readAt(pending.position)) ?? {}
    return { ...(correlationId && { correlationId }), ...(actor && { actor }), ...(basis && { basis }) }
  }
}

/** Whether an attempt never reported back, and must not be repeated. */
export function isLost({ wasStarted, performer }: Pick<ClaimedEffect, 'wasStarted' | 'performer'>): boolean {
  return wasStarted && !isRepeatable(performer)
}

/** Whether performing it once more does no harm. */
function isRepeatable({ effectClass }: Performer): boolean {
  return effectClass === 'read' || effectClass === 'idempotent'
}

/** Whether an effect outside is from before a restore: a restored log cannot know what was done after its backup. */
export function isFromBeforeRestore(
  store: Store,
  { pending, performer }: Pick<ClaimedEffect, 'pending' | 'performer'>,
): boolean {
  const isOutside = performer.effectClass !== 'read' && !performer.isLocal
  return isOutside && store.isFromBeforeRestore(pending)
}

/** More calls than this are treated as never postponed here. */
const rememberedMax = 10_000

/** The calls that this process postponed, by a monotonic clock: with clocks far apart, two would try at every look. */
export class LocalBackoff {
  readonly #clock: Clock
  readonly #elapsedMs: () => number
  readonly #waits = new Map<string, LocalWait>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#elapsedMs = monotonicClock(clock)
  }

  postpone({ id, attempts }: Pick<PendingEffect, 'id' | 'attempts'>, waitMs: number): void {
    const from = this.#elapsedMs()
    if (this.#waits.size === rememberedMax) this.#waits.clear()
    this.#waits.set(id, { attempts, from, until: from + waitMs, dueAt: this.#clock.now() + waitMs })
  }

  /** Whether this process postponed a call, which no operator has released nor another process begun since. */
  isPostponed({ pending: { id, attempts }, wasStarted }: ClaimCandidate): boolean {
    const wait = this.#waits.get(id)
    if (!wait || wasStarted) return false
    const now = this.#elapsedMs()
    // The clock may have been behind when it gave the due time, and corrected since.
    const isOver = now >= wait.until || now < wait.from || this.#clock.now() >= wait.dueAt
    if (!isOver && attempts > wait.attempts) return true
    this.#waits.delete(id)
    return false
  }
}

interface LocalWait {
  readonly attempts: number
  readonly from: number
  readonly until: number
  readonly dueAt: number
}
