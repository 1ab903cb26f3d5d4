import type { MakeCheck } from '../check.ts'
import { Walk } from '../transitions.ts'

/** Finds nothing wrong: it says which transitions of the machines a run made. */
export const transitionsWalked: MakeCheck = box => {
  const walk = new Walk()
  return {
    rolledBack: to => walk.rewind(to.position),
    recorded(event) {
      const name = walk.step(event)
      if (name !== undefined) box.book.reached.add(name)
    },
  }
}
