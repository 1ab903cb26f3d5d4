import type { AttemptOutcome, Json, MessageWithParts, PendingEffect } from './message.ts'

/**
 * What to do when an attempt never reported its outcome:
 *
 * - `read`, `idempotent`: repeat it.
 * - `probed`: read from the service whether it was done.
 * - `once`: do not repeat it; a person decides.
 */
export type EffectClass = 'read' | 'idempotent' | 'probed' | 'once'

/** Called right before a request is sent: false when another process has taken over the attempt. */
export type MaySend = () => Promise<boolean>

/** Performs the effects of one type. */
export interface Performer {
  readonly effectClass: EffectClass
  /** It changes only the store and its keyring, so even a log restored from a backup performs it. */
  readonly isLocal?: true
  /** A recurring list: when more effects are due than the rate allows, these use at most half of it. */
  readonly isRoutine?: true
  /**
   * Whether this process is configured for the environment that the effect was recorded for. If not, it leaves the
   * effect alone, unless an attempt was sent and its outcome is unknown: any process can record that.
   */
  takes?(pending: PendingEffect): boolean | Promise<boolean>
  /**
   * Makes one attempt. Does not throw for what the outside world does. An `AverbaError` means that no request was sent,
   * and the attempt is repeated.
   *
   * @param maySend called before each request of a `probed` or `once` effect, also before it is sent again
   */
  perform(pending: PendingEffect, opened: Readonly<Record<string, Json>>, maySend?: MaySend): Promise<AttemptOutcome>
  /** The fact to record when an attempt never reported its outcome; used for `probed` and `once` only. */
  lostFact(pending: PendingEffect): MessageWithParts
  /** The fact to record when it is given up and parked, if its stream waits for the answer. */
  givenUpFact?(pending: PendingEffect): MessageWithParts
  /** The fact to record when an attempt of unknown outcome turns out to have done nothing; for `once` only. */
  undoneFact?(pending: PendingEffect): MessageWithParts
}

/** Performers by effect type. */
export type Performers = Readonly<Record<string, Performer>>

/** Returns whose data an effect concerns: the subject whose CPF it decrypts, or else its stream. */
export function effectOwner(pending: PendingEffect): string {
  return pending.opens?.cpf?.split('/')[0] ?? pending.stream
}
