import type { Clock } from '../../runtime/clock.ts'
import type { ClaimCandidate, LedgerClaim } from '../../store/ledger/ledger.ts'
import type { Store } from '../../store/store.ts'
import type { PendingEffect } from '../../vocabulary/message.ts'
import { effectStream } from '../../vocabulary/names.ts'
import type { Performer, Performers } from '../../vocabulary/performer.ts'
import type { DecisionRequest } from '../recording/decisions.ts'
import type { Recorder, RequestContext } from '../recording/recorder.ts'
import type { LocalBackoff } from './local-backoff.ts'

/** Who asked for an effect. */
type Requester = Omit<RequestContext, 'commandId'>

/** An effect that may be taken, with what performs it. */
export interface ClaimableEffect extends ClaimCandidate {
  readonly performer: Performer
}

/** An effect that was taken for an attempt. */
export interface ClaimedEffect extends LedgerClaim {
  readonly performer: Performer
  readonly about: Requester
}

interface EffectClaimerParts {
  readonly store: Store
  readonly clock: Clock
  readonly performers: Performers
}

/** Finds the effects that this process may attempt, and takes them: nobody else attempts what is taken. */
export class EffectClaimer {
  readonly #parts: EffectClaimerParts
  readonly #recorder: Recorder
  readonly #waits: LocalBackoff

  constructor(parts: EffectClaimerParts, recorder: Recorder, waits: LocalBackoff) {
    this.#parts = parts
    this.#recorder = recorder
    this.#waits = waits
  }

  /** An effect that is due, and that this process may attempt: nobody has it, and it is not left to others. */
  async find(id: string): Promise<ClaimableEffect | undefined> {
    const found = await this.#findClaimable(id)
    if (!found || this.#waits.holds(found)) return undefined
    return (await this.#isForOthers(found)) ? undefined : found
  }

  /** Reports whether an effect is due that this process could perform, and leaves to one with another configuration. */
  async isLeft(id: string): Promise<boolean> {
    const found = await this.#findClaimable(id)
    return found ? this.#isForOthers(found) : false
  }

  /**
   * Takes an effect that was found. Where the attempt may change something or costs something, an event says so in
   * the same transaction: the log alone then tells what may have left. An attempt that only reads stands in the
   * ledger only.
   */
  async take(found: ClaimableEffect): Promise<ClaimedEffect | undefined> {
    const { store, clock } = this.#parts
    // It may have waited for its turn, and been put off meanwhile.
    if (this.#waits.holds(found)) return undefined
    const { performer } = found
    const { id } = found.pending
    // Before it leaves: no answer is lost because this cannot be read.
    const about = await this.#aboutOf(found.pending)
    if (!this.#isRecorded(found)) {
      const read = await store.claimEffect(id, clock.now())
      return read && { ...read, performer, about }
    }
    let known: ClaimCandidate | undefined = found
    let claimed: ClaimCandidate | undefined
    const deliver = async (): Promise<DecisionRequest> => {
      // Where it stands elsewhere by now, the append conflicts, and it is looked at again.
      const now = known ?? (await store.findClaimable(id, clock.now()))
      known = undefined
      claimed = now && this.#isRecorded(now) ? now : undefined
      if (!claimed) return { targets: [] }
      const { pending, move } = claimed
      const data = { effect: id, type: pending.type, attempts: pending.attempts }
      const message = { type: 'effect.attempt', data }
      return { targets: [{ stream: effectStream(pending), message }], moves: store.withLease(move) }
    }
    const { position } = await this.#recorder.record(deliver, { about })
    return claimed && { ...claimed, performer, about, since: position }
  }

  async #findClaimable(id: string): Promise<ClaimableEffect | undefined> {
    const { store, clock, performers } = this.#parts
    const found = await store.findClaimable(id, clock.now())
    const performer = found && performers[found.pending.type]
    return performer && { ...found, performer }
  }

  /** What is in doubt is not sent, and is for nobody else: whoever finds it says so. */
  async #isForOthers(found: ClaimableEffect): Promise<boolean> {
    const isSent = !isLost(found) && !isFromBeforeRestore(this.#parts.store, found)
    return isSent && (await found.performer.takes?.(found.pending)) === false
  }

  /**
   * Whether the attempt gets an event. A reading gets none; nor does a call that began and never reported back, which
   * is not sent again unless it is idempotent.
   */
  #isRecorded({ pending, wasStarted }: ClaimCandidate): boolean {
    const effectClass = this.#parts.performers[pending.type]?.effectClass
    if (effectClass === undefined || effectClass === 'read') return false
    return effectClass === 'idempotent' || !wasStarted
  }

  /** Who asked for an effect is kept with the event that ends it. */
  async #aboutOf(pending: PendingEffect): Promise<Requester> {
    const { correlationId, actor, basis } = (await this.#parts.store.readAt(pending.position)) ?? {}
    return { ...(correlationId && { correlationId }), ...(actor && { actor }), ...(basis && { basis }) }
  }
}

/** It left, never reported back, and may not leave again. */
export function isLost({ wasStarted, performer }: Pick<ClaimedEffect, 'wasStarted' | 'performer'>): boolean {
  return wasStarted && !isRepeatable(performer)
}

/** Doing it once more does no harm. */
export function isRepeatable({ effectClass }: Performer): boolean {
  return effectClass === 'read' || effectClass === 'idempotent'
}

/** A restored log cannot know what was done after the backup was made. */
export function isFromBeforeRestore(
  store: Store,
  { pending, performer }: Pick<ClaimedEffect, 'pending' | 'performer'>,
): boolean {
  const isOutside = performer.effectClass !== 'read' && !performer.isLocal
  return isOutside && store.isFromBeforeRestore(pending)
}
