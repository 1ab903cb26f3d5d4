import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AnyMachineSnapshot, initialTransition, type SnapshotFrom, transition } from 'xstate'
import { chartOf, nodesUnder, type StateMeta, statePath } from '../../src/machines/definition/chart-rules.ts'
import type { MachineState } from '../../src/machines/definition/machine.ts'
import type { MessageWithParts } from '../../src/vocabulary/message.ts'
import { eventsOf, explore, nameOf, statePaths } from './explore.ts'
import { namedSamples } from './samples.ts'

const charted = namedSamples.flatMap(({ more = [], walks = [], ...sample }) => {
  const chart = chartOf(sample.machine)
  return chart ? [{ ...sample, more, walks, chart }] : []
})

describe.each(charted)('$name', ({ machine, messages, more, walks, chart }) => {
  const reached = explore(machine, messages)

  test('its decisions reach every state of its chart', () => {
    const leaves = nodesUnder(chart.root).filter(node => node.type === 'atomic')
    const found = new Set(reached.flatMap(each => statePaths(each.state.value)))
    expect([...found].sort()).toEqual(leaves.map(statePath).sort())
  })

  test('its decisions take every transition of its chart', () => {
    const transitions = nodesUnder(chart.root).flatMap(node => [...node.transitions.values()].flat())
    const untaken = new Set(transitions.filter(({ eventType }) => eventType !== `${machine.name}.unexpected`))
    const names = new Set<string>()
    const pool = [machine.initial]
    const send = (from: MachineState, message: MessageWithParts) => {
      const count = untaken.size
      let state = from
      for (const event of eventsOf(machine, from, message)) {
        if ([...untaken].some(({ eventType }) => eventType === event.type))
          for (const each of chart.getTransitionData(state as AnyMachineSnapshot, event)) untaken.delete(each)
        state = machine.evolve(state, event)
      }
      const name = nameOf(state)
      // A transition that was taken for the first time may lead to another context under the same name.
      if (untaken.size < count || !names.has(name)) pool.push(state)
      names.add(name)
      return state
    }
    for (const walk of walks) pool.push(walk.reduce(send, machine.initial))
    const all = [...more, ...messages, ...messages.map(each => ({ ...each, isStale: true }))]
    for (const state of pool) for (const message of untaken.size > 0 ? all : []) send(state, message)
    const nameOfTransition = ({ source, eventType, guard, target }: (typeof transitions)[number]) =>
      `${source.id} ${eventType} ${JSON.stringify(guard) ?? ''} ${target?.[0]?.id ?? ''}`
    expect([...untaken].map(nameOfTransition)).toEqual([])
  })

  test("it reaches the same states as with xstate's own transition", () => {
    const events = reached.flatMap(({ state }) => messages.flatMap(message => eventsOf(machine, state, message)))
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

  test('it has words only for events that it names, and parallel states only at its root', () => {
    const nodes = nodesUnder(chart.root)
    const types = nodes.flatMap(node => [...node.transitions.keys()])
    const refused = nodes.flatMap(node => Object.keys((node.meta as StateMeta | undefined)?.refuses ?? {}))
    expect(refused.filter(type => !types.includes(type))).toEqual([])
    // `regionsOf` looks for regions nowhere else.
    expect(nodes.slice(1).filter(node => node.type === 'parallel')).toEqual([])
  })
})
