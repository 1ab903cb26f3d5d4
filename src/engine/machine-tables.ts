import type { Machine } from '../machines/definition/machine.ts'
import { type MachineTable, toMachineTable } from '../machines/definition/machine-table.ts'
import { beganType, logStream, logTypes, machinesAddedType } from '../proof/recorded-header.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Store } from '../store/store.ts'
import { logEvent } from '../store/writing/append.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { toInstant } from '../vocabulary/instant.ts'

const tableEventTypes = [beganType, machinesAddedType]
const triesMax = 20

/** The tables of machines, as a log's first event contains them. */
export function collectTables(machines: readonly Machine[]): { machines: readonly MachineTable[] } {
  return { machines: machines.map(toMachineTable) }
}

export function listEventTypes(machines: readonly Machine[]): ReadonlySet<string> {
  const made = machines.flatMap(machine => Object.values(toMachineTable(machine).makes).flat())
  return new Set([...made.map(({ event }) => event), ...logTypes])
}

/** Records the tables of machine versions that are new to a log, before anything is decided by them. */
export async function addTables(store: Store, machines: readonly Machine[], clock: Clock): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    const events = await store.read({ stream: logStream, types: tableEventTypes })
    const known = events.flatMap(({ data }) => (data as { machines?: MachineTable[] }).machines ?? []) // Written here.
    const isNew = ({ name, version }: Machine) => !known.some(each => each.name === name && each.version === version)
    const added = machines.filter(isNew)
    if (added.length === 0) return
    const newest = await store.readLast({ stream: logStream })
    const appended = await store.append({
      at: toInstant(clock.now()),
      streams: [{ stream: logStream, expect: newest?.version ?? 'none' }],
      events: [logEvent(machinesAddedType, 'log.addMachines', collectTables(added))],
    })
    // Another process may have added them meanwhile.
    if (appended.status !== 'conflict') return
  }
  throw new AverbaError('CONFLICT', 'Cannot open the log: other processes append to it all the time', {
    hint: 'Try again. If no other process uses the file, run averba doctor --deep: it may be damaged',
  })
}
