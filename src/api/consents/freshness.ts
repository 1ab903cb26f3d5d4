import { undefinedIfStopped } from '../../store/views/view-reader.ts'
import type { ApiContext } from '../api-context.ts'
import type { Figures } from '../figures.ts'
import type { CheckResult } from '../health-check.ts'
import { planSync } from './sync-plan.ts'
import { countActiveUnmade } from './unmade-changes.ts'

/** Checks how fresh consents are kept, and which consents are still active although we asked for their end. */
export async function checkFreshness(context: ApiContext): Promise<CheckResult> {
  const { ok, detail, overdue, requestsPerSecond, neededPerSecond } = await planSync(context)
  const unmade = await countActiveUnmade(context)
  const isTight = requestsPerSecond !== null && neededPerSecond > requestsPerSecond
  const advice = [
    isTight && 'raise requestsPerSecond or syncEveryMs',
    overdue > 0 &&
      'see effects.list(), subject.readDeclined and subject.synced in the log, and check that run or settle works',
  ].filter(each => each !== false)
  const fresh = ok ? detail : `${detail}: ${advice.join('; ')}`
  if (unmade === 0) return { ok, detail: fresh }
  const stillActive =
    unmade === 1
      ? '1 denial or revocation was not made, and the consent is still active: revoke it'
      : `${unmade} denials or revocations were not made, and the consents are still active: revoke them`
  return { ok: false, detail: `${stillActive}; ${fresh}` }
}

/** The newest and the oldest reading, by one index look-up each. */
export async function readReadingFigures({ views }: ApiContext): Promise<Figures['readings']> {
  const newest = await undefinedIfStopped(newestReading(views).executeTakeFirst())
  const oldest = await undefinedIfStopped(oldestReading(views).executeTakeFirst())
  return { newestAt: newest?.synced_at ?? null, oldestAt: oldest?.awaiting_since ?? null }
}

/** Selects when consents were last read, of any data subject. */
export function newestReading(views: ApiContext['views']) {
  const read = views.selectFrom('subjects').select('synced_at').where('synced_at', 'is not', null)
  return read.orderBy('synced_at', 'desc').limit(1)
}

/** Selects since when the data subject that has waited longest waits, among those that are read on a schedule. */
export function oldestReading(views: ApiContext['views']) {
  const waiting = views.selectFrom('subjects').select('awaiting_since').where('awaiting_since', 'is not', null)
  return waiting.orderBy('awaiting_since').limit(1)
}
