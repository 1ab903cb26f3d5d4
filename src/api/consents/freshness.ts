import { undefinedIfStopped } from '../../store/views/view-reader.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { ApiContext } from '../api-context.ts'
import type { CheckResult } from '../health-check.ts'
import type { Figures } from '../module.ts'
import { countWantedEnds } from './changes.ts'

/**
 * Checks how fresh consents are kept, and whether an end that we asked for has not been shown. Without a service only
 * the latter, and nothing when none is wanted.
 */
export async function checkFreshness(context: ApiContext): Promise<CheckResult | undefined> {
  const { ok, detail, overdue, requestsPerSecond, neededPerSecond } = await planSync(context)
  const { wanted, unlisted, idle } = await countWantedEnds(context)
  const isRead = context.options.consentService !== undefined
  if (wanted === 0 && !isRead) return undefined
  const isTight = requestsPerSecond !== null && neededPerSecond > requestsPerSecond
  const advice = [
    isTight && 'raise requestsPerSecond or syncEveryMs',
    overdue > 0 &&
      'see effects.list(), subject.readDeclined and subject.synced in the log, and check that run or settle works',
  ].filter(each => each !== false)
  const fresh = ok ? detail : `${detail}: ${advice.join('; ')}`
  if (wanted === 0) return { ok, detail: fresh }
  const noun = wanted === 1 ? 'denial or revocation has' : 'denials or revocations have'
  const notes = [
    `${wanted} ${noun} not been made yet, and nothing is used meanwhile: see effects.list()`,
    idle > 0 && `for ${idle} without an open request decide by consents.revoke, consents.deny or consents.withdrawEnd`,
    unlisted > 0 && `for ${unlisted} that the service no longer lists, nothing is sent until it lists them again`,
  ]
  const blocked = notes.filter(note => note !== false).join('; ')
  return { ok: false, detail: isRead ? `${blocked}; ${fresh}` : blocked }
}

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

/** How fresh consents can be kept. */
export interface SyncPlan {
  /** Every subject can be read as often as configured, and no reading is overdue. */
  readonly ok: boolean
  /** The same as text, for a health check. */
  readonly detail: string
  /** Data subjects whose consents are read on a schedule. */
  readonly subjects: number
  /** How many of them have waited for a reading for over three intervals, for any reason. */
  readonly overdue: number
  /** The requests that this takes, one per reading. Readings of changed consents come on top. */
  readonly neededPerSecond: number
  /** The option `consentService.requestsPerSecond`; null without a limit. */
  readonly requestsPerSecond: number | null
  /** For each configured interval, the interval that can be kept when all wait alike. */
  readonly intervals: readonly {
    readonly syncEveryMs: number
    readonly subjects: number
    readonly keptMs: number
  }[]
}

export async function planSync(context: ApiContext): Promise<SyncPlan> {
  const rows = await context.views
    .selectFrom('subjects')
    .select(['sync_every_ms', eb => eb.fn.countAll<number>().as('subjects')])
    .where('sync_every_ms', 'is not', null)
    .groupBy('sync_every_ms')
    .orderBy('sync_every_ms')
    .execute()
  const goals = rows.map(row => ({ syncEveryMs: Number(row.sync_every_ms), subjects: Number(row.subjects) }))
  const subjects = goals.reduce((sum, each) => sum + each.subjects, 0)
  const neededPerSecond = goals.reduce((sum, each) => sum + (each.subjects * 1_000) / each.syncEveryMs, 0)
  const requestsPerSecond = context.options.consentService?.requestsPerSecond ?? null
  const delayFactor = requestsPerSecond === null ? 1 : Math.max(1, neededPerSecond / requestsPerSecond)
  const intervals = goals.map(each => ({ ...each, keptMs: Math.ceil(each.syncEveryMs * delayFactor) }))
  const overdue = Number(
    (await overdueReadings(context.views, toInstant(context.clock.now())).executeTakeFirst())?.count ?? 0,
  )
  const needed = neededPerSecond.toFixed(2)
  const troubles = [
    delayFactor > 1 &&
      `${subjects} data subjects take ${needed} requests a second, and ${requestsPerSecond} are allowed: ` +
        `readings take ${delayFactor.toFixed(1)} times the configured interval`,
    overdue > 0 && `${overdue} of ${subjects} data subjects have not been read for over three intervals`,
  ].filter(each => each !== false)
  const ok = troubles.length === 0
  const kept =
    subjects === 0
      ? 'no data subject is read by a schedule'
      : `${subjects} data subjects can be read as often as configured`
  const detail = ok ? kept : troubles.join('; ')
  return { ok, detail, subjects, overdue, neededPerSecond, requestsPerSecond, intervals }
}

export function logLatePlan({ log }: Pick<ApiContext, 'log'>, { ok, detail }: SyncPlan): void {
  if (!ok) log({ level: 'warn', message: 'consents cannot be read as often as configured', detail })
}

/** Counts data subjects whose reading is overdue, by one index look-up. */
export function overdueReadings(views: ApiContext['views'], now: Instant) {
  const overdue = views.selectFrom('subjects').where('overdue_at', '<=', now)
  return overdue.select(eb => eb.fn.countAll<number>().as('count'))
}
