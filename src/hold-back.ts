import type { Performer } from './adapters/performer.ts'
import type { Outcome, Owed } from './message.ts'

/**
 * Has a performer's calls leave only while they may, by what the log knows right before each request. `withhold` says
 * how one ends that may not, and `undefined` of one that may.
 */
export function holdBack(
  performer: Performer,
  withhold: (owed: Owed) => Promise<Outcome | undefined>,
): Performer {
  return {
    ...performer,
    async perform(owed, opened, mayLeave = async () => true) {
      let withheld = await withhold(owed)
      if (withheld) return withheld
      const outcome = await performer.perform(owed, opened, async () => {
        if (!(await mayLeave())) return false
        withheld = await withhold(owed) // A token may have been waited for.
        return withheld === undefined
      })
      return outcome.status === 'deferred' ? (withheld ?? outcome) : outcome
    },
  }
}
