import type { AnyStateNode } from 'xstate'
import { chartOf, type StateMeta } from './chart-rules.ts'
import type { EventCondition, Machine } from './machine.ts'
import { toMachineTable } from './machine-table.ts'

/** A state of a machine as plain data, in the form of an xstate configuration. The machine itself is the outermost. */
export interface ChartConfig {
  readonly id?: string
  readonly description: string
  readonly type?: 'parallel'
  readonly initial?: string
  readonly on?: Readonly<Record<string, readonly ChartTransition[]>>
  readonly states?: Readonly<Record<string, ChartConfig>>
  /** Why an event is refused. */
  readonly meta?: StateMeta
}

/** A transition: the first one whose guard holds is taken. Without a target the state stays the same. */
interface ChartTransition {
  /** The id of a state: `#`, the machine's name, and the state's path. */
  readonly target?: string
  readonly guard?: { readonly type: string; readonly params?: EventCondition }
  readonly actions?: readonly string[]
}

/** Returns a machine as data: no functions, and nothing of the context. A machine without a chart has one state. */
export function toChartConfig(machine: Machine): ChartConfig {
  const { name, description } = machine
  const chart = chartOf(machine)
  if (chart) return { id: name, ...toConfig(chart.root) }
  const events = Object.values(toMachineTable(machine).moves).flatMap(Object.keys)
  const on = Object.fromEntries(events.map(type => [type, [{ target: `#${name}.ready` }]]))
  return { id: name, description, initial: 'ready', states: { ready: { description: 'It takes every event.', on } } }
}

function toConfig(node: AnyStateNode): ChartConfig {
  const on = [...node.transitions].map(([type, all]) => [type, all.map(toTransition)])
  const states = Object.entries(node.states).map(([key, inner]) => [key, toConfig(inner)])
  const initial = node.type === 'compound' && node.initial.target[0]
  return {
    description: node.description ?? '',
    ...(node.type === 'parallel' && { type: node.type }),
    ...(initial && { initial: initial.key }),
    ...(on.length > 0 && { on: Object.fromEntries(on) }),
    ...(states.length > 0 && { states: Object.fromEntries(states) }),
    ...(node.meta && { meta: node.meta }),
  }
}

type Transition = AnyStateNode['transitions'] extends Map<string, (infer T)[]> ? T : never

function toTransition({ target, guard, actions }: Transition): ChartTransition {
  return {
    ...(target?.[0] && { target: `#${target[0].id}` }),
    ...(guard !== undefined && { guard: typeof guard === 'string' ? { type: guard } : guard }),
    ...(actions.length > 0 && { actions }),
  } as ChartTransition // Guards and actions have names in our charts: test/machines/paths.test.ts.
}
