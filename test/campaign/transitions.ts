import type { Machine, MachineState } from '../../src/machines/definition/machine.ts'
import { machines } from '../../src/machines/machines.ts'
import type { Message, RecordedEvent } from '../../src/vocabulary/message.ts'
import { explore, nameOf } from '../machines/explore.ts'
import { samples } from '../machines/samples.ts'
import { RewindableMap } from './rewindable-map.ts'

/** What a transition is called: where it leads from and to, and by which event. */
function nameTransition(
  { name }: Machine,
  from: MachineState,
  { type }: Message,
  to: MachineState,
): string | undefined {
  const [before, after] = [nameOf(from), nameOf(to)]
  return before === after ? undefined : `${name}: ${before} -> ${after} (${type})`
}

/** Every transition between states that the decisions of the machines can make. */
export function allTransitions(): string[] {
  const names = new Set<string>()
  for (const { machine, messages } of samples) {
    for (const { state } of explore(machine, messages)) {
      for (const message of messages) {
        const decision = machine.decide(state, message)
        if ('refused' in decision) continue
        decision.events.reduce((each, event) => {
          const next = machine.evolve(each, event)
          const name = nameTransition(machine, each, event, next)
          if (name !== undefined) names.add(name)
          return next
        }, state)
      }
    }
  }
  return [...names]
}

const byName = new Map(machines.map(each => [each.name, each]))

/** The states of the streams of a log, followed event by event. */
export class Walk {
  readonly #states = new RewindableMap<string, MachineState>()

  /** The transition that an event makes, if it makes one. */
  step(event: RecordedEvent): string | undefined {
    const machine = byName.get(event.machine.name)
    if (!machine) return undefined
    const before = this.#states.get(event.stream) ?? machine.initial
    const after = machine.evolve(before, event)
    this.#states.set(event.position, event.stream, after)
    return nameTransition(machine, before, event, after)
  }

  /** The log ends at an earlier position now. */
  rewind(position: number): void {
    this.#states.rewind(position)
  }
}
