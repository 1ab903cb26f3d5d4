import type { Machine, MachineState } from '../../src/machines/definition/machine.ts'
import type { Event, Message } from '../../src/vocabulary/message.ts'

/** A reachable state, and the first events that lead to it. */
export interface Reached {
  readonly name: string
  readonly state: MachineState
  readonly events: readonly Event[]
}

/**
 * Sends every message in every state, breadth first, and collects the states reached. Of several contexts with the same
 * state name, only the first is kept.
 */
export function explore(machine: Machine, messages: readonly Message[]): Reached[] {
  const start: Reached = { name: nameOf(machine.initial), state: machine.initial, events: [] }
  const reached = new Map([[start.name, start]])
  const queue = [start]
  for (let from = queue.shift(); from; from = queue.shift()) {
    for (const message of messages) {
      const events = eventsOf(machine, from.state, message)
      const state = events.reduce((each, event) => machine.evolve(each, event), from.state)
      const name = nameOf(state)
      if (reached.has(name)) continue
      const next = { name, state, events: [...from.events, ...events] }
      reached.set(name, next)
      queue.push(next)
    }
  }
  return [...reached.values()]
}

export function eventsOf(machine: Pick<Machine, 'decide'>, state: MachineState, message: Message): readonly Event[] {
  const decision = machine.decide(state, message)
  return 'events' in decision ? decision.events : []
}

/** The name of a state, such as `active.failing` or `ATIVO+known`. */
export function nameOf(state: MachineState): string {
  return leavesOf(state.value).join('+')
}

function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  const regions = Object.entries(value as object)
  return regions.flatMap(([region, inner]) => {
    const leaves = leavesOf(inner)
    return regions.length > 1 ? leaves : leaves.map(leaf => `${region}.${leaf}`)
  })
}

/** The paths of the current states in a state's value, such as `status.ATIVO` and `knowledge.known`. */
export function statePaths(value: unknown, path = ''): string[] {
  if (typeof value === 'string') return [path + value]
  return Object.entries(value as object).flatMap(([name, inner]) => statePaths(inner, `${path}${name}.`))
}
