import type { AnyStateMachine, AnyStateNode } from 'xstate'
import type { Machine } from './machine.ts'
import { type MachineRules, rulesOf } from './rules.ts'

/**
 * What a version of a machine may do, as data: written to the log, so that whoever has the log can look up every
 * decision without this library.
 */
export interface MachineTable {
  readonly name: string
  readonly version: number
  /** The state of each region before the first event, by its path. */
  readonly start: readonly string[]
  /**
   * The moves, by state and type of event; a state without a move leaves it to the states around it. The first possible
   * one is taken.
   */
  readonly moves: Readonly<Record<string, Readonly<Record<string, readonly TableMove[]>>>>
  /** What may be recorded, by the command or fact. */
  readonly makes: MachineRules['makes']
}

/** One move. Without `to` the state stays. */
interface TableMove {
  readonly to?: string
  /** Only when the event's data has these members. */
  readonly if?: Readonly<Record<string, string | boolean>>
  /** It depends on more than the event: it may be taken or not. */
  readonly perhaps?: true
}

/** Writes down what a machine may do: the moves of its chart, and its rules. */
export function toMachineTable({ name, version, chart }: Machine): MachineTable {
  const { root } = chart as AnyStateMachine // As the charts are made.
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

/** The state that one enters with another around it. */
function innermostState(node: AnyStateNode): AnyStateNode {
  const inner = node.initial.target[0]
  return inner && inner !== node ? innermostState(inner) : node
}

function statePath(node: AnyStateNode): string {
  return node.path.join('.')
}
