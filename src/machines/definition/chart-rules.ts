import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  assertEvent,
  assign,
  type ExtractEvent,
  type MachineContext,
  pathToStateValue,
} from 'xstate'
import type { Event } from '../../vocabulary/message.ts'
import type { EventCondition, Machine, Refusal } from './machine.ts'

/** Why a state takes no events, or none of a type. A state without words asks its parent. */
export interface StateMeta<T extends string = string> {
  readonly refuses?: Readonly<Partial<Record<T, Refusal>>>
  readonly refusesAll?: Refusal
}

/** Returns the types of a chart for xstate's `setup`, which takes them as a value and never reads it. */
export function typesOf<E extends Event, C extends MachineContext = MachineContext>(): ChartTypes<E, C> {
  return {} as ChartTypes<E, C> // Only its type is used.
}

interface ChartTypes<E extends Event, C extends MachineContext> {
  context: C
  events: E
  meta: StateMeta<E['type']>
}

/** Returns a maker of the actions of a chart: each is for events of some types, and throws on others. */
export function actionsOf<E extends Event, C extends MachineContext>() {
  return <T extends E['type']>(types: T | readonly T[], next: (event: ExtractEvent<E, T>, context: C) => Partial<C>) =>
    assign<C, E, undefined, E, never>(({ context, event }) => {
      assertEvent(event, types)
      return next(event, context)
    })
}

/** The guard of transitions that depend on what the event reports: the published table has its params as data. */
export function reports({ event }: { event: { readonly data?: unknown } }, params: EventCondition): boolean {
  const data = event.data as Readonly<Record<string, unknown>> | undefined // An event's data is an object.
  return Object.entries(params).every(([member, value]) => data?.[member] === value)
}

/** Returns the chart of a machine; `undefined` for a machine of one state. */
export function chartOf({ chart }: Machine): AnyStateMachine | undefined {
  return chart as AnyStateMachine | undefined // `defineMachine` puts one there.
}

/** Returns the regions of a chart: the states that are current at the same time. */
export function regionsOf({ root }: AnyStateMachine): readonly AnyStateNode[] {
  return root.type === 'parallel' ? Object.values(root.states) : [root]
}

export function nodesUnder(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesUnder)]
}

export function statePath({ path }: AnyStateNode): string {
  return path.join('.')
}

/**
 * Returns the rule by which a chart takes events: every region that names the type of an event takes it now, or the
 * root does. The rule returns why a state does not take an event, or `undefined` when it does.
 */
export function takingRule(chart: AnyStateMachine): (state: AnyMachineSnapshot, event: Event) => Refusal | undefined {
  const regions = regionsOf(chart).map(region => ({
    region,
    types: new Set(nodesUnder(region).flatMap(node => [...node.transitions.keys()])),
  }))
  return (state, event) => {
    // Not `can`: it says no where an event is taken and changes nothing.
    const taken = chart.getTransitionData(state, event)
    if (taken.some(({ source }) => source === chart.root)) return undefined
    const missing = regions.find(
      ({ region, types }) => types.has(event.type) && !taken.some(({ source }) => isWithin(source, region)),
    )
    if (!missing && taken.length > 0) return undefined
    return refusalIn(missing?.region ?? chart.root, state, event.type)
  }
}

function isWithin(node: AnyStateNode, region: AnyStateNode): boolean {
  return node === region || (node.parent !== undefined && isWithin(node.parent, region))
}

/** Returns the words of the current state of a region, or of the nearest state around it that has some. */
function refusalIn(region: AnyStateNode, state: AnyMachineSnapshot, type: string): Refusal {
  const current = nodesUnder(region).find(node => node.type === 'atomic' && state.matches(pathToStateValue(node.path)))
  for (let node: AnyStateNode | undefined = current; node; node = node.parent) {
    const { refuses, refusesAll }: StateMeta = node.meta ?? {}
    const words = refuses?.[type] ?? refusesAll
    if (words) return words
  }
  return { refused: `it is ${current?.key ?? 'in another state'}` }
}
