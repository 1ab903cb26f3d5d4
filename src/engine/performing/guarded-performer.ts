import type { Store } from '../../store/store.ts'
import type { AttemptOutcome, PendingEffect } from '../../vocabulary/message.ts'
import type { Performer } from '../../vocabulary/performer.ts'
import { readTrace } from './attempt-trace.ts'

/** Ends a call that may not leave. If an earlier request was answered, the service was told what the call carries. */
export type EndWithheldCall = (sentBefore: boolean) => AttemptOutcome

/**
 * Has a performer's calls leave only while they may, by what the log knows right before each request. `withhold` gives
 * what ends one that may not, and `undefined` for one that may.
 */
export function guardEffect(
  store: Store,
  performer: Performer,
  withhold: (pending: PendingEffect) => Promise<EndWithheldCall | undefined>,
): Performer {
  return {
    ...performer,
    async perform(pending, opened, mayLeave = async () => true) {
      const end = await withhold(pending)
      if (end) return end((await readTrace(store, pending)).wasAnswered)
      const late: { end?: EndWithheldCall | undefined } = {}
      const outcome = await performer.perform(pending, opened, async () => {
        if (!(await mayLeave())) return false
        late.end = await withhold(pending) // A token may have been waited for.
        return late.end === undefined
      })
      if (outcome.status !== 'deferred' || !late.end) return outcome
      return late.end(outcome.isAnswered ?? (await readTrace(store, pending)).wasAnswered)
    },
  }
}
