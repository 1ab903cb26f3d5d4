import type { AnyMachineSnapshot, AnyStateMachine, AnyStateNode, MachineContext } from 'xstate'
import type { Event } from '../../vocabulary/message.ts'
import type { EventCondition, Refusal } from './machine.ts'

/**
 * The words beside a state: why it does not take an event, by the event's type, or why it takes none. A state without
 * words asks its parent.
 */
export interface StateMeta {
  readonly refuses?: Readonly<Record<string, Refusal>>
  readonly refusesAll?: Refusal
}

/** Returns the types of a chart for xstate's `setup`, which takes them as a value and never reads it. */
export function typesOf<E extends Event, C extends MachineContext = MachineContext>(): ChartTypes<E, C> {
  return {} as ChartTypes<E, C> // Only its type is used.
}

interface ChartTypes<E extends Event, C extends MachineContext> {
  context: C
  events: E
  meta: StateMeta
}

/** The guard of transitions that depend on what the event reports: the published table has its params as data. */
export function reports({ event }: { event: { readonly data?: unknown } }, params: EventCondition): boolean {
  const data = event.data as Readonly<Record<string, unknown>> | undefined // An event's data is an object.
  return Object.entries(params).every(([member, value]) => data?.[member] === value)
}

/** Returns the regions of a chart: the states that are current at the same time. */
export function regionsOf({ root }: AnyStateMachine): readonly AnyStateNode[] {
  return root.type === 'parallel' ? Object.values(root.states) : [root]
}

/** Returns all nodes of a part of a chart. */
export function nodesUnder(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesUnder)]
}

/** Returns the path of a state in its chart. */
export function statePath({ path }: AnyStateNode): string {
  return path.join('.')
}

const naming = new WeakMap<AnyStateMachine, Map<string, readonly AnyStateNode[]>>()

/** Returns the regions that name a type of event in any of their states. */
function regionsNaming(chart: AnyStateMachine, type: string): readonly AnyStateNode[] {
  const known = naming.get(chart) ?? new Map<string, readonly AnyStateNode[]>()
  naming.set(chart, known)
  const found = known.get(type)
  if (found) return found
  const regions = regionsOf(chart).filter(region => nodesUnder(region).some(node => node.transitions.has(type)))
  known.set(type, regions)
  return regions
}

/**
 * Checks that a state takes an event: every region that names the type takes it now, or the root does. Returns why not,
 * or `undefined` when it does.
 */
export function takesWith(chart: AnyStateMachine, state: AnyMachineSnapshot, event: Event): Refusal | undefined {
  const taken = chart.getTransitionData(state, event as never) // The machine's own events.
  if (taken.some(({ source }) => source === chart.root)) return undefined
  const regions = regionsNaming(chart, event.type)
  const missing = regions.find(region => !taken.some(({ source }) => isWithin(source, region)))
  if (!missing && taken.length > 0) return undefined
  return refusalIn(chart, state, event.type, missing ?? chart.root)
}

function isWithin(node: AnyStateNode, region: AnyStateNode): boolean {
  return node === region || (node.parent !== undefined && isWithin(node.parent, region))
}

function refusalIn(chart: AnyStateMachine, state: AnyMachineSnapshot, type: string, region: AnyStateNode): Refusal {
  const current = state._nodes.filter(node => isWithin(node, region)).toSorted((a, b) => b.path.length - a.path.length)
  for (const node of [...current, chart.root]) {
    const { refuses, refusesAll } = (node.meta ?? {}) as StateMeta // `setup` declares it so.
    const words = refuses?.[type] ?? refusesAll
    if (words) return words
  }
  return { refused: `it is ${current[0]?.key ?? 'in another state'}` }
}

/** Checks that a type of event changes nothing in a chart: no transition for it has a target or an action. */
export function isInert(chart: AnyStateMachine, type: string): boolean {
  const transitions = nodesUnder(chart.root).flatMap(node => node.transitions.get(type) ?? [])
  return transitions.every(({ target, actions }) => !target && actions.length === 0)
}
