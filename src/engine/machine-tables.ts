import type { Machine } from '../machines/definition/machine.ts'
import { type MachineTable, toMachineTable } from '../machines/definition/machine-table.ts'
import { beganType, logStream, logTypes, machinesAddedType } from '../proof/log-stream.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Store } from '../store/store.ts'
import { logEvent } from '../store/writing/append.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { toInstant } from '../vocabulary/instant.ts'
import type { Json } from '../vocabulary/message.ts'

/** The events that hold tables. */
const types = [beganType, machinesAddedType]
const triesMax = 20

/** The tables of machines, as the first event of a log holds them. */
export function tablesOf(machines: readonly Machine[]): { machines: Json } {
  return { machines: machines.map(toMachineTable) as unknown as Json } // Plain data, without undefined members.
}

/** Every type of event that is recorded by these machines, or by the log itself. */
export function typesOf(machines: readonly Machine[]): ReadonlySet<string> {
  const rules = machines.flatMap(machine => Object.values(toMachineTable(machine).makes).flat())
  return new Set([...rules.map(({ event }) => event), ...logTypes])
}

/** Writes the tables of versions that a log does not know yet, before anything is decided by them. */
export async function addTables(store: Store, machines: readonly Machine[], clock: Clock): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    const told = await store.read({ stream: logStream, types })
    const known = told.flatMap(({ data }) => (data as { machines?: MachineTable[] }).machines ?? []) // Written here.
    const isNew = ({ name, version }: Machine) =>
      !known.some(each => each.name === name && each.version === version)
    const added = machines.filter(isNew)
    if (added.length === 0) return
    const newest = await store.readLast({ stream: logStream })
    const appended = await store.append({
      at: toInstant(clock.now()),
      streams: [{ stream: logStream, expect: newest?.version ?? 'none' }],
      events: [logEvent(machinesAddedType, 'log.addMachines', tablesOf(added))],
    })
    // Another process of the file may have added them.
    if (appended.status !== 'conflict') return
  }
  throw new AverbaError('CONFLICT', 'Cannot open the log: others append to it all the time', {
    hint: 'Try again. If nobody else has the file, look at it with averba doctor --deep: it may be damaged',
  })
}
