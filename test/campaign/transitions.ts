import type { Machine, MachineState } from '../../src/machines/definition/machine.ts'
import { machines } from '../../src/machines/machines.ts'
import type { Message, RecordedEvent } from '../../src/vocabulary/message.ts'
import { eventsOf, explore, nameOf, statePaths } from '../machines/explore.ts'
import { samples } from '../machines/samples.ts'
import { viewsRebuilt } from './actions/operations.ts'
import { crashPoints } from './crash-points.ts'
import { faultKinds } from './plan.ts'

/**
 * The names of the transitions that an event makes, one for each region of the chart: the states before and after, and
 * the event. All regions together would have a name for each combination, which says nothing that a chart says.
 */
function transitionNames({ name }: Machine, from: MachineState, { type }: Message, to: MachineState): string[] {
  const [before, after] = [regionsOf(from), regionsOf(to)]
  return [...before].flatMap(([region, state]) => {
    const next = after.get(region)
    return state === next ? [] : [`${name}: ${region}${state} -> ${next} (${type})`]
  })
}

/** The state of each region of a chart by its name; a chart without regions is one without a name. */
function regionsOf(state: MachineState): ReadonlyMap<string, string> {
  const regions = typeof state.value === 'string' ? [] : Object.entries(Object(state.value))
  if (regions.length < 2) return new Map([['', nameOf(state)]])
  return new Map(regions.map(([region, inner]) => [`${region} `, statePaths(inner).join('+')]))
}

/** The names of all transitions that decisions of the machines can make. */
function allTransitions(): Iterable<string> {
  const names = new Set<string>()
  for (const { machine, messages } of samples) {
    for (const { state } of explore(machine, messages)) {
      for (const message of messages) {
        let before = state
        for (const event of eventsOf(machine, state, message)) {
          const after = machine.evolve(before, event)
          for (const name of transitionNames(machine, before, event, after)) names.add(name)
          before = after
        }
      }
    }
  }
  return names
}

/** The names of everything that a long campaign must reach at least once, unless explained. */
export function reachable(): string[] {
  const faults = faultKinds.map(kind => `fault ${kind}`)
  return [...faults, ...crashPoints.map(point => `crash ${point}`), ...allTransitions(), viewsRebuilt]
}

const byName = new Map(machines.map(each => [each.name, each]))

/** Tracks the states of the streams of a log, event by event. */
export class TransitionTracker {
  readonly #states = new Map<string, MachineState>()

  step(event: RecordedEvent): string[] {
    const machine = byName.get(event.machine.name)
    if (!machine) return []
    const before = this.#states.get(event.stream) ?? machine.initial
    const after = machine.evolve(before, event)
    this.#states.set(event.stream, after)
    return transitionNames(machine, before, event, after)
  }

  /** Tracks another log, of which these events were read. */
  startOver(log: readonly RecordedEvent[]): void {
    this.#states.clear()
    for (const event of log) this.step(event)
  }
}
