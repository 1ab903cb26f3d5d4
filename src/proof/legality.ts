import { type CompiledMachine, compileMachine, type MachinePosition } from './compiled-machine.ts'
import { beganType, logStream, machinesAddedType, resumedType } from './log-stream.ts'
import type { RecordedHeader } from './recorded-header.ts'

/** The table of the log's own machine, which has no chart: it is here, and in no log. */
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

/** Where a stream stands, by the machine that decided its last event; undefined before its first. */
export interface StreamPlace {
  machine: CompiledMachine | undefined
  standing: MachinePosition | undefined
}

/**
 * Looks every decision up in the tables that the log itself holds: each event has to be one that its command or fact
 * may lead to, in the state that the events before it led to.
 */
export class Legality {
  readonly #machines = new Map<string, Map<number, CompiledMachine>>()
  #last: CompiledMachine | undefined

  constructor() {
    this.#learn([logTable])
  }

  /** Says why a decision is not in the tables; `undefined` if it is. Moves the place of its stream. */
  check(event: RecordedHeader, place: StreamPlace): string | undefined {
    const { stream, machine: by } = event
    const machine = this.#machineOf(by)
    if (!machine) return `no table is in the log of version ${by.version} of the machine "${by.name}"`
    if (!stream.startsWith(machine.prefix)) return `the machine "${by.name}" decided about "${stream}"`
    let { standing = machine.start } = place
    // Another version has the same states, by name.
    if (place.machine && place.machine !== machine) standing = machine.take(standing)
    const illegal = machine.judge(standing, event)
    place.standing = machine.move(standing, event)
    place.machine = machine
    if (stream === logStream) return illegal ?? this.#hear(event)
    return illegal
  }

  #machineOf({ name, version }: RecordedHeader['machine']): CompiledMachine | undefined {
    // Events in a row often come from one machine.
    if (this.#last?.name !== name || this.#last.version !== version)
      this.#last = this.#machines.get(name)?.get(version)
    return this.#last
  }

  #hear({ type, data }: RecordedHeader): string | undefined {
    if (type !== beganType && type !== machinesAddedType) return undefined
    return this.#learn(Array.isArray(data.machines) ? data.machines : [])
  }

  #learn(tables: readonly unknown[]): string | undefined {
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
