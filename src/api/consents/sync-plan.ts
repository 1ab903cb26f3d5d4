import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { ApiContext } from '../api-context.ts'

/** How fresh consents can be kept. */
export interface SyncPlan {
  /** Whether every subject can be read as often as it asks, and none is overdue. */
  readonly ok: boolean
  /** The same in words, for a health check. */
  readonly detail: string
  /** Data subjects whose consents are read by themselves. */
  readonly subjects: number
  /** How many of them have waited for a reading for over three intervals, whatever the reason. */
  readonly overdue: number
  /** The requests that they take, one reading each; readings of what changed come on top. */
  readonly neededPerSecond: number
  /** The option `consentService.requestsPerSecond`; null is no bound. */
  readonly requestsPerSecond: number | null
  /** For each interval that is asked for, the one that can be kept when all wait alike. */
  readonly intervals: readonly {
    readonly syncEveryMs: number
    readonly subjects: number
    readonly keptMs: number
  }[]
}

/** Works out the plan from the subjects as they stand. */
export async function planSync(context: ApiContext): Promise<SyncPlan> {
  const rows = await context.views
    .selectFrom('subjects')
    .select(['sync_every_ms', eb => eb.fn.countAll<number>().as('subjects')])
    .where('sync_every_ms', 'is not', null)
    .groupBy('sync_every_ms')
    .orderBy('sync_every_ms')
    .execute()
  const asked = rows.map(row => ({ syncEveryMs: Number(row.sync_every_ms), subjects: Number(row.subjects) }))
  const subjects = asked.reduce((sum, each) => sum + each.subjects, 0)
  const neededPerSecond = asked.reduce((sum, each) => sum + (each.subjects * 1_000) / each.syncEveryMs, 0)
  const requestsPerSecond = context.options.consentService?.requestsPerSecond ?? null
  const share = requestsPerSecond === null ? 1 : Math.max(1, neededPerSecond / requestsPerSecond)
  const intervals = asked.map(each => ({ ...each, keptMs: Math.ceil(each.syncEveryMs * share) }))
  const overdue = Number(
    (await overdueReadings(context.views, toInstant(context.clock.now())).executeTakeFirst())?.count ?? 0,
  )
  const needed = neededPerSecond.toFixed(2)
  const troubles = [
    share > 1 &&
      `${subjects} data subjects take ${needed} requests a second, and ${requestsPerSecond} are allowed: ` +
        `readings come ${share.toFixed(1)} times as late as asked`,
    overdue > 0 && `${overdue} of ${subjects} data subjects have not been read for over three intervals`,
  ].filter(each => each !== false)
  const ok = troubles.length === 0
  const detail = ok ? `${subjects} data subjects can be read as often as asked` : troubles.join('; ')
  return { ok, detail, subjects, overdue, neededPerSecond, requestsPerSecond, intervals }
}

/** Asks how many have waited for a reading for too long: one look at an index where nobody has. */
export function overdueReadings(views: ApiContext['views'], now: Instant) {
  const overdue = views.selectFrom('subjects').where('overdue_at', '<=', now)
  return overdue.select(eb => eb.fn.countAll<number>().as('count'))
}
