import { type Entropy, randomUpTo } from '../../runtime/entropy.ts'
import { backoffMs, dayMs, minuteMs } from '../../vocabulary/instant.ts'
import type { EffectClass } from '../../vocabulary/performer.ts'

/** How often and how long a call is tried again that was certainly not done. */
export interface RetryPolicy {
  /** What events call it: a policy with other numbers gets another name. */
  readonly name: string
  readonly attemptsMax: number
  /** The time from when it was first due, or last released by an operator, to the last try. */
  readonly elapsedMaxMs: number
  /** The bound of the wait after the first attempt; it doubles with each. */
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
}

const aDay: RetryPolicy = {
  name: 'day-1',
  attemptsMax: 200,
  elapsedMaxMs: dayMs,
  backoffBaseMs: 1_000,
  backoffMaxMs: 15 * minuteMs,
}

const endless: RetryPolicy = {
  ...aDay,
  name: 'endless-1',
  attemptsMax: Number.POSITIVE_INFINITY,
  elapsedMaxMs: Number.POSITIVE_INFINITY,
}

/** No later day's reading finds what was lost on this day: it is tried for as long as the portal has the records. */
const recovery: RetryPolicy = {
  ...endless,
  name: 'recovery-1',
  elapsedMaxMs: 30 * dayMs,
  backoffMaxMs: 120 * minuteMs,
}

/** A day on which something failed just now: what was lost is awaited. */
const hastened: RetryPolicy = { ...recovery, name: 'hastened-1', backoffMaxMs: 30 * minuteMs }

/**
 * Our policies: by the class of an effect, by its type or what owes it where that needs another, and for readings that
 * recur.
 */
export const retryPolicies: {
  readonly byClass: Readonly<Record<EffectClass, RetryPolicy>>
  readonly byType: Readonly<Record<string, RetryPolicy>>
  readonly byEvent: Readonly<Record<string, RetryPolicy>>
  readonly recurring: RetryPolicy
} = {
  byClass: { read: aDay, idempotent: aDay, probed: aDay, once: aDay },
  // A token is only asked for when something needs it, and that is parked in its own time.
  byType: {
    'tokenService.requestToken': endless,
    // An erasure is promised: it goes on until it is complete.
    'keys.rotate': endless,
    'keys.destroyEpochs': endless,
  },
  byEvent: {
    'portal.recoveryRequested': recovery,
    'portal.recoveryHastened': hastened,
    // After one reading has ended, what failed meanwhile is read.
    'portal.failuresListed': hastened,
  },
  // The next reading follows from this one: were it parked, a schedule would end in silence.
  recurring: { ...endless, name: 'recurring-1', backoffMaxMs: 60 * minuteMs },
}

/** Time alone ends nothing before this many attempts: this process may have been down. */
const attemptsMin = 5

/** The policy of an effect that an event owes. Its data says `everyMs` when the next one follows from it. */
export function retryPolicyOf(
  owed: { type: string; data: unknown },
  effectClass: EffectClass,
  event: string | undefined,
): RetryPolicy {
  const { byType, byEvent, byClass, recurring } = retryPolicies
  const { everyMs } = (owed.data ?? {}) as { everyMs?: unknown } // Only looked for.
  if (typeof everyMs === 'number') return recurring
  return byType[owed.type] ?? byEvent[event ?? ''] ?? byClass[effectClass]
}

/**
 * Why a call is not tried again; `undefined` while it is. A wait that the service itself named does not count as a
 * failure: then only the time counts.
 */
function exhaustion(
  policy: RetryPolicy,
  { attempts, elapsedMs, isWaitKnown }: { attempts: number; elapsedMs: number; isWaitKnown: boolean },
): string | undefined {
  if (!isWaitKnown && attempts >= policy.attemptsMax) return `given up after ${attempts} attempts`
  if (attempts >= attemptsMin && elapsedMs >= policy.elapsedMaxMs) {
    return `given up after ${Math.floor(elapsedMs / 3_600_000)} hours`
  }
  return undefined
}

/** What is done about an attempt that certainly did nothing. */
export interface FailedAttempt {
  readonly attempts: number
  readonly elapsedMs: number
  /** A wait that the service named, or that is known otherwise, as when it is closed or a token is next asked for. */
  readonly knownMs?: number | undefined
  /** After how many attempts waiting no longer helps, and why. */
  readonly ends?: { readonly attemptsMax: number; readonly why: string } | undefined
}

/** When a call goes again, and by what rule; or why it does not. */
export type RetryDecision =
  | { readonly waitMs: number; readonly wait: 'known' | 'backoff' }
  | { readonly givenUp: string }

/**
 * How often a wait that a service names is taken as it is. After that it is only a lower bound: otherwise "in a
 * second", said all day long, would have us ask and write events all day long.
 */
const knownTaken = 20

/** Chooses what becomes of a call after an attempt that certainly did nothing. */
export function choose(
  policy: RetryPolicy,
  { attempts, elapsedMs, knownMs, ends }: FailedAttempt,
  entropy: Entropy,
): RetryDecision {
  if (ends && attempts >= ends.attemptsMax)
    return { givenUp: `${ends.why}: given up after ${attempts} attempts` }
  const givenUp = exhaustion(policy, { attempts, elapsedMs, isWaitKnown: knownMs !== undefined })
  if (givenUp !== undefined) return { givenUp }
  if (knownMs !== undefined && attempts <= knownTaken) return { waitMs: knownMs, wait: 'known' }
  // Full jitter: any wait up to a bound that doubles.
  const waitMs = randomUpTo(entropy, backoffMs(attempts, policy.backoffBaseMs, policy.backoffMaxMs))
  return knownMs !== undefined && knownMs >= waitMs
    ? { waitMs: knownMs, wait: 'known' }
    : { waitMs, wait: 'backoff' }
}
