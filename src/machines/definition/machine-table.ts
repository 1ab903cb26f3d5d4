import type { AnyStateMachine, AnyStateNode } from 'xstate'
import { chartOf, nodesUnder, regionsOf, statePath } from './chart-rules.ts'
import type { EventCondition, Machine, MadeEvent } from './machine.ts'

/** What a version of a machine may do. The log contains it, so decisions can be verified without this library. */
export interface MachineTable {
  readonly name: string
  readonly version: number
  /** The path of each region's state before the first event. */
  readonly start: readonly string[]
  /** By state and event type, the first possible one. A state without one leaves the event to its parent. */
  readonly moves: Readonly<Record<string, Readonly<Record<string, readonly TableMove[]>>>>
  /** The events that may be recorded, by command or fact. */
  readonly makes: Readonly<Record<string, readonly TableEvent[]>>
  /** The effects that an event may request. */
  readonly effects: Readonly<Record<string, readonly string[]>>
}

/** A transition. Without `to` the state stays the same. */
interface TableMove {
  readonly to?: string
  readonly if?: EventCondition
  /** The guard depends on more than the event, so the transition may be taken or not. */
  readonly perhaps?: true
}

/** An event that a command or fact may lead to. */
interface TableEvent {
  readonly event: string
  readonly if?: EventCondition
  readonly anomaly?: true
}

const tables = new WeakMap<Machine, MachineTable>()

/** Returns the table of a machine, which is built once: from its chart, its commands and its facts. */
export function toMachineTable(machine: Machine): MachineTable {
  const table = tables.get(machine) ?? buildTable(machine)
  tables.set(machine, table)
  return table
}

function buildTable(machine: Machine): MachineTable {
  const { name, version } = machine
  const { commands, facts, effects } = machine.messages
  const chart = chartOf(machine)
  const unexpected = { event: `${name}.unexpected`, anomaly: true } as const
  const makes: Record<string, readonly TableEvent[]> = {}
  for (const [command, made] of Object.entries(commands)) makes[command] = made.map(toTableEvent)
  for (const [fact, made] of Object.entries(facts))
    makes[fact] = [...made.map(toTableEvent), ...(chart ? [unexpected] : [])]
  const events = new Set(Object.values(makes).flatMap(made => made.map(({ event }) => event)))
  const only = { start: [''], moves: { '': Object.fromEntries([...events].map(type => [type, [{}]])) } }
  return { name, version, ...(chart ? chartMoves(chart) : only), makes, effects }
}

function toTableEvent(made: MadeEvent): TableEvent {
  return typeof made === 'string' ? { event: made } : made
}

function chartMoves(chart: AnyStateMachine): Pick<MachineTable, 'start' | 'moves'> {
  const moves: Record<string, Record<string, TableMove[]>> = {}
  for (const node of nodesUnder(chart.root)) {
    const own: Record<string, TableMove[]> = {}
    for (const [type, transitions] of node.transitions)
      own[type] = transitions.map(({ target, guard }) => ({
        ...(target?.[0] && { to: statePath(innermostState(target[0])) }),
        ...(guard !== undefined && toCondition(guard)),
      }))
    if (Object.keys(own).length > 0) moves[statePath(node)] = own
  }
  return { start: regionsOf(chart).map(region => statePath(innermostState(region))), moves }
}

/** The params of a guard are what the event must report. Unless it is `reports`, only the machine knows the rest. */
function toCondition(guard: unknown): Pick<TableMove, 'if' | 'perhaps'> {
  const { type, params } = guard as { readonly type?: string; readonly params?: EventCondition } // As xstate keeps it.
  return { ...(params && { if: params }), ...(type !== 'reports' && { perhaps: true }) }
}

function innermostState(node: AnyStateNode): AnyStateNode {
  const inner = node.initial.target[0]
  return inner && inner !== node ? innermostState(inner) : node
}
