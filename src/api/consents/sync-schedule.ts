import type { SyncAgain } from '../../machines/subject/messages.ts'
import { randomUpTo } from '../../runtime/entropy.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { MessageWithParts, PendingEffect } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'

/**
 * The message that schedules readings from now on, or ends them with null. `effects` are the unsent readings of the
 * former schedule, which are cancelled.
 */
export function scheduleSync(
  context: ApiContext,
  everyMs: number | null,
  effects: readonly string[],
  { isDefault = false } = {},
): MessageWithParts {
  const ends = { ...(effects.length > 0 && { effects }), ...(isDefault && { isDefault }) }
  return everyMs === null
    ? { type: 'subject.unschedule', data: { ...ends } }
    : { type: 'subject.schedule', data: { everyMs, dueAt: toInstant(context.clock.now()), ...ends } }
}

/** The unsent readings of a subject's schedule. A reading under way finishes by itself. */
export async function findScheduledReadings({ store }: ApiContext, subject: string): Promise<string[]> {
  const unsent = await store.effects({
    stream: streamOf('subject', subject),
    states: ['pending', 'deferred', 'parked'],
  })
  // Only checked for presence.
  const isOfSchedule = ({ data }: PendingEffect) => typeof (data as { schedule?: unknown }).schedule === 'number'
  return unsent.filter(isOfSchedule).map(each => each.id)
}

/**
 * When the next reading of a schedule is due. Counted from now, so that one reading makes up for all missed while no
 * process ran; with 10 % of jitter, so that subjects enrolled together drift apart.
 */
export function nextSync(context: ApiContext, pending: PendingEffect): { again?: SyncAgain } {
  // As the subject's machine writes it.
  const { everyMs, schedule } = pending.data as { everyMs?: number; schedule?: number }
  if (everyMs === undefined || schedule === undefined) return {}
  const waitMs = Math.round(everyMs * 0.9) + randomUpTo(context.entropy, Math.round(everyMs * 0.2))
  return { again: { schedule, dueAt: toInstant(context.clock.now() + waitMs) } }
}

/** Adds the next reading to a declined one: the schedule continues. */
export function addNextSync(context: ApiContext, pending: PendingEffect, fact: MessageWithParts): MessageWithParts {
  const data = fact.data as object // As the client writes it.
  return { ...fact, data: { ...data, ...nextSync(context, pending) } }
}
