import type { AnyStateMachine, AnyStateNode } from 'xstate'
import type { Machine } from './machine.ts'
import { type MachineRules, rulesOf } from './rules.ts'

/** What a version of a machine may do. The log contains it, so decisions can be verified without this library. */
export interface MachineTable {
  readonly name: string
  readonly version: number
  /** The path of each region's state before the first event. */
  readonly start: readonly string[]
  /**
   * The transitions, by state and event type. The first possible one is taken; a state without one leaves the event to
   * its parent state.
   */
  readonly moves: Readonly<Record<string, Readonly<Record<string, readonly TableMove[]>>>>
  /** The events that may be recorded, by command or fact. */
  readonly makes: MachineRules['makes']
}

/** A transition. Without `to` the state stays the same. */
interface TableMove {
  readonly to?: string
  readonly if?: Readonly<Record<string, string | boolean>>
  /** The guard depends on more than the event, so the transition may be taken or not. */
  readonly perhaps?: true
}

/** Builds the table of a machine from its chart and its rules. */
export function toMachineTable({ name, version, chart }: Machine): MachineTable {
  const { root } = chart as AnyStateMachine // `defineMachine` puts one there.
  const { conditions = {}, makes } = rulesOf(name)
  const moves: Record<string, Record<string, TableMove[]>> = {}
  for (const node of nodesUnder(root)) {
    const own: Record<string, TableMove[]> = {}
    for (const [type, transitions] of node.transitions) {
      own[type] = transitions.map(({ target, guard }) => {
        const to = target?.[0]
        const condition = typeof guard === 'string' ? conditions[guard] : undefined
        return {
          ...(to && { to: statePath(innermostState(to)) }),
          ...(guard !== undefined && (condition ? { if: condition } : { perhaps: true as const })),
        }
      })
    }
    if (Object.keys(own).length > 0) moves[statePath(node)] = own
  }
  const regions = root.type === 'parallel' ? Object.values(root.states) : [root]
  return { name, version, start: regions.map(region => statePath(innermostState(region))), moves, makes }
}

function nodesUnder(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesUnder)]
}

function innermostState(node: AnyStateNode): AnyStateNode {
  const inner = node.initial.target[0]
  return inner && inner !== node ? innermostState(inner) : node
}

function statePath(node: AnyStateNode): string {
  return node.path.join('.')
}
