import type { CreateCheck } from '../check.ts'
import { TransitionTracker } from '../transitions.ts'

/** Never fails: it records which transitions of the machines a run made. */
export const transitionsWalked: CreateCheck = simulated => {
  const walk = new TransitionTracker()
  return {
    rolledBack: to => walk.rewind(to.position),
    recorded(event) {
      const name = walk.step(event)
      if (name !== undefined) simulated.runRecord.reached.add(name)
    },
  }
}
