import type { CreateCheck } from '../check.ts'
import { dueEffects } from '../settle-down.ts'

/** Longer than any deferral or schedule of a run. Only the destruction of keys waits longer, for their backups. */
const aheadMaxMs = 3 * 86_400_000
const unfinishedStates = ['pending', 'started', 'deferred', 'unknown', 'parked'] as const

/**
 * At the end no effect is due or waits for a person, no effect is deferred for too long, each schedule has its next
 * reading, and no follower waits for a retry.
 */
export const nothingPending: CreateCheck = (simulated, report) => ({
  async end() {
    for (const { id, what } of await dueEffects(simulated)) report(`${id}: ${what}`)
    const open = await simulated.host.ask(async averba => {
      const lists = await Promise.all(unfinishedStates.map(state => averba.effects.list({ state })))
      const { views } = averba
      const scheduled = await views
        .selectFrom('subjects')
        .select('subject')
        .where('sync_every_ms', 'is not', null)
        .execute()
      return { effects: lists.flat(), scheduled }
    })
    const { effects = [], scheduled = [] } = open && 'value' in open ? open.value : {}
    const far = new Date(simulated.clock.now() + aheadMaxMs).toISOString()
    for (const { id, type, dueAt, state } of effects)
      if (dueAt > far && !type.startsWith('keys.')) report(`${id}: ${type} is ${state} until ${dueAt}`)
    for (const { subject } of scheduled) {
      const isPending = effects.some(({ stream, data }) => {
        const { everyMs } = data as { everyMs?: number } // Of a scheduled reading.
        return stream === `subject-${subject}` && everyMs !== undefined
      })
      if (!isPending) report(`the schedule of ${subject} has no pending reading`)
    }
    const asked = await simulated.host.ask(averba => averba.log.followers())
    for (const { name, isParked, dueAt } of asked && 'value' in asked ? asked.value : []) {
      if (isParked || dueAt !== null) report(`the follower ${name} still waits for a retry`)
    }
  },
})
