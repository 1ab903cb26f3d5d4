import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { initialTransition, type SnapshotFrom, transition } from 'xstate'
import { chartOf, nodesUnder, statePath } from '../../src/machines/definition/chart-rules.ts'
import { explore, statePaths } from './explore.ts'
import { samples } from './samples.ts'

const charted = samples.flatMap(({ machine, messages }) => {
  const chart = chartOf(machine)
  return chart ? [{ name: machine.name, machine, messages, chart }] : []
})

describe.each(charted)('$name', ({ machine, messages, chart }) => {
  const reached = explore(machine, messages)

  test('its decisions reach every state of its chart', () => {
    const leaves = nodesUnder(chart.root).filter(node => node.type === 'atomic')
    const found = new Set(reached.flatMap(each => statePaths(each.state.value)))
    expect([...found].sort()).toEqual(leaves.map(statePath).sort())
  })

  test("it reaches the same states as with xstate's own transition", () => {
    const events = reached.flatMap(({ state }) =>
      messages.flatMap(message => {
        const decision = machine.decide(state, message)
        return 'events' in decision ? decision.events : []
      }),
    )
    const [initial] = initialTransition(chart)
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...events), { maxLength: 30 }), given => {
        let [ours, theirs]: [typeof machine.initial, SnapshotFrom<typeof chart>] = [machine.initial, initial]
        for (const event of given) {
          ours = machine.evolve(ours, event)
          theirs = transition(chart, theirs, event)[0]
        }
        expect(JSON.stringify(ours)).toBe(JSON.stringify(theirs))
      }),
    )
  })

  test('the chart has only named assign actions on transitions, exact event types, no timers and no actors', () => {
    const { actions, actors, delays } = chart.implementations
    const kinds = Object.values(actions).map(action => Object(action).type)
    expect(kinds.filter(kind => kind !== 'xstate.assign')).toEqual([])
    expect({ actors, delays }).toEqual({ actors: {}, delays: {} })
    // An inline action or guard would be a function.
    const text = JSON.stringify(chart.config, (_, value) => (typeof value === 'function' ? 'INLINE' : value))
    expect(text).not.toMatch(/INLINE|"(invoke|after|always|entry|exit)"|\*/)
  })
})
