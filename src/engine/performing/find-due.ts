import type { Clock } from '../../runtime/clock.ts'
import type { Store } from '../../store/store.ts'
import type { Performers } from '../../vocabulary/performer.ts'

/** Where calls that are due stand, and what performs them. */
export interface FindDueParts {
  readonly store: Store
  readonly clock: Clock
  readonly performers: Performers
}

/**
 * Finds calls of some types that are due, the oldest first. Where more are due than are asked for, half of the room is
 * for what is no routine: a revocation that was put off must not wait until everybody's list has been read.
 */
export async function findDue(
  { store, clock, performers }: FindDueParts,
  types: readonly string[],
  limit: number,
): Promise<string[]> {
  const due = await store.dueEffects(clock.now(), { types, limit })
  const first = types.filter(type => !performers[type]?.isRoutine)
  if (due.length < limit || first.length === 0 || first.length === types.length) return due
  const ofFirst = await store.dueEffects(clock.now(), { types: first, limit: Math.ceil(limit / 2) })
  return [...new Set([...ofFirst, ...due])]
}
