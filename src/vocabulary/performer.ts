import type { AttemptOutcome, Json, MessageWithParts, PendingEffect } from './message.ts'

/**
 * What may be done when an attempt never reported back:
 *
 * - `read`, `idempotent`: do it again.
 * - `probed`: ask the service what became of it.
 * - `once`: nothing by itself; a person decides.
 */
export type EffectClass = 'read' | 'idempotent' | 'probed' | 'once'

/** Asked right before a request leaves: false when the attempt is no longer this process's, and nothing may leave. */
export type MayLeave = () => Promise<boolean>

/** Performs the effects of one type. */
export interface Performer {
  readonly effectClass: EffectClass
  /** Nothing leaves the store and its keyring: even a log restored from a backup performs it. */
  readonly isLocal?: true
  /** A list that is asked for again and again: where more is due than may be sent, it leaves half of the room. */
  readonly isRoutine?: true
  /**
   * Whether an effect is for this process: false where it is configured with something else than the effect was
   * recorded for. Then the effect is left as it stands, unless it has left already and is in doubt: that anybody says.
   */
  takes?(pending: PendingEffect): boolean | Promise<boolean>
  /**
   * One attempt. Never throws for what the outside does. An `AverbaError` says that nothing has left: it goes again.
   *
   * @param mayLeave asked before each request of a `probed` or `once` effect, also before one that is sent again
   */
  perform(
    pending: PendingEffect,
    opened: Readonly<Record<string, Json>>,
    mayLeave?: MayLeave,
  ): Promise<AttemptOutcome>
  /** The fact to record for an attempt that never reported back; for `probed` and `once` only. */
  lostFact(pending: PendingEffect): MessageWithParts
  /** The fact that it was given up and parked, for the stream that owes it: where something waits for its answer. */
  givenUpFact?(pending: PendingEffect): MessageWithParts
  /** The fact that an attempt which had been called in doubt certainly did nothing; for `once` only. */
  undoneFact?(pending: PendingEffect): MessageWithParts
}

/** Performers by the type of their effect. */
export type Performers = Readonly<Record<string, Performer>>

/** Whose data an effect concerns: the subject whose CPF it opens, else the stream that owes it. */
export function effectOwner(pending: PendingEffect): string {
  return pending.opens?.cpf?.split('/')[0] ?? pending.stream
}
