import type { MakeCheck } from '../check.ts'
import { owedNow } from '../quiet.ts'

/** Longer than anything is put off, or any schedule of a run; keys alone outlive their backups. */
const aheadMaxMs = 3 * 86_400_000
const unended = ['owed', 'started', 'deferred', 'unknown', 'parked'] as const

/**
 * When the faults are over, everything that is due gets done, nobody waits for a person any more, nothing is put off for
 * ever, and each schedule goes on.
 */
export const nothingOwed: MakeCheck = (box, say) => ({
  async end() {
    for (const { id, what } of await owedNow(box)) say(`${id}: ${what}`)
    const open = await box.host.ask(async averba => {
      const lists = await Promise.all(unended.map(state => averba.effects.list({ state })))
      const { views } = averba
      const scheduled = await views
        .selectFrom('subjects')
        .select('subject')
        .where('sync_every_ms', 'is not', null)
        .execute()
      return { effects: lists.flat(), scheduled }
    })
    const { effects = [], scheduled = [] } = open && 'value' in open ? open.value : {}
    const far = new Date(box.clock.now() + aheadMaxMs).toISOString()
    for (const { id, type, dueAt, state } of effects)
      if (dueAt > far && !type.startsWith('keys.')) say(`${id}: ${type} is ${state} until ${dueAt}`)
    for (const { subject } of scheduled) {
      const isOwed = effects.some(({ stream, data }) => {
        const { everyMs } = data as { everyMs?: number } // Of a reading by schedule.
        return stream === `subject-${subject}` && everyMs !== undefined
      })
      if (!isOwed) say(`no reading is owed any more of the schedule of ${subject}`)
    }
    const asked = await box.host.ask(averba => averba.log.followers())
    for (const { name, isParked, dueAt } of asked && 'value' in asked ? asked.value : []) {
      if (isParked || dueAt !== null) say(`the follower ${name} still waits`)
    }
  },
})
