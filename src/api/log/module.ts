import { listEventTypes } from '../../engine/machine-tables.ts'
import type { Machine } from '../../machines/definition/machine.ts'
import type { PendingEffect } from '../../vocabulary/message.ts'
import type { ApiContext } from '../api-context.ts'
import type { DueItem, Module } from '../module.ts'
import { createEffects, type Effects } from './effects.ts'
import { createLog, type Log } from './log.ts'
import { logChecks } from './log-checks.ts'
import { readLogFigures } from './log-figures.ts'

/** The areas of the log and of its pending calls. */
export interface LogMethods {
  readonly log: Log
  readonly effects: Effects
}

/** Creates the module of the log, for a version with these machines. */
export function createLogModule(context: ApiContext, machines: readonly Machine[]): Module<LogMethods> {
  const { store } = context
  return {
    methods: { log: createLog(context, listEventTypes(machines)), effects: createEffects(context) },
    checks: logChecks(context),
    due: async () => (await store.effects({ states: ['pending', 'deferred'] })).map(toDue),
    figures: () => readLogFigures(context),
  }
}

function toDue(pending: PendingEffect): DueItem {
  return { what: isRecurring(pending) ? 'sync' : 'call', at: pending.dueAt, id: pending.id }
}

function isRecurring({ data }: PendingEffect): boolean {
  return typeof data === 'object' && data !== null && 'everyMs' in data
}
