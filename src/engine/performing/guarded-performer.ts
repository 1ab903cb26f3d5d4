import type { EffectEvent } from '../../machines/effect.ts'
import type { Store } from '../../store/store.ts'
import type { Outcome, Owed } from '../../vocabulary/message.ts'
import { effectStream } from '../../vocabulary/names.ts'
import type { Performer } from '../../vocabulary/performer.ts'
import type { RecordedOf } from '../../vocabulary/view.ts'

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
      if (end) return end(await wasAnswered(store, owed))
      const late: { end?: Withhold | undefined } = {}
      const outcome = await performer.perform(owed, opened, async () => {
        if (!(await mayLeave())) return false
        late.end = await withhold(owed) // A token may have been waited for.
        return late.end === undefined
      })
      if (outcome.status !== 'deferred' || !late.end) return outcome
      return late.end(outcome.isAnswered ?? (await wasAnswered(store, owed)))
    },
  }
}

/**
 * Reports whether the service answered an attempt at a call that was put off or given up after it: it knows then what
 * the call carries. A call that only reads leaves no trace.
 */
export async function wasAnswered(store: Store, owed: Pick<Owed, 'id' | 'position'>): Promise<boolean> {
  const filter = { stream: effectStream(owed), types: ['effect.deferred', 'effect.parked'] }
  for (let after = 0; ; ) {
    const page = (await store.read({ ...filter, after })) as readonly RecordedOf<EffectEvent>[] // Its machine's own.
    if (page.some(({ data }) => 'isAnswered' in data && data.isAnswered)) return true
    const last = page.at(-1)
    if (!last) return false
    after = last.position
  }
}
