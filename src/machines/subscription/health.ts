import { clocksDifferMaxMs, dayMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'

/** How close a subscription is to its automatic deletion, by its recorded events. */
export interface HealthState {
  /** The first known error since the last success; null without an error. */
  readonly failingSince: Instant | null
  readonly lastFailureAt: Instant | null
  readonly lastSuccessAt: Instant | null
  /** When the portal registered it: earlier failures belong to another registration. Null if unknown. */
  readonly registeredAt: Instant | null
  /** The highest percentage of the thirty days that was announced in this failing period. */
  readonly announced: number
}

/** The portal will delete the subscription unless a delivery succeeds. */
export interface DeletionThreat {
  readonly percent: number
  readonly daysLeft: number
  readonly failingSince: Instant
  readonly deletionAt: Instant
}

export const initialHealth: HealthState = {
  failingSince: null,
  lastFailureAt: null,
  lastSuccessAt: null,
  registeredAt: null,
  announced: 0,
}

const deletionWindowMs = 30 * dayMs
/** Percentages of thirty days with errors only (document 3, section 8) at which the threat is announced. */
const announcedAt = [90, 75, 50] as const

/** Returns when the portal deletes a subscription that has been failing since then. */
export function deletionAfter(failingSince: Instant): Instant {
  return toInstant(fromInstant(failingSince) + deletionWindowMs)
}

/** Returns the whole days until the deletion, rounded down, and never below zero. */
export function wholeDaysUntil(deletionAt: Instant, now: Instant): number {
  return Math.max(0, Math.floor((fromInstant(deletionAt) - fromInstant(now)) / dayMs))
}

/** Checks that a failure counts: it came after the last success, and belongs to the current registration. */
export function isRelevantFailure({ lastSuccessAt, registeredAt }: HealthState, failedAt: Instant | null): boolean {
  if (failedAt === null) return true
  if (registeredAt !== null && truncateToSecond(failedAt) < truncateToSecond(registeredAt)) return false
  return lastSuccessAt === null || failedAt > lastSuccessAt
}

/** Truncates to seconds: the portal's times have no milliseconds. */
function truncateToSecond(at: Instant): string {
  return at.slice(0, 19)
}

/** Returns what a failure changes. Records may be read in any order. */
export function healthAfterFailure(health: HealthState, failedAt: Instant | null): Partial<HealthState> {
  if (failedAt === null || !isRelevantFailure(health, failedAt)) return {}
  const { failingSince, lastFailureAt } = health
  return {
    failingSince: failingSince === null || failedAt < failingSince ? failedAt : failingSince,
    lastFailureAt: lastFailureAt === null || failedAt > lastFailureAt ? failedAt : lastFailureAt,
  }
}

/** The health after a success. Failures that follow it are a new period: the time of its first is unknown. */
export function healthAfterDelivery(lastSuccessAt: Instant, health: HealthState): HealthState {
  return { ...health, lastSuccessAt, failingSince: health.failingSince && lastSuccessAt, announced: 0 }
}

/**
 * Returns the threat to announce: the highest percentage reached but not announced. A percentage that was announced too
 * early, by a clock that ran ahead, is announced again when it is reached.
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
