import { clocksDifferMaxMs, dayMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'

/** How far a subscription has come towards its automatic deletion, as its last events tell. */
export interface HealthState {
  /** The first known error since the last success; null while there is none. */
  readonly failingSince: Instant | null
  readonly lastFailureAt: Instant | null
  readonly lastSuccessAt: Instant | null
  /** When the portal registered it: earlier failures belong to another one. Null where nobody knows. */
  readonly registeredAt: Instant | null
  /** The highest share of the thirty days that was announced in this failing period, in percent. */
  readonly announced: number
}

/** A subscription that is deleted in days unless a delivery succeeds. */
export interface DeletionThreat {
  readonly percent: number
  /** Whole days, rounded down. */
  readonly daysLeft: number
  readonly failingSince: Instant
  readonly deletionAt: Instant
}

/** Nothing failed yet. */
export const initialHealth: HealthState = {
  failingSince: null,
  lastFailureAt: null,
  lastSuccessAt: null,
  registeredAt: null,
  announced: 0,
}

const deletionWindowMs = 30 * dayMs
/** The shares of the thirty days of nothing but errors (document 3, section 8) at which a threat is announced. */
const announcedAt = [90, 75, 50] as const

/** When a subscription that fails since then is deleted, unless a delivery succeeds. */
export function deletionAfter(failingSince: Instant): Instant {
  return toInstant(fromInstant(failingSince) + deletionWindowMs)
}

/** Whole days from an instant to the deletion, rounded down, and never below zero. */
export function wholeDaysUntil(deletionAt: Instant, now: Instant): number {
  return Math.max(0, Math.floor((fromInstant(deletionAt) - fromInstant(now)) / dayMs))
}

/**
 * Reports whether a failure is news: one before the last success, or of one that was there before, says nothing of
 * today.
 */
export function isRelevantFailure(
  { lastSuccessAt, registeredAt }: HealthState,
  failedAt: Instant | null,
): boolean {
  if (failedAt === null) return true
  if (registeredAt !== null && truncateToSecond(failedAt) < truncateToSecond(registeredAt)) return false
  return lastSuccessAt === null || failedAt > lastSuccessAt
}

/** The portal's times have whole seconds. */
function truncateToSecond(at: Instant): string {
  return at.slice(0, 19)
}

/** What one more failure adds. Records may be read in any order. */
export function healthAfterFailure(health: HealthState, failedAt: Instant | null): Partial<HealthState> {
  if (failedAt === null || !isRelevantFailure(health, failedAt)) return {}
  const { failingSince, lastFailureAt } = health
  return {
    failingSince: failingSince === null || failedAt < failingSince ? failedAt : failingSince,
    lastFailureAt: lastFailureAt === null || failedAt > lastFailureAt ? failedAt : lastFailureAt,
  }
}

/**
 * What a success makes of it. One between failures begins a new period. All that is known of the period's first error
 * is that it came after the success, so to be careful it counts from there.
 */
export function healthAfterSuccess(
  lastSuccessAt: Instant,
  failsAgain: boolean,
  { lastFailureAt, registeredAt }: HealthState,
): HealthState {
  const since = failsAgain ? { failingSince: lastSuccessAt, lastFailureAt } : {}
  return { ...initialHealth, ...since, lastSuccessAt, registeredAt }
}

/**
 * The highest share that has come and was not announced; `undefined` when there is none. What was announced but has not
 * come yet was said by a clock that was ahead: it is announced again when it comes.
 */
export function findThreat(
  { failingSince, announced }: Pick<HealthState, 'failingSince' | 'announced'>,
  readAt: Instant,
): DeletionThreat | undefined {
  if (failingSince === null) return undefined
  const elapsedMs = fromInstant(readAt) - fromInstant(failingSince)
  const percent = announcedAt.find(each => elapsedMs * 100 >= deletionWindowMs * each)
  const isAnnouncedEarly = (elapsedMs + clocksDifferMaxMs) * 100 < deletionWindowMs * announced
  if (percent === undefined || (percent <= announced && !isAnnouncedEarly)) return undefined
  const deletionAt = deletionAfter(failingSince)
  return { percent, daysLeft: wholeDaysUntil(deletionAt, readAt), failingSince, deletionAt }
}
