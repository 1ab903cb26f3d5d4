import type { Store } from '../../store/store.ts'
import type { Outcome, Owed } from '../../vocabulary/message.ts'
import type { Performer } from '../../vocabulary/performer.ts'
import { readTrace } from './attempt-trace.ts'

/** Ends a call that may not leave. If an earlier request was answered, the service was told what the call carries. */
export type Withhold = (sentBefore: boolean) => Outcome

/**
 * Has a performer's calls leave only while they may, by what the log knows right before each request. `withhold` gives
 * what ends one that may not, and `undefined` for one that may.
 */
export function holdBack(
  store: Store,
  performer: Performer,
  withhold: (owed: Owed) => Promise<Withhold | undefined>,
): Performer {
  return {
    ...performer,
    async perform(owed, opened, mayLeave = async () => true) {
      const end = await withhold(owed)
      if (end) return end((await readTrace(store, owed)).wasAnswered)
      const late: { end?: Withhold | undefined } = {}
      const outcome = await performer.perform(owed, opened, async () => {
        if (!(await mayLeave())) return false
        late.end = await withhold(owed) // A token may have been waited for.
        return late.end === undefined
      })
      if (outcome.status !== 'deferred' || !late.end) return outcome
      return late.end(outcome.isAnswered ?? (await readTrace(store, owed)).wasAnswered)
    },
  }
}
