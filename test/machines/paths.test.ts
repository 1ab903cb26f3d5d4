import { describe, expect, test } from 'vitest'
import type { AnyStateMachine, AnyStateNode } from 'xstate'
import { getShortestPaths } from 'xstate/graph'
import { explore } from './explore.ts'
import { samples } from './samples.ts'

/** The paths of all leaf states of a chart. */
function leavesOf(chart: AnyStateMachine): string[] {
  const walk = (node: AnyStateNode): string[] => {
    const inner = Object.values(node.states)
    return inner.length === 0 ? [node.path.join('.')] : inner.flatMap(walk)
  }
  return walk(chart.root)
}

function active(value: unknown, prefix = ''): string[] {
  if (typeof value === 'string') return [`${prefix}${value}`]
  return Object.entries(value as object).flatMap(([name, inner]) => {
    return typeof inner === 'object' && Object.keys(inner).length === 0
      ? [`${prefix}${name}`]
      : active(inner, `${prefix}${name}.`)
  })
}

const charted = samples.filter(({ machine }) => machine.chart).map(each => ({ ...each, name: each.machine.name }))

describe.each(charted)('$name', ({ machine, messages }) => {
  const reached = explore(machine, messages)
  const chart = machine.chart as AnyStateMachine
  const leaves = leavesOf(chart)

  test('its decisions reach every state of its chart', () => {
    const found = new Set(reached.flatMap(each => active(each.state.value)))
    expect(leaves.length).toBeGreaterThan(0)
    expect([...found].sort()).toEqual([...leaves].sort())
  })

  test('replaying the shortest paths through the chart ends in the same states', () => {
    const events = reached.flatMap(each => each.events)
    const distinct = [...new Map(events.map(event => [JSON.stringify(event), event])).values()]
    const paths = getShortestPaths(chart, {
      events: distinct as never[],
      serializeState: state => JSON.stringify((state as { value: unknown }).value),
      limit: 100_000,
    })
    const ends = new Set<string>()
    for (const path of paths) {
      const state = path.steps
        .filter(step => !step.event.type.startsWith('xstate.'))
        .reduce((each, step) => machine.evolve(each, step.event as never), machine.initial)
      expect(state.value).toEqual((path.state as { value: unknown }).value)
      for (const leaf of active(state.value)) ends.add(leaf)
    }
    expect([...ends].sort()).toEqual([...leaves].sort())
  })

  test('the chart has only assign actions, no timers and no actors', () => {
    const { implementations, config } = chart as unknown as {
      implementations: { actions: Record<string, { type?: string }>; actors: object; delays: object }
      config: object
    }
    const kinds = Object.values(implementations.actions).map(action => action.type)
    expect(new Set(kinds)).toEqual(new Set(kinds.length > 0 ? ['xstate.assign'] : []))
    expect(implementations).toMatchObject({ actors: {}, delays: {} })
    expect(JSON.stringify(config)).not.toMatch(/"(invoke|after|always)"/)
    // All actions are named: an inline action would be a function and missing in the JSON.
    const text = JSON.stringify(config, (_, value) => (typeof value === 'function' ? 'INLINE' : value))
    expect(text).not.toContain('INLINE')
  })
})
