import type { Falha } from '../../../adapters/portal/wire.ts'
import type { AddressedMessage } from '../../../engine/recording/decisions.ts'
import { keptDays, type RecoveryReason, recoveryDueAt } from '../../../machines/portal.ts'
import { randomUpTo } from '../../../runtime/entropy.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import { type AsyncList, lazyList, readPages } from '../../../runtime/lazy-list.ts'
import type { FailureRow } from '../../../views/failures.ts'
import { addDays, brasiliaDay, parseIso } from '../../../vocabulary/brasilia.ts'
import { AverbaError } from '../../../vocabulary/errors.ts'
import { dayMs, fromInstant, toInstant } from '../../../vocabulary/instant.ts'
import type { Instant } from '../../../vocabulary/message.ts'
import { checkKnownNames, portalStream, streamOf } from '../../../vocabulary/names.ts'
import { type Outcome, valueOf } from '../../../vocabulary/outcome.ts'
import type { ApiContext } from '../../api-context.ts'
import { isEffect } from '../../effect-types.ts'
import { type AnsweredFailure, type LogStore, ofType, openAs, type Recorded, requireAs } from '../../events.ts'
import type { Job } from '../../module.ts'
import { addressData } from '../portal-address.ts'
import { failureContent } from './recovery.ts'

/**
 * A failed delivery as the portal recorded it (document 3, section 2). Its content is that of its notification, if
 * there is one, and empty when it was destroyed.
 */
export interface Failure extends Pick<Falha, 'id' | 'descricao' | 'evento' | 'conteudo'> {
  /** When it failed; the start of the requested day when the record's time cannot be read. */
  readonly data: Instant | null
  /** The notification with its content, once it was recovered. */
  readonly notification: string | null
  /** `stored`: it was in the inbox, answered late or as a copy. `recovered`: it was added from this record. */
  readonly recovery: 'stored' | 'recovered' | null
}

/** The result of reading the failure records of a day. */
export interface RecoveryResult {
  readonly day: string
  readonly read: number
  /** Records that cannot be read or have no content; they are kept, sealed. */
  readonly unreadable: number
  readonly recovered: number
  readonly stored: number
}

/** The part of `subscriptions` about failed deliveries. */
export interface Failures {
  /**
   * Reads the failure records of a day in Brasilia (`yyyy-MM-dd`) and returns them. Without a day, the portal takes
   * today by its own clock. With `recover`, the content of each goes into the inbox unless it is there, at most once
   * and marked as recovered. The request is sent at once; the iteration holds one page of records in memory.
   *
   * @throws {AverbaError} `INVALID_INPUT` for a day not among the last thirty, `OUTCOME`, `VIEW_STOPPED`
   */
  failures(options?: { day?: string; recover?: boolean }): AsyncList<Failure>
  /**
   * Reads and recovers the failure records of a day in Brasilia, today by default, and of the day before. Then lists
   * the subscriptions, which updates their health. A request without an answer is deferred and repeated.
   */
  recover(day?: string): Promise<Outcome<RecoveryResult>[]>
  /**
   * Schedules a reading of failure records in some seconds, by any running process: after a 503 of ours, a late answer
   * or a downtime. Each day is read at most every ten minutes. Never throws: the daily recovery finds what it misses.
   */
  recoverSoon(reason: RecoveryReason, since?: Instant): Promise<void>
}

const failuresPerPage = 100

/** Creates the part of `subscriptions` about failed deliveries. */
export function createFailures(context: ApiContext, list: () => Promise<unknown>): Failures {
  const { commands, engine, store, views, clock } = context
  /** When each day is due to be read: most of many failures at once do not reach the store. */
  const dueByDay = new Map<string, Instant>()

  async function requestFailures<T>(
    day: string | null,
    recover: boolean,
    value: (listed: Recorded<'portal.failuresListed'>) => Promise<T>,
  ) {
    const data = { day, recover, ...addressData(context.options.portal) }
    const message = { type: 'portal.listFailures', data }
    return commands.send(
      { method: 'subscriptions.failures', day, recover },
      async () => ({ targets: [{ stream: portalStream, message }] }),
      {},
      ended => value(ofType(ended, 'portal.failuresListed')),
    )
  }

  async function toFailure(row: FailureRow): Promise<Failure> {
    const { id, descricao, evento } = await requireAs(store, 'failure', row.record)
    const conteudo = await openContent(row)
    const { failed_at: data, notification, recovery } = row
    return { id, data, descricao, evento, conteudo, notification, recovery }
  }

  async function openContent({ content, notification }: FailureRow): Promise<string> {
    const kept = content === null ? undefined : await store.open(content)
    if (kept !== undefined) return failureContent({ record: { conteudo: kept } }) ?? ''
    if (notification === null) return ''
    const body = await openAs(store, 'body', `${streamOf('notification', notification)}/1/body`)
    return Buffer.from(body?.bytes ?? '', 'base64').toString()
  }

  async function read(filter: { day?: string; recover?: boolean }): Promise<readonly AnsweredFailure[]> {
    checkKnownNames(filter, ['day', 'recover'], { noun: 'member', of: 'the filter' })
    const { day, recover = false } = filter
    context.require('portal')
    if (day !== undefined) checkDay(day, clock.now())
    const outcome = await requestFailures(day ?? null, recover, ({ id }) =>
      requireAs(store, 'answered', `${id}/answered`),
    )
    return valueOf(outcome)
  }

  /** The failures of an answer, by id: only the portal knows which day it meant. */
  async function* pagesOfAnswer(answered: readonly AnsweredFailure[]) {
    const ids = [...new Set(answered.map(each => String(each.remoteId)))]
    for (let from = 0; from < ids.length; from += failuresPerPage) {
      const known = await store.lookUpAll('failure', ids.slice(from, from + failuresPerPage))
      const ours = [...known.values()]
      if (ours.length === 0) continue
      const rows = await views.selectFrom('failures').selectAll().where('failure', 'in', ours).execute()
      const inOrder = ours.flatMap(id => rows.find(row => row.failure === id) ?? [])
      yield await Promise.all(inOrder.map(toFailure))
      await yieldToEventLoop()
    }
  }

  async function* pagesOfDay(day: string) {
    const midnight = fromInstant(`${day}T00:00:00.000Z`)
    // A day in Brasilia starts and ends some hours after the day in UTC.
    const [from, until] = [toInstant(midnight), toInstant(midnight + 2 * dayMs)]
    const read = (last?: FailureRow) => {
      const at = last?.failed_at ?? from
      return views
        .selectFrom('failures')
        .selectAll()
        .where('failed_at', '>=', at)
        .where('failed_at', '<', until)
        .where(eb => eb.or([eb('failed_at', '>', at), eb('failure', '>', last?.failure ?? '')]))
        .orderBy('failed_at')
        .orderBy('failure')
        .limit(failuresPerPage)
        .execute()
    }
    for await (const rows of readPages(failuresPerPage, read)) {
      const ofDay = rows.filter(row => brasiliaDay(fromInstant(row.failed_at ?? from)) === day)
      yield await Promise.all(ofDay.map(toFailure))
    }
  }

  return {
    failures(filter = {}) {
      const { day } = filter
      const reading = read(filter)
      // The iteration throws it, however late it begins.
      reading.catch(() => undefined)
      return lazyList(async function* () {
        const answered = await reading
        yield* day === undefined ? pagesOfAnswer(answered) : pagesOfDay(day)
      })
    },
    async recover(day = brasiliaDay(clock.now())) {
      context.require('portal')
      checkDay(day, clock.now())
      const outcomes: Outcome<RecoveryResult>[] = []
      for (const each of [addDays(day, -1), day])
        outcomes.push(
          await requestFailures(each, true, async ({ data: { read, unreadable, recovered, stored } }) => {
            return { day: each, read, unreadable, recovered, stored }
          }),
        )
      await list()
      return outcomes
    },
    async recoverSoon(reason, since) {
      if (!context.options.portal) return
      const now = toInstant(clock.now())
      const days = daysBetween(since ?? now, now)
      const due = days.filter(day => recoveryDueAt(dueByDay.get(day), now) !== undefined)
      if (due.length === 0) return
      // Set before the first await: of a thousand failures at once only one gets this far.
      for (const day of due) dueByDay.set(day, recoveryDueAt(dueByDay.get(day), now) ?? now)
      for (const day of [...dueByDay.keys()].sort().slice(0, -keptDays)) dueByDay.delete(day)
      const input = { method: 'subscriptions.recoverSoon', reason, days: due, now }
      const hasten = async () => ({ targets: [await hastenRecovery(store, { reason, days: due, now })] })
      // Often the store has just failed, and no notification may come after it.
      await engine
        .whenWritable(() => commands.record(input, hasten), 'the next reading of failure records')
        .catch(() => {
          for (const day of due) dueByDay.delete(day)
        })
    },
  }
}

/** Requests the failure records from before a subscription became ours. It requests nothing if it was ours already. */
export async function requestPastFailures({
  store,
  clock,
}: Pick<ApiContext, 'store' | 'clock'>): Promise<AddressedMessage> {
  const at = clock.now()
  const [now, days] = [toInstant(at), daysBetween(toInstant(at - keptDays * dayMs), toInstant(at))]
  const { stream, message } = await hastenRecovery(store, { reason: 'adopted', days, now })
  return { stream, message: made => (made > 0 ? message : { ...message, data: { ...message.data, days: [] } }) }
}

/** Requests the failure records of some days soon. `waiting` are the days that were requested and are not read yet. */
async function hastenRecovery(
  store: LogStore,
  asked: { readonly reason: RecoveryReason; readonly days: readonly string[]; readonly now: Instant },
) {
  const pending = await store.effects({ stream: portalStream, states: ['pending', 'started', 'deferred'] })
  const readings = pending.filter(each => isEffect(each, 'portal.listFailures'))
  const data = { ...asked, waiting: readings.flatMap(({ data }) => data.day ?? []) }
  return { stream: portalStream, message: { type: 'portal.recoverSoon', data } }
}

/** The days in Brasilia from one instant to another, the newest thirty at most. */
function daysBetween(from: Instant, until: Instant): string[] {
  const end = fromInstant(until)
  const start = Math.max(Math.min(fromInstant(from), end), end - keptDays * dayMs)
  const days = new Set<string>()
  for (let at = start; at < end; at += dayMs) days.add(brasiliaDay(at))
  return [...days.add(brasiliaDay(end))]
}

/** Refuses days outside the portal's thirty: its empty answer would look like a day without failures. */
function checkDay(day: string, now: number): void {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day) || parseIso(`${day}T00:00:00Z`) === null)
    throw new AverbaError('INVALID_INPUT', 'Cannot read failures: the day is not a date', { hint: 'Use yyyy-MM-dd' })
  const [first, last] = [brasiliaDay(now - keptDays * dayMs), brasiliaDay(now)]
  // The portal's clock may be ahead of ours, or behind it.
  if (addDays(first, -1) <= day && addDays(day, -1) <= last) return
  throw new AverbaError('INVALID_INPUT', 'Cannot read failures: the portal does not have this day', {
    hint: `Give a day from ${first} to ${last} in Brasilia: the portal keeps thirty. The view \`failures\` has earlier readings`,
  })
}

/** After the portal's nightly stop; spread, so that processes do not start in the same minute. */
const recoveryAt = '03:30:00'
const spreadMs = 3_600_000

/** Creates the job that requests the portal's failure records and its list once a day, in one of several processes. */
export function createRecoveryJob({ options, store, clock, engine, entropy }: ApiContext): Required<Job> {
  const ownSpreadMs = randomUpTo(entropy, spreadMs)
  let recoveredDay = ''
  const recoveryOf = (day: string) => fromInstant(parseIso(`${day}T${recoveryAt}`) ?? '') + ownSpreadMs
  return {
    name: 'recovery',
    /** Requests the failures of every day since the last event, if nobody received then: the first process does. */
    async begin() {
      const last = await store.readLast()
      // A new log has missed nothing.
      if (!options.receiver || !last || last.position === 1) return
      const now = toInstant(clock.now())
      const asked = { reason: 'downtime', days: daysBetween(last.at, now), now } as const
      await engine.record(async () => ({ targets: [await hastenRecovery(store, asked)] }))
    },
    /** Requests the failures of every day not requested since it ended, and the list with the last successes. */
    async runDue() {
      const now = clock.now()
      const today = brasiliaDay(now)
      const day = recoveryOf(today) <= now ? today : brasiliaDay(now - dayMs)
      if (day === recoveredDay) return
      const began = await store.readAt(1)
      const since = brasiliaDay(began ? fromInstant(began.at) : now)
      const message = { type: 'portal.recover', data: { day, today, since, ...addressData(options.portal) } }
      await engine.record(async () => ({ targets: [{ stream: portalStream, message }] }))
      recoveredDay = day
    },
    async nextAt() {
      const now = clock.now()
      const today = recoveryOf(brasiliaDay(now))
      return today > now ? today : recoveryOf(brasiliaDay(now + dayMs))
    },
  }
}
