import { keptDays } from '../../machines/portal.ts'
import { findThreat } from '../../machines/subscription/health.ts'
import type { SubscriptionRow } from '../../views/subscriptions.ts'
import { brasiliaDay } from '../../vocabulary/brasilia.ts'
import { dayMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { LogLine } from '../../vocabulary/log-line.ts'
import { portalStream } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { isEffect } from '../effect-types.ts'
import type { Recorded } from '../events.ts'
import type { CheckResult } from '../health-check.ts'
import type { DeclaredSubscriptions } from './declared-subscriptions.ts'
import { readUnreadableIds, subscriptionRows } from './routes.ts'
import type { SubscriptionSecrets } from './secrets/subscription-secrets.ts'

/** Something about the portal's subscriptions that needs a person's attention. */
interface SubscriptionAlert {
  /** An alert is logged once while its key stays the same. */
  readonly key: string
  readonly line: LogLine
  /** The text for `health()`, with what to do. */
  readonly detail: string
}

/** The portal is read every day; one reading may be late. */
const readingAgeMaxMs = 2 * dayMs
/** How many answers to readings of failures are checked: a month, also when something fails each hour. */
const answersMax = 1_000

export function createAlerts(context: ApiContext, declarations: DeclaredSubscriptions, secrets: SubscriptionSecrets) {
  const { clock, log, options, store } = context
  const isConcerned = options.portal !== undefined || options.receiver !== undefined
  let loggedKeys: ReadonlySet<string> = new Set()
  let lastRead: PortalReadings = { version: 0, first: undefined, answers: [] }

  /** Checks the subscriptions, for `health()`; `undefined` when neither portal nor receiver is configured. */
  async function check(): Promise<CheckResult | undefined> {
    if (!isConcerned) return undefined
    const unapplied = await secrets.unapplied()
    const alerts = await findAlerts(unapplied)
    const details = alerts.map(each => each.detail)
    if (unapplied.length > 0) {
      const todo = 'plan and apply; until then the former secret is accepted'
      details.unshift(`the secrets of ${unapplied.join(', ')} have changed at their source: ${todo}`)
    }
    if (details.length === 0) return { ok: true, detail: 'no problem is known' }
    const days = alerts.flatMap(({ line }) => line.daysLeft ?? [])
    const daysLeft = days.length > 0 && { daysLeft: Math.min(...days) }
    return { ok: false, detail: details.join('; '), ...daysLeft }
  }

  async function logNew(): Promise<void> {
    if (!isConcerned) return
    const alerts = await findAlerts(await secrets.unapplied())
    for (const { key, line } of alerts) if (!loggedKeys.has(key)) log(line)
    loggedKeys = new Set(alerts.map(each => each.key))
  }

  async function findAlerts(unapplied: readonly string[]): Promise<SubscriptionAlert[]> {
    const rows = await subscriptionRows(context)
    const now = clock.now()
    const listed = await store.readLast({ stream: portalStream, types: ['portal.listed'] })
    const hidden = listed ? await readUnreadableIds(context, listed) : []
    const declared = declarations.all.flatMap(({ evento, endpoint }) => {
      const row = rows.find(each => each.evento === evento)
      if (!row || row.remote_id === null) return listed ? absenceAlerts(evento, row) : []
      if (hidden.includes(row.remote_id)) return driftAlerts(evento, 'form: its row cannot be read')
      const differing = differences(row, endpoint, unapplied.includes(evento))
      return differing.length === 0 ? [] : driftAlerts(evento, differing.join(' and '))
    })
    const isWatched = declarations.all.length > 0 || rows.some(isAtPortal)
    const stale = isWatched ? await findStaleReadings(listed, now) : []
    return [...rows.filter(isAtPortal).flatMap(row => deletionAlerts(row, now)), ...declared, ...stale]
  }

  /** Finds what was not read for too long; something never read counts from the first request. */
  async function findStaleReadings(
    listed: Recorded<'portal.listed'> | undefined,
    now: number,
  ): Promise<SubscriptionAlert[]> {
    const { first, answers } = await readPortal()
    if (!first) return []
    const readings = answers.filter(answer => answer.type === 'portal.failuresListed')
    // A day that was read once it was over is complete.
    const isRead = (day: string) =>
      readings.some(({ data, at }) => data.day === day && brasiliaDay(fromInstant(at)) > day)
    const declined = answers.flatMap(({ type, data }) => (type === 'portal.readDeclined' ? (data.day ?? []) : []))
    const unread = [...declined, ...(await lateDays(now))].filter(day => !isRead(day))
    const stale = stalenessAlerts('failure records', readings[0] ?? first, now)
    return [
      ...stalenessAlerts('subscriptions', listed ?? first, now),
      // In an outage all days are unread.
      ...(stale.length > 0 ? stale : unreadDayAlerts(unread, now)),
      ...unreadableRecordAlerts(readings),
    ]
  }

  /** The days that were asked for over two days ago, without an answer. */
  async function lateDays(now: number): Promise<string[]> {
    const days: string[] = []
    for (const call of await store.effects({ stream: portalStream, states: ['deferred', 'parked'] })) {
      const at = (await store.readAt(call.position))?.at
      const isLate = at !== undefined && now - fromInstant(at) > readingAgeMaxMs
      if (isLate && isEffect(call, 'portal.listFailures') && call.data.day) days.push(call.data.day)
    }
    return days
  }

  /** Reads the first request and the newest readings of failures, once for as long as the portal's stream stays. */
  async function readPortal(): Promise<PortalReadings> {
    const version = await store.lastVersion(portalStream)
    if (lastRead.version === version) return lastRead
    const [first] = await store.read({ stream: portalStream, limit: 1 })
    const types = ['portal.failuresListed', 'portal.readDeclined'] as const
    const answers = await store.read({ stream: portalStream, types, backward: true, limit: answersMax })
    lastRead = { version, first, answers }
    return lastRead
  }

  return { check, logNew }
}

interface PortalReadings {
  /** The last version of the stream when it was read. */
  readonly version: number
  readonly first: Recorded | undefined
  readonly answers: readonly Recorded<'portal.failuresListed' | 'portal.readDeclined'>[]
}

/** The days that were over for two days and are not read: once the portal forgets them, they are lost. */
function unreadDayAlerts(days: readonly string[], now: number): SubscriptionAlert[] {
  const [first, last] = [brasiliaDay(now - keptDays * dayMs), brasiliaDay(now - readingAgeMaxMs - dayMs)]
  return [...new Set(days)]
    .filter(day => first <= day && day < last)
    .map(day => {
      const message = 'the failure records of a day cannot be read: what failed then is not recovered'
      const detail = `the failure records of ${day} cannot be read, and the portal keeps them for thirty days: look at them there, and see effects.list() for why`
      return { key: `unread ${day}`, line: { level: 'error', message, detail: day }, detail }
    })
}

function isAtPortal(row: SubscriptionRow): boolean {
  return row.remote_id !== null
}

function deletionAlerts({ evento, failing_since: failingSince }: SubscriptionRow, now: number): SubscriptionAlert[] {
  const found = findThreat({ failingSince, announced: 0 }, toInstant(now))
  if (!found) return []
  const { percent, daysLeft } = found
  const message = 'the portal will soon delete a subscription, since no delivery succeeds'
  const detail = `${evento}: the portal deletes it in ${daysLeft} days unless a delivery succeeds: fix the receiver`
  return [{ key: `threat ${evento} ${percent}`, line: { level: 'error', message, evento, daysLeft }, detail }]
}

function absenceAlerts(evento: string, row: SubscriptionRow | undefined): SubscriptionAlert[] {
  if (row?.state === 'deleted' && row.deleted_by === 'portal') {
    const message = 'the portal has deleted a declared subscription'
    const detail = `${evento}: the portal has deleted it: fix the cause, then plan and apply, or stop declaring it`
    return [{ key: `deleted ${evento}`, line: { level: 'error', message, evento }, detail }]
  }
  const message = 'a declared subscription is not at the portal'
  const detail = `${evento}: it is declared but not at the portal as ours: plan and apply`
  return [{ key: `absent ${evento}`, line: { level: 'warn', message, evento }, detail }]
}

/** Where the portal differs from the declaration. Secrets that changed at their source are reported separately. */
function differences(row: SubscriptionRow, endpoint: string, areSecretsReported: boolean): string[] {
  return [
    ...(row.evento_at_portal === row.evento ? [] : ['event']),
    ...(row.endpoint === endpoint ? [] : ['endpoint']),
    ...(row.secrets_are_ours === 1 || areSecretsReported ? [] : ['secrets']),
  ]
}

function driftAlerts(evento: string, what: string): SubscriptionAlert[] {
  const message = 'a subscription at the portal differs from its declaration'
  const detail = `${evento}: the portal has another ${what} than declared: plan and apply`
  return [
    { key: `drift ${evento} ${what}`, line: { level: 'warn', message, evento, detail: `another ${what}` }, detail },
  ]
}

function stalenessAlerts(what: 'subscriptions' | 'failure records', last: Recorded, now: number): SubscriptionAlert[] {
  const ageMs = now - fromInstant(last.at)
  if (ageMs <= readingAgeMaxMs) return []
  const message = 'the portal was not read for over two days: the state of the subscriptions is unknown'
  const days = Math.floor(ageMs / dayMs)
  const detail = `the portal's ${what} were not read for ${days} days: see effects.list() for why`
  return [{ key: `unread ${what}`, line: { level: 'error', message, detail: what }, detail }]
}

/** The events with unreadable records, by the newest reading of each day: a later reading may be complete. */
function unreadableRecordAlerts(readings: readonly Recorded<'portal.failuresListed'>[]): SubscriptionAlert[] {
  const days = new Set<string | null>()
  const unread = readings.flatMap(({ data: reading }) => {
    if (days.has(reading.day)) return []
    days.add(reading.day)
    return reading.unread ?? []
  })
  const message = 'failure records cannot be read or have no content: their notifications are not recovered'
  const todo = 'their notifications are not recovered: look at them in the portal'
  return [...new Set(unread)].map(evento => {
    const detail = `${evento ?? 'an unknown event'}: failure records cannot be read or have no content: ${todo}`
    return {
      key: `unreadable ${evento}`,
      line: { level: 'error', message, ...(evento !== null && { evento }) },
      detail,
    }
  })
}
