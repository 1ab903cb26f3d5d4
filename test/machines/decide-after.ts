import type { Decision, Machine } from '../../src/machines/machine.ts'
import type { Message } from '../../src/message.ts'

/** Given a machine: what it answers to the last of some messages, after it accepted those before. */
export function decideAfter(machine: Machine): (...messages: Message[]) => Decision {
  return (...messages) => {
    const last = messages.pop()
    if (!last) throw new TypeError('There is no message to decide')
    let state = machine.initial
    for (const message of messages) {
      const decision = machine.decide(state, message)
      if ('refused' in decision) throw new Error(decision.refused)
      for (const event of decision.events) state = machine.evolve(state, event)
    }
    return machine.decide(state, last)
  }
}
