import { typesOf } from '../../engine/machine-tables.ts'
import type { Machine } from '../../machines/definition/machine.ts'
import type { Owed } from '../../vocabulary/message.ts'
import type { Area } from '../area.ts'
import type { Due, Module } from '../module.ts'
import { createEffects, type Effects } from './effects.ts'
import { createLog, type Log } from './log.ts'
import { logChecks } from './log-checks.ts'
import { readLogFigures } from './log-figures.ts'

/** The log itself, and the calls that it owes. */
export interface LogMethods {
  readonly log: Log
  readonly effects: Effects
}

/** Makes the module of the log, for a version that has these machines. */
export function createLogModule(area: Area, machines: readonly Machine[]): Module<LogMethods> {
  const { store } = area
  return {
    methods: { log: createLog(area, typesOf(machines)), effects: createEffects(area) },
    checks: logChecks(area),
    due: async () => (await store.effects({ states: ['owed', 'deferred'] })).map(toDue),
    figures: () => readLogFigures(area),
  }
}

function toDue(owed: Owed): Due {
  return { what: isRecurring(owed) ? 'sync' : 'call', at: owed.dueAt, id: owed.id }
}

function isRecurring({ data }: Owed): boolean {
  return typeof data === 'object' && data !== null && 'everyMs' in data
}
