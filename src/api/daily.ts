import type { Clock } from '../runtime/clock.ts'
import { isWithin } from '../vocabulary/instant.ts'

const dayMs = 86_400_000

/** Work that is done at most once a day by this process, however often it is asked for. */
export function daily(clock: Clock, work: () => Promise<unknown>): () => Promise<void> {
  let doneAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (isWithin(dayMs, doneAt, clock.now())) return
    doneAt = clock.now()
    await work()
  }
}
