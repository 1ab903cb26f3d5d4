import type { Store } from '../../store/store.ts'
import type { AttemptOutcome, PendingEffect } from '../../vocabulary/message.ts'
import type { Performer } from '../../vocabulary/performer.ts'
import { readTrace } from './attempt-trace.ts'

/** Ends a call that must not be sent. If an earlier request was answered, the service already has the call's data. */
export type EndWithheldCall = (sentBefore: boolean) => AttemptOutcome

/** Guards a performer's calls: right before each request, `withhold` returns how to end one that must not be sent. */
export function guardEffect(
  store: Store,
  performer: Performer,
  withhold: (pending: PendingEffect) => Promise<EndWithheldCall | undefined>,
): Performer {
  return {
    ...performer,
    async perform(pending, opened, maySend = async () => true) {
      const end = await withhold(pending)
      if (end) return end((await readTrace(store, pending)).wasAnswered)
      const late: { end?: EndWithheldCall | undefined } = {}
      const outcome = await performer.perform(pending, opened, async () => {
        if (!(await maySend())) return false
        late.end = await withhold(pending) // Time may have passed while waiting for a token.
        return late.end === undefined
      })
      if (outcome.status !== 'deferred' || !late.end) return outcome
      return late.end(outcome.isAnswered ?? (await readTrace(store, pending)).wasAnswered)
    },
  }
}
