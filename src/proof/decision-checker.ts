import { type CompiledMachine, compileMachine, type PossibleStates } from './compiled-machine.ts'
import { beganType, logStream, machinesAddedType, resumedType } from './log-stream.ts'
import type { RecordedHeader } from './recorded-header.ts'

/** The transition table of the log's own machine. It is only here: a log does not hold it. */
const logTable = {
  name: 'log',
  version: 1,
  start: ['absent'],
  moves: { absent: { [beganType]: [{ to: 'begun' }] }, begun: {} },
  makes: {
    'log.begin': [{ event: beganType, in: ['absent'] }],
    'log.addMachines': [{ event: machinesAddedType, in: ['begun'] }],
    'log.resume': [{ event: resumedType, in: ['begun'] }],
  },
}

/** The possible states of a stream, and the machine that decided its last event; undefined before its first. */
export interface StreamState {
  machine: CompiledMachine | undefined
  states: PossibleStates | undefined
}

/**
 * Checks every decision against the transition tables in the log: a command or fact must be allowed to record its event
 * in the state that the earlier events led to.
 */
export class DecisionChecker {
  readonly #machines = new Map<string, Map<number, CompiledMachine>>()
  #last: CompiledMachine | undefined

  constructor() {
    this.#addTables([logTable])
  }

  /** Returns why a decision is not legal; `undefined` if it is. Updates the state of its stream. */
  check(event: RecordedHeader, stream: StreamState): string | undefined {
    const { name, version } = event.machine
    const machine = this.#findMachine(event.machine)
    if (!machine) return `the log has no table for version ${version} of the machine "${name}"`
    if (!event.stream.startsWith(machine.prefix)) return `the machine "${name}" decided about "${event.stream}"`
    let { states = machine.start } = stream
    // Another version of the machine has the same states, by name.
    if (stream.machine && stream.machine !== machine) states = machine.adoptStates(states)
    const violation = machine.findViolation(states, event)
    stream.states = machine.statesAfter(states, event)
    stream.machine = machine
    if (event.stream === logStream) return violation ?? this.#readTables(event)
    return violation
  }

  #findMachine({ name, version }: RecordedHeader['machine']): CompiledMachine | undefined {
    // Consecutive events often come from one machine.
    if (this.#last?.name !== name || this.#last.version !== version) this.#last = this.#machines.get(name)?.get(version)
    return this.#last
  }

  #readTables({ type, data }: RecordedHeader): string | undefined {
    if (type !== beganType && type !== machinesAddedType) return undefined
    return this.#addTables(Array.isArray(data.machines) ? data.machines : [])
  }

  #addTables(tables: readonly unknown[]): string | undefined {
    for (const table of tables) {
      const machine = compileMachine(table)
      if (!machine) return 'a table of a machine cannot be read'
      const versions = this.#machines.get(machine.name) ?? new Map<number, CompiledMachine>()
      if (versions.has(machine.version)) return `the machine "${machine.name}" has two tables of one version`
      this.#machines.set(machine.name, versions.set(machine.version, machine))
    }
    return undefined
  }
}
