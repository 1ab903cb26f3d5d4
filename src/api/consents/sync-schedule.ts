import type { SyncAgain } from '../../machines/subject/messages.ts'
import { fractionOf } from '../../runtime/entropy.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { MessageWithParts, PendingEffect } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'

/**
 * The message that begins to read a data subject's consents again and again, the first time at once; with null, that
 * ends it. `effects` are the readings of the former schedule, which are cancelled.
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

/** The next reading of a schedule, where one is owed. A reading under way ends by itself. */
export async function owedReadings({ store }: ApiContext, subject: string): Promise<string[]> {
  const owed = await store.effects({
    stream: streamOf('subject', subject),
    states: ['owed', 'deferred', 'parked'],
  })
  // Only looked for.
  const isOfSchedule = ({ data }: PendingEffect) =>
    typeof (data as { schedule?: unknown }).schedule === 'number'
  return owed.filter(isOfSchedule).map(each => each.id)
}

/**
 * What a reading that recurs adds to its fact: when the next one is due. Counted from now, so that readings missed
 * while no process ran are made up for by one; a tenth more or less, so that subjects enrolled together drift apart.
 */
export function syncAgain(context: ApiContext, pending: PendingEffect): { again?: SyncAgain } {
  // As the subject's machine writes it.
  const { everyMs, schedule } = pending.data as { everyMs?: number; schedule?: number }
  if (everyMs === undefined || schedule === undefined) return {}
  const waitMs = Math.round(everyMs * 0.9) + fractionOf(context.entropy, Math.round(everyMs * 0.2))
  return { again: { schedule, dueAt: toInstant(context.clock.now() + waitMs) } }
}

/** A reading that the service declined: one that recurs goes on all the same. */
export function againAfterDecline(
  context: ApiContext,
  pending: PendingEffect,
  fact: MessageWithParts,
): MessageWithParts {
  const data = fact.data as object // As the client writes it.
  return { ...fact, data: { ...data, ...syncAgain(context, pending) } }
}
