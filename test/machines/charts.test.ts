import { expect, test } from 'vitest'
import { type AnyStateMachine, createMachine } from 'xstate'
import { drawCharts } from '../../src/machines/charts.ts'
import { chartOf, nodesUnder } from '../../src/machines/definition/chart-rules.ts'
import { toMermaid } from '../../src/machines/definition/mermaid.ts'
import { machines } from '../../src/machines/machines.ts'

/** What a chart says of its states and transitions. */
function contentOf({ root }: AnyStateMachine): unknown {
  return nodesUnder(root).map(({ id, type, description, meta, initial, transitions }) => ({
    ...{ id, type, description, meta, initial: initial.target.map(target => target.id) },
    transitions: [...transitions].map(([event, all]) => [
      event,
      all.map(({ target, guard, actions, reenter }) => ({
        ...{ target: target?.map(({ id }) => id), guard: Object(guard).type ?? guard, params: Object(guard).params },
        ...{ actions, reenter },
      })),
    ]),
  }))
}

test.each(machines)('xstate makes the chart of $name again of its JSON alone', machine => {
  const [json = ''] = drawCharts([machine.name], 'json')
  const read = createMachine(JSON.parse(json))
  const chart = chartOf(machine)
  if (chart) expect(contentOf(read)).toEqual(contentOf(chart))
  else expect(Object.keys(read.states)).toEqual(['ready'])
  expect(Object.keys(JSON.parse(json))).not.toContain('context')
  expect(json).not.toContain('=>')
})

test('a Mermaid diagram has boxes for regions, conditions, and arrows between boxes that name the states inside', () => {
  const leaf = { description: '' }
  const to = (path: string) => ({ target: `#lamp.${path}` })
  const byUs = { guard: { type: 'reports', params: { by: 'us' } } }
  const isDark = { guard: { type: 'isDark', params: { by: 'us' } } }
  const dim = { ...leaf, on: { break: [byUs, to('light.off')], ping: [{}] } }
  const off = { ...leaf, on: { on: [{ ...byUs, ...to('light.on.bright') }, to('light.on')] } }
  const leaving = { again: [to('light.on')], off: [{ ...isDark, ...to('light.off') }] }
  const on = { ...leaf, initial: 'dim', on: leaving, states: { dim, bright: leaf } }
  const light = { ...leaf, initial: 'off', on: { reset: [to('light.off')] }, states: { off, on } }
  const place = { ...leaf, initial: 'here', states: { here: { ...leaf, on: { stay: [to('place.here')] } } } }
  const all = { move: [to('place.here')] }
  expect(toMermaid({ ...leaf, id: 'lamp', type: 'parallel', on: all, states: { light, place } })).toBe(`stateDiagram-v2
  state "light" as lamp_light {
    state "off" as lamp_light_off
    state "on" as lamp_light_on {
      state "dim" as lamp_light_on_dim
      state "bright" as lamp_light_on_bright
      state "any" as lamp_light_on__any
      [*] --> lamp_light_on_dim
      lamp_light_on__any --> lamp_light_on_dim : again
    }
    state "any" as lamp_light__any
    [*] --> lamp_light_off
    lamp_light__any --> lamp_light_off : reset
    lamp_light_off --> lamp_light_on : on [by = us] to bright<br/>on [else]
    lamp_light_on --> lamp_light_off : off [isDark, by = us]<br/>break [not by = us] from dim
  }
  state "place" as lamp_place {
    state "here" as lamp_place_here
    state "any" as lamp_place__any
    [*] --> lamp_place_here
    lamp_place__any --> lamp_place_here : move
    lamp_place_here --> lamp_place_here : stay
  }
`)
})

test('all machines are drawn, or those that are named', () => {
  expect(drawCharts([], 'mermaid')).toHaveLength(machines.length)
  expect(drawCharts(['token', 'budget'], 'json').map(text => JSON.parse(text).id)).toEqual(['budget', 'token'])
})

test('an unknown machine and an unknown format are refused with the known ones', () => {
  const unknown = { code: 'INVALID_INPUT', hint: expect.stringContaining('budget, certificate') }
  expect(() => drawCharts(['token', 'tokens'], 'json')).toThrow(expect.objectContaining(unknown))
  const format = { message: expect.stringContaining('"svg" is not a format'), hint: 'Choose among json, mermaid' }
  expect(() => drawCharts([], 'svg')).toThrow(expect.objectContaining(format))
})
