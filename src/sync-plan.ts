import type { Area } from './area.ts'

/** How fresh consents can be kept. */
export interface SyncPlan {
  /** Whether every subject can be read as often as it asks. */
  readonly ok: boolean
  /** The same in words, for a health check. */
  readonly detail: string
  /** Data subjects whose consents are read by themselves. */
  readonly subjects: number
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
export async function planSync(area: Area): Promise<SyncPlan> {
  const rows = await area.views
    .selectFrom('subjects')
    .select(['sync_every_ms', eb => eb.fn.countAll<number>().as('subjects')])
    .where('sync_every_ms', 'is not', null)
    .groupBy('sync_every_ms')
    .orderBy('sync_every_ms')
    .execute()
  const asked = rows.map(row => ({ syncEveryMs: Number(row.sync_every_ms), subjects: Number(row.subjects) }))
  const subjects = asked.reduce((sum, each) => sum + each.subjects, 0)
  const neededPerSecond = asked.reduce((sum, each) => sum + (each.subjects * 1_000) / each.syncEveryMs, 0)
  const requestsPerSecond = area.options.consentService?.requestsPerSecond ?? null
  const share = requestsPerSecond === null ? 1 : Math.max(1, neededPerSecond / requestsPerSecond)
  const intervals = asked.map(each => ({ ...each, keptMs: Math.ceil(each.syncEveryMs * share) }))
  const plan = { subjects, neededPerSecond, requestsPerSecond, intervals }
  if (share === 1)
    return { ok: true, detail: `${subjects} data subjects are read as often as asked`, ...plan }
  const needed = neededPerSecond.toFixed(2)
  const detail =
    `${subjects} data subjects take ${needed} requests a second, and ${requestsPerSecond} are allowed: ` +
    `readings come ${share.toFixed(1)} times as late as asked`
  return { ok: false, detail, ...plan }
}
