import type { Machine, MachineState } from '../../src/machines/definition/machine.ts'
import { machines } from '../../src/machines/machines.ts'
import type { Message, RecordedEvent } from '../../src/vocabulary/message.ts'
import { explore, nameOf } from '../machines/explore.ts'
import { samples } from '../machines/samples.ts'
import { RewindableMap } from './rewindable-map.ts'

/** The name of a transition: the states before and after, and the event. */
function transitionName(
  { name }: Machine,
  from: MachineState,
  { type }: Message,
  to: MachineState,
): string | undefined {
  const [before, after] = [nameOf(from), nameOf(to)]
  return before === after ? undefined : `${name}: ${before} -> ${after} (${type})`
}

/** The names of all transitions that decisions of the machines can make. */
export function allTransitions(): string[] {
  const names = new Set<string>()
  for (const { machine, messages } of samples) {
    for (const { state } of explore(machine, messages)) {
      for (const message of messages) {
        const decision = machine.decide(state, message)
        if ('refused' in decision) continue
        decision.events.reduce((each, event) => {
          const next = machine.evolve(each, event)
          const name = transitionName(machine, each, event, next)
          if (name !== undefined) names.add(name)
          return next
        }, state)
      }
    }
  }
  return [...names]
}

const byName = new Map(machines.map(each => [each.name, each]))

/** Tracks the states of the streams of a log, event by event. */
export class TransitionTracker {
  readonly #states = new RewindableMap<string, MachineState>()

  /** The transition that an event makes, if any. */
  step(event: RecordedEvent): string | undefined {
    const machine = byName.get(event.machine.name)
    if (!machine) return undefined
    const before = this.#states.get(event.stream) ?? machine.initial
    const after = machine.evolve(before, event)
    this.#states.set(event.position, event.stream, after)
    return transitionName(machine, before, event, after)
  }

  rewind(position: number): void {
    this.#states.rewind(position)
  }
}
