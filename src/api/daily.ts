import type { Clock } from '../runtime/clock.ts'
import { dayMs, isWithin } from '../vocabulary/instant.ts'

/** Work that is done at most once a day by this process, however often it is asked for. */
export function daily(clock: Clock, work: () => Promise<unknown>): () => Promise<void> {
  let doneAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (isWithin(dayMs, doneAt, clock.now())) return
    doneAt = clock.now()
    await work()
  }
}
