import type { Store } from '../../store/store.ts'
import type { AttemptOutcome, Fact, PendingEffect } from '../../vocabulary/message.ts'
import { alwaysSend, type Performer } from '../../vocabulary/performer.ts'
import { readTrace } from './attempt-trace.ts'

/** Ends a call that must not be sent. If an earlier request was answered, the service already has the call's data. */
export type EndWithheldCall<F extends Fact> = (sentBefore: boolean) => AttemptOutcome<F>

/**
 * Guards a performer's calls: right before each request, `withhold` returns how to end one that must not be sent, and
 * `withdraw` how to end one that a person gives up.
 */
export function guardEffect<D, F extends Fact, W extends Fact>(
  store: Store,
  performer: Performer<D, F>,
  withhold: (pending: PendingEffect<string, D>) => Promise<EndWithheldCall<W> | undefined>,
  withdraw: (pending: PendingEffect<string, D>, sentBefore: boolean) => W | undefined,
): Performer<D, F | W> {
  return {
    ...performer,
    withdrawnFact: withdraw,
    async perform(pending, opened, maySend = alwaysSend) {
      const end = await withhold(pending)
      if (end) return end((await readTrace(store, pending)).wasAnswered)
      const late: { end?: EndWithheldCall<W> | undefined } = {}
      const outcome = await performer.perform(pending, opened, async () => {
        const mayLeave = await maySend()
        if (!mayLeave) return undefined
        late.end = await withhold(pending) // Time may have passed while waiting for a token.
        return late.end === undefined ? mayLeave : undefined
      })
      if (outcome.status !== 'deferred' || !late.end) return outcome
      return late.end(outcome.isAnswered ?? (await readTrace(store, pending)).wasAnswered)
    },
  }
}
