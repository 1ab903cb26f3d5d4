import type { MakeCheck } from '../check.ts'
import { owedNow } from '../quiet.ts'

/** When the faults are over, everything that is due gets done, and nobody waits for a person any more. */
export const nothingOwed: MakeCheck = (box, say) => ({
  async end() {
    for (const { id, what } of await owedNow(box)) say(`${id}: ${what}`)
    const asked = await box.host.ask(averba => averba.log.followers())
    for (const { name, isParked, dueAt } of asked && 'value' in asked ? asked.value : []) {
      if (isParked || dueAt !== null) say(`the follower ${name} still waits`)
    }
  },
})
