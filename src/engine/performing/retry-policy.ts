import { type Entropy, randomUpTo } from '../../runtime/entropy.ts'
import { backoffMs, dayMs, fromInstant, minuteMs } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'

/** How often and how long a call that was certainly not done is retried. */
export interface RetryPolicy {
  /** Recorded in events: a policy with other numbers gets another name. */
  readonly name: string
  readonly attemptsMax: number
  /** The time from when it was first due, or last released by an operator, to the last try. */
  readonly elapsedMaxMs: number
  /** The maximum wait after the first attempt; it doubles with each. */
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
}

export const dayPolicy: RetryPolicy = {
  name: 'day-1',
  attemptsMax: 200,
  elapsedMaxMs: dayMs,
  backoffBaseMs: 1_000,
  backoffMaxMs: 15 * minuteMs,
}

const endlessPolicy: RetryPolicy = {
  ...dayPolicy,
  name: 'endless-1',
  attemptsMax: Number.POSITIVE_INFINITY,
  elapsedMaxMs: Number.POSITIVE_INFINITY,
}

/** Only a reading of this day finds what failed on it: it is retried for as long as the portal keeps the records. */
const recoveryPolicy: RetryPolicy = {
  ...endlessPolicy,
  name: 'recovery-1',
  elapsedMaxMs: 30 * dayMs,
  backoffMaxMs: 120 * minuteMs,
}

/** A day with recent failures: their notifications are still missing. */
const hastenedPolicy: RetryPolicy = { ...recoveryPolicy, name: 'hastened-1', backoffMaxMs: 30 * minuteMs }

/** A denial or revocation, which blocks until it is made: a person is asked only after a month. */
const endPolicy: RetryPolicy = {
  ...endlessPolicy,
  name: 'end-1',
  elapsedMaxMs: 30 * dayMs,
  backoffMaxMs: 60 * minuteMs,
}

/** An approval is tried for as long as its host said, and as long again from a later release on. */
function approvalPolicy(askedMs: number, untilMs: number, startMs: number): RetryPolicy {
  return { ...endlessPolicy, name: 'approval-1', elapsedMaxMs: untilMs - (startMs < untilMs ? startMs : askedMs) }
}

/** The next reading follows from this one: parking it would end a schedule silently. */
const recurringPolicy: RetryPolicy = { ...endlessPolicy, name: 'recurring-1', backoffMaxMs: 60 * minuteMs }

const policyOfType: Readonly<Record<string, RetryPolicy>> = {
  // A token is requested only when a call needs it, and that call is parked by its own policy.
  'tokenService.requestToken': endlessPolicy,
  // An erasure is a promise: it is retried until complete.
  'keys.rotate': endlessPolicy,
  'keys.destroyEpochs': endlessPolicy,
}

const policyOfEvent: Readonly<Record<string, RetryPolicy>> = {
  'portal.recoveryRequested': recoveryPolicy,
  'portal.recoveryHastened': hastenedPolicy,
  // Reads what failed during the previous reading.
  'portal.failuresListed': hastenedPolicy,
}

/** Time alone ends nothing before this many attempts, since this process may have been down. */
const attemptsMin = 5

/**
 * The policy of an effect requested by an event. Its data says whether it is a recurring reading, an end or an
 * approval.
 *
 * @param startMs when it was first due, or last released by an operator
 */
export function retryPolicyOf(
  { type, data }: { type: string; data: unknown },
  event: { type: string; data: unknown } | undefined,
  startMs: number,
): RetryPolicy {
  const { everyMs, status }: { everyMs?: unknown; status?: unknown } = data ?? {}
  const { askedAt, until }: { askedAt?: Instant; until?: Instant } = event?.data ?? {}
  if (typeof everyMs === 'number') return recurringPolicy
  if (status === 'NEGADO' || status === 'REVOGADO') return endPolicy
  if (status === 'ATIVO' && askedAt !== undefined && until !== undefined)
    return approvalPolicy(fromInstant(askedAt), fromInstant(until), startMs)
  return policyOfType[type] ?? policyOfEvent[event?.type ?? ''] ?? dayPolicy
}

/** Why a call is not retried, if so. A wait that the service named is no failure: then only the time counts. */
function giveUpReason(
  policy: RetryPolicy,
  { attempts, elapsedMs, isWaitKnown }: { attempts: number; elapsedMs: number; isWaitKnown: boolean },
): string | undefined {
  if (!isWaitKnown && attempts >= policy.attemptsMax) return `given up after ${attempts} attempts`
  if (attempts >= attemptsMin && elapsedMs >= policy.elapsedMaxMs)
    return `given up after ${Math.floor(elapsedMs / 3_600_000)} hours`
  return undefined
}

/** An attempt that certainly did nothing. */
export interface FailedAttempt {
  readonly attempts: number
  readonly elapsedMs: number
  /** A wait that the service named, or known otherwise, as when it is closed or when a token may next be requested. */
  readonly knownMs?: number | undefined
  /** After how many attempts waiting no longer helps, and why. */
  readonly ends?: { readonly attemptsMax: number; readonly why: string } | undefined
}

/** When a call is retried, and by which rule; or why it is not. */
export type RetryDecision =
  | { readonly waitMs: number; readonly wait: 'known' | 'backoff' }
  | { readonly givenUp: string }

/** How often a service's own wait is used as given. Later it is a lower bound: it may be a second, all day long. */
const knownWaitsMax = 20

/** Chooses whether and when to retry after an attempt that certainly did nothing. */
export function chooseRetry(
  policy: RetryPolicy,
  { attempts, elapsedMs, knownMs, ends }: FailedAttempt,
  entropy: Entropy,
): RetryDecision {
  if (ends && attempts >= ends.attemptsMax) return { givenUp: `${ends.why}: given up after ${attempts} attempts` }
  const givenUp = giveUpReason(policy, { attempts, elapsedMs, isWaitKnown: knownMs !== undefined })
  if (givenUp !== undefined) return { givenUp }
  if (knownMs !== undefined && attempts <= knownWaitsMax) return { waitMs: knownMs, wait: 'known' }
  // Full jitter: any wait up to a bound that doubles.
  const waitMs = randomUpTo(entropy, backoffMs(attempts, policy.backoffBaseMs, policy.backoffMaxMs))
  return knownMs !== undefined && knownMs >= waitMs ? { waitMs: knownMs, wait: 'known' } : { waitMs, wait: 'backoff' }
}
