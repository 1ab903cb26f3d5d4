import { describe, expect, test } from 'vitest'
import { chartOf, nodesUnder, type StateMeta, statePath } from '../../src/machines/definition/chart-rules.ts'
import { explore, statePaths } from './explore.ts'
import { namedSamples } from './samples.ts'

const charted = namedSamples.flatMap(sample => {
  const chart = chartOf(sample.machine)
  return chart ? [{ ...sample, chart }] : []
})

describe.each(charted)('$name', ({ machine, messages, chart }) => {
  const reached = explore(machine, messages)

  test('its decisions reach every state of its chart', () => {
    const leaves = nodesUnder(chart.root).filter(node => node.type === 'atomic')
    const found = new Set(reached.flatMap(each => statePaths(each.state.value)))
    expect([...found].sort()).toEqual(leaves.map(statePath).sort())
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
