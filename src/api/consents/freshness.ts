import { unlessStopped } from '../../store/views/view-reader.ts'
import type { ApiContext } from '../api-context.ts'
import type { CheckResult } from '../check.ts'
import type { Figures } from '../figures.ts'
import { planSync } from './sync-plan.ts'
import { countStandingUnmade } from './unmade-changes.ts'

/** Tells the logger where consents cannot be kept as fresh as asked. */
export async function tellOfLateReadings(context: ApiContext): Promise<void> {
  const plan = await unlessStopped(planSync(context))
  const { ok = true, detail = '' } = plan ?? {}
  if (!ok) context.log({ message: 'the consents cannot be kept as fresh as asked', detail })
}

/** How fresh consents are kept, which stand against a no of ours that was not made, and what to do about both. */
export async function checkFreshness(context: ApiContext): Promise<CheckResult> {
  const { ok, detail, overdue, requestsPerSecond, neededPerSecond } = await planSync(context)
  const unmade = await countStandingUnmade(context)
  const isTight = requestsPerSecond !== null && neededPerSecond > requestsPerSecond
  const advice = [
    isTight && 'raise requestsPerSecond, or syncEveryMs',
    overdue > 0 &&
      'effects.list(), and subject.readDeclined and subject.synced in the log, say why, where run or settle does',
  ].filter(each => each !== false)
  const fresh = ok ? detail : `${detail}: ${advice.join('; ')}`
  if (unmade === 0) return { ok, detail: fresh }
  const stand =
    unmade === 1
      ? '1 denial or revocation was not made, and the consent stands: revoke it'
      : `${unmade} denials or revocations were not made, and the consents stand: revoke them`
  return { ok: false, detail: `${stand}; ${fresh}` }
}

/** One look at an index each, however many data subjects there are. */
export async function readReadings({ views }: ApiContext): Promise<Figures['readings']> {
  const newest = await unlessStopped(newestReading(views).executeTakeFirst())
  const oldest = await unlessStopped(oldestReading(views).executeTakeFirst())
  return { newestAt: newest?.synced_at ?? null, oldestAt: oldest?.awaiting_since ?? null }
}

/** Asks when consents were last read, of anybody. */
export function newestReading(views: ApiContext['views']) {
  const read = views.selectFrom('subjects').select('synced_at').where('synced_at', 'is not', null)
  return read.orderBy('synced_at', 'desc').limit(1)
}

/** Asks since when the one that waits the longest has waited, of those that are read by themselves. */
export function oldestReading(views: ApiContext['views']) {
  const waiting = views
    .selectFrom('subjects')
    .select('awaiting_since')
    .where('awaiting_since', 'is not', null)
  return waiting.orderBy('awaiting_since').limit(1)
}
