import type { EffectMap, TypeIn } from './log-types.ts'
import type { AttemptOutcome, Fact, Json, PendingEffect } from './message.ts'

/**
 * What to do when an attempt never reported its outcome:
 *
 * - `read`, `idempotent`: repeat it.
 * - `probed`: read from the service whether it was done.
 * - `once`: do not repeat it; a person decides.
 */
export type EffectClass = 'read' | 'idempotent' | 'probed' | 'once'

/**
 * Called before a request is sent: `undefined` when another process has taken over the attempt. What it returns is
 * called right before the first byte leaves: false once another process may have taken over.
 */
export type MaySend = () => Promise<(() => boolean) | undefined>

/** Lets a request leave while a lease lasts. `extend` extends it: for how many milliseconds, counted from its call. */
export function whileHeld(elapsedMs: () => number, extend: () => Promise<number | undefined>): MaySend {
  return async () => {
    // Counted from before it is extended: the process may stand still until it goes on here.
    const from = elapsedMs()
    const leftMs = await extend()
    return leftMs === undefined ? undefined : () => elapsedMs() < from + leftMs
  }
}

/** For calls that do no harm when they are made twice. */
export const alwaysSend: MaySend = async () => () => true

/** Performs the effects of one type: `D` is their data, and `F` the facts of their outcomes. */
export interface Performer<D = unknown, F extends Fact = Fact> {
  readonly effectClass: EffectClass
  /** It changes only the store and its keyring, so even a log restored from a backup performs it. */
  readonly isLocal?: true
  /** A recurring list: when more effects are due than the rate allows, these use at most half of it. */
  readonly isRoutine?: true
  /**
   * Whether this process is configured for the effect: for its environment, and with what it sends. If not, it leaves
   * the effect alone, unless an attempt was sent and its outcome is unknown: any process can record that.
   */
  takes?(pending: PendingEffect<string, D>): boolean | Promise<boolean>
  /**
   * Makes one attempt. Does not throw for what the outside world does. An `AverbaError` means that no request was sent,
   * and the attempt is repeated.
   *
   * @param maySend called before each request but those of readings, also before it is sent again
   */
  perform(
    pending: PendingEffect<string, D>,
    opened: Readonly<Record<string, Json>>,
    maySend?: MaySend,
  ): Promise<AttemptOutcome<F>>
  /** The fact to record when an attempt never reported its outcome; used for `probed` and `once` only. */
  lostFact(pending: PendingEffect<string, D>): F
  /** The fact to record when it is given up and parked, if its stream waits for the answer. */
  givenUpFact?(pending: PendingEffect<string, D>): F
  /**
   * The fact to record when a person gives it up before it was done; `sentBefore` when the service answered an attempt.
   * Without one, it cannot be given up.
   */
  withdrawnFact?(pending: PendingEffect<string, D>, sentBefore: boolean): F | undefined
  /** The fact to record when an attempt of unknown outcome turns out to have done nothing; for `once` only. */
  undoneFact?(pending: PendingEffect<string, D>): F
}

export type Performers = Readonly<Record<string, Performer>>

/** A performer for each effect of a map, which gets that effect's data. Each may also lead to the facts `F`. */
export type PerformersOf<M extends EffectMap, F extends Fact = never> = {
  readonly [T in TypeIn<M>]: Performer<M[T]['data'], M[T]['fact'] | F>
}

/** Makes the performer of each effect of a map, whose types are the keys of `known`. */
export function makePerformers<M extends EffectMap, F extends Fact = never>(
  known: { readonly [T in TypeIn<M>]: unknown },
  make: <T extends TypeIn<M>>(type: T) => Performer<M[T]['data'], M[T]['fact'] | F>,
): PerformersOf<M, F> {
  const made: Record<string, unknown> = {}
  for (const type in known) made[type] = make(type)
  return made as PerformersOf<M, F> // One for each type, as `make` made it.
}

/** Returns whose data an effect concerns: the subject whose CPF it decrypts, or else its stream. */
export function effectOwner(pending: Pick<PendingEffect, 'opens' | 'stream'>): string {
  return pending.opens?.cpf?.split('/')[0] ?? pending.stream
}
