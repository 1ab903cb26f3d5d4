import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AnyStateMachine, initialTransition, type SnapshotFrom, transition } from 'xstate'
import { explore } from './explore.ts'
import { samples } from './samples.ts'

test.each(
  samples.flatMap(({ machine, messages }) => (machine.chart ? [{ name: machine.name, machine, messages }] : [])),
)("$name reaches the same states as with xstate's own transition", ({ machine, messages }) => {
  const chart = machine.chart as AnyStateMachine // The filter above.
  const events = explore(machine, messages).flatMap(({ state }) =>
    messages.flatMap(message => {
      const decision = machine.decide(state, message)
      return 'events' in decision ? decision.events : []
    }),
  )
  const [initial] = initialTransition(chart)
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...events), { maxLength: 30 }), given => {
      let [ours, theirs]: [typeof machine.initial, SnapshotFrom<AnyStateMachine>] = [machine.initial, initial]
      for (const event of given) {
        ours = machine.evolve(ours, event)
        theirs = transition(chart, theirs, event)[0]
      }
      expect(JSON.stringify(ours)).toBe(JSON.stringify(theirs))
    }),
  )
})
