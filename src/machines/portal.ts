import { addDays } from '../vocabulary/brasilia.ts'
import { clocksDifferMaxMs, fromInstant, toInstant } from '../vocabulary/instant.ts'
import type { Effect, Event, Instant, Message } from '../vocabulary/message.ts'
import { defineDecider, record, refuse } from './definition/define-machine.ts'
import type { Decision } from './definition/machine.ts'

export type PortalEvent =
  | Event<'portal.listRequested', PortalAddress>
  /** Its part `list` holds the listed subscriptions without secrets. */
  | Event<'portal.listed', ListingCounts>
  /** The daily reading of the list and of the failures from `from` to `day`, days in Brasilia. */
  | Event<'portal.recoveryRequested', { from: string; day: string } & PortalAddress>
  /** `day` is a day in Brasilia, `yyyy-MM-dd`; null means the portal's today. */
  | Event<'portal.failuresRequested', AskedFailures & PortalAddress>
  /** These days' failure records are read soon. A day in `again` is being read, and is read once more after that. */
  | Event<'portal.recoveryHastened', { reason: RecoveryReason } & HastenedDays>
  /** Its part `answered` lists the records in the portal's answer. */
  | Event<'portal.failuresListed', ListedFailures>
  /** A failed delivery of an event without a subscription of ours; its part `failure` holds the record. */
  | Event<'portal.foreignFailure', ForeignFailure>
  /** `day`: the failures of this day were to be recovered, and are requested again. */
  | Event<'portal.readDeclined', { operation: string; httpStatus: number; day?: string }>

/** The portal's address, recorded with the first request. A log belongs to one portal. */
interface PortalAddress {
  readonly address?: string
}

interface ListingCounts {
  readonly active: number
  readonly deleted: number
  readonly unreadable: number
}

interface ForeignFailure {
  readonly failure: string
  readonly remoteId: number
  readonly evento: string
  readonly failedAt: Instant | null
}

/**
 * Why deliveries may have failed: we could not store them and answered 503, we answered late, no receiver was running,
 * or we adopted an existing subscription or replaced a deleted one.
 */
export type RecoveryReason = 'unstored' | 'late' | 'downtime' | 'adopted'

interface RecoverSoon {
  readonly reason: RecoveryReason
  readonly days: readonly string[]
  readonly now: Instant
  /** The days with a pending reading in the ledger, except parked ones. */
  readonly waiting: readonly string[]
}

interface AskedFailures {
  readonly day: string | null
  /** Whether missing content is recovered into the inbox. */
  readonly recover: boolean
}

interface DueDay {
  readonly day: string
  readonly dueAt: Instant
}

interface HastenedDays {
  readonly days: readonly DueDay[]
  readonly again?: readonly DueDay[]
}

/** A day whose failures were requested out of schedule. */
interface SoonDay extends DueDay {
  readonly isOpen?: true
  /** When it is read once more afterwards, because something failed since the request. */
  readonly againAt?: Instant
}

/** The result of one reading of failure records. */
export interface ListedFailures {
  /** The requested day; null means the portal's today. */
  readonly day: string | null
  /** Our events with unreadable or empty records: their notifications are lost. Null: the event is unreadable too. */
  readonly unread?: readonly (string | null)[]
  readonly read: number
  readonly unreadable: number
  /** How many were recovered into the inbox, and how many had been stored before: answered late, or copies. */
  readonly recovered: number
  readonly stored: number
}

type PortalMessage =
  | Message<'portal.list', PortalAddress>
  | Message<'portal.listFailures', AskedFailures & PortalAddress>
  /** The daily reading of failures up to `day` is due; `since` is the day on which the log began. */
  | Message<'portal.recover', { day: string; today: string; since: string } & PortalAddress>
  | Message<'portal.recoverSoon', RecoverSoon>
  | Message<'portal.observeForeignFailure', ForeignFailure>
  | Message<'portal.subscriptionsListed', ListingCounts>
  | Message<'portal.failuresListed', ListedFailures>
  | Message<'portal.declined', { operation: string; httpStatus: number; day?: string }>

interface PortalContext {
  /** The address of this log's portal; empty before the first request. */
  readonly address: string
  /** The last day whose failures were requested by the schedule; empty before the first. */
  readonly recoveredUpTo: string
  /** The latest days whose failures were requested out of schedule. */
  readonly soon: readonly SoonDay[]
  /** The days whose failures the portal declined to show: the schedule requests them again. */
  readonly refused: readonly string[]
}

/** The days for which the portal keeps failures (document 3, section 4). */
export const keptDays = 30
const soonDaysMax = keptDays + 1 // With today.

const initial: PortalContext = { address: '', recoveredUpTo: '', soon: [], refused: [] }

function evolve(context: PortalContext, event: PortalEvent): PortalContext {
  switch (event.type) {
    case 'portal.listRequested':
    case 'portal.failuresRequested':
      return withAddress(context, event.data)
    case 'portal.recoveryRequested':
      return { ...withAddress(context, event.data), recoveredUpTo: event.data.day, refused: [] }
    case 'portal.recoveryHastened':
      return { ...context, soon: withDays(context.soon, event.data) }
    case 'portal.failuresListed':
      return { ...context, soon: afterReading(context.soon, event) }
    case 'portal.readDeclined': {
      const { day } = event.data
      const refused = day === undefined ? context.refused : [...new Set([...context.refused, day])].slice(-soonDaysMax)
      return { ...context, refused, soon: afterReading(context.soon, event) }
    }
    default:
      return context
  }
}

function withAddress(context: PortalContext, { address = '' }: PortalAddress): PortalContext {
  return context.address === '' ? { ...context, address } : context
}

function withDays(soon: readonly SoonDay[], { days, again = [] }: HastenedDays): readonly SoonDay[] {
  const others = soon
    .filter(each => !days.some(({ day }) => day === each.day))
    .map(each => {
      const asked = again.find(({ day }) => day === each.day)
      return asked ? { ...each, againAt: asked.dueAt } : each
    })
  return [...others, ...days.map(each => ({ ...each, isOpen: true as const }))].slice(-soonDaysMax)
}

/** After its reading, a day is read once more if something failed meanwhile, unless the portal declined the reading. */
function afterReading(
  soon: readonly SoonDay[],
  { type, data }: Extract<PortalEvent, { type: 'portal.failuresListed' | 'portal.readDeclined' }>,
): readonly SoonDay[] {
  return soon.map(each => {
    const { day, dueAt, againAt } = each
    if (day !== data.day) return each
    if (againAt === undefined || type === 'portal.readDeclined') return { day, dueAt }
    return { day, dueAt: againAt, isOpen: true }
  })
}

/** How long the portal may take to write a failure record. */
const recordDelayMs = 10_000
/** The shortest interval between readings of one day, so that many failures cause one reading. */
const readingIntervalMs = 10 * 60_000

/** When to read a day's failures after one; `undefined` when a later reading is due by a time that can be right. */
export function recoveryDueAt(lastDueAt: Instant | undefined, now: Instant): Instant | undefined {
  const soon = fromInstant(now) + recordDelayMs
  const last = lastDueAt === undefined ? Number.NEGATIVE_INFINITY : fromInstant(lastDueAt)
  if (last > soon + readingIntervalMs + clocksDifferMaxMs) return toInstant(soon)
  return last >= soon ? undefined : toInstant(Math.max(soon, last + readingIntervalMs))
}

function decideRecoverSoon(
  { soon }: PortalContext,
  { reason, days, now, waiting }: RecoverSoon,
): Decision<PortalEvent> {
  const [due, again]: [DueDay[], DueDay[]] = [[], []]
  for (const day of days.slice(-soonDaysMax)) {
    const known = soon.find(each => each.day === day)
    const isOpen = known?.isOpen === true && waiting.includes(day)
    const last = isOpen ? (known?.againAt ?? known?.dueAt) : known?.dueAt
    const dueAt = recoveryDueAt(last, now)
    // A pending reading may miss this failure, so the day is read again after it, not beside it.
    if (dueAt !== undefined) (isOpen ? again : due).push({ day, dueAt })
  }
  if (due.length + again.length === 0) return record()
  const data = { reason, days: due, ...(again.length > 0 && { again }) }
  return record({ type: 'portal.recoveryHastened', data, effects: due.map(failuresReading) })
}

function failuresReading({ day, dueAt }: DueDay): Effect {
  return { type: 'portal.listFailures', data: { day, recover: true }, dueAt }
}

/** A reading ended. If something failed since its request, the day is read once more. */
function endReading({ soon }: PortalContext, data: ListedFailures): PortalEvent {
  const again = soon.flatMap(({ day, againAt }) =>
    day === data.day && againAt !== undefined ? failuresReading({ day, dueAt: againAt }) : [],
  )
  return { type: 'portal.failuresListed', data, ...(again.length > 0 && { effects: again }) }
}

const listSubscriptions = { type: 'portal.listSubscriptions', data: {} }

function decide(context: PortalContext, message: PortalMessage): Decision<PortalEvent> {
  switch (message.type) {
    case 'portal.list':
      if (isElsewhere(context, message.data)) return refuse(belongsElsewhere, 'MISCONFIGURED')
      return record({
        type: 'portal.listRequested',
        data: firstAddress(context, message.data),
        effects: [listSubscriptions],
      })
    case 'portal.listFailures': {
      if (isElsewhere(context, message.data)) return refuse(belongsElsewhere, 'MISCONFIGURED')
      const { day, recover } = message.data
      return record({
        type: 'portal.failuresRequested',
        data: { day, recover, ...firstAddress(context, message.data) },
        effects: [{ type: 'portal.listFailures', data: { day, recover } }],
      })
    }
    case 'portal.recover': {
      const { day, today, since } = message.data
      if (isElsewhere(context, message.data)) return record()
      // Another process may come with the day before. A recorded day after today came from a wrong clock.
      if (day <= context.recoveredUpTo && context.recoveredUpTo <= today) return record()
      // After a wrong clock, it is unknown which days were complete when they were read.
      const last = context.recoveredUpTo < day ? context.recoveredUpTo : ''
      const regular = keptDaysFrom(day, last || firstDayToRead(day, since))
      const again = context.refused.filter(each => each >= addDays(day, -keptDays) && !regular.includes(each))
      const days = [...again, ...regular]
      const readings = days.map(each => ({ type: 'portal.listFailures', data: { day: each, recover: true } }))
      return record({
        type: 'portal.recoveryRequested',
        data: { from: regular[0] ?? day, day, ...firstAddress(context, message.data) },
        effects: [...readings, listSubscriptions],
      })
    }
    case 'portal.recoverSoon':
      return decideRecoverSoon(context, message.data)
    case 'portal.observeForeignFailure':
      return record({ type: 'portal.foreignFailure', data: message.data })
    case 'portal.subscriptionsListed':
      return record({ type: 'portal.listed', data: message.data })
    case 'portal.failuresListed':
      return record(endReading(context, message.data))
    case 'portal.declined': {
      const { operation, httpStatus, day } = message.data
      const data = { operation, httpStatus, ...(day !== undefined && { day }) }
      return record({ type: 'portal.readDeclined', data })
    }
  }
}

const belongsElsewhere = 'this log belongs to the portal at another address: see portal.knownAs'

function isElsewhere(context: PortalContext, { address = '' }: PortalAddress): boolean {
  return address !== '' && context.address !== '' && address !== context.address
}

/** Returns the address if no event has recorded it yet. */
function firstAddress({ address: known }: PortalContext, { address = '' }: PortalAddress): PortalAddress {
  return known === '' && address !== '' ? { address } : {}
}

/** Returns the first day to read: the day before, or the day on which the log began if that is earlier. */
function firstDayToRead(day: string, since: string): string {
  const before = addDays(day, -1)
  return since < before ? since : before
}

/** Returns the kept days from `from` to `day`, both included: the first was read before it was over. */
function keptDaysFrom(day: string, from: string): string[] {
  const kept = Array.from({ length: keptDays + 1 }, (_, i) => addDays(day, i - keptDays))
  return kept.filter(each => each >= from)
}

/** Our account at the portal: readings of the list and of failures, which concern all subscriptions. */
export const portalMachine = defineDecider({
  name: 'portal',
  description: 'Our account at the portal: readings of its lists of subscriptions and failures.',
  version: 1,
  initial,
  evolve,
  decide,
  commands: {
    'portal.list': ['portal.listRequested'],
    'portal.listFailures': ['portal.failuresRequested'],
    'portal.recover': ['portal.recoveryRequested'],
    'portal.recoverSoon': ['portal.recoveryHastened'],
  },
  facts: {
    'portal.observeForeignFailure': ['portal.foreignFailure'],
    'portal.subscriptionsListed': ['portal.listed'],
    'portal.failuresListed': ['portal.failuresListed'],
    'portal.declined': ['portal.readDeclined'],
  },
  effects: {
    'portal.listRequested': ['portal.listSubscriptions'],
    'portal.failuresRequested': ['portal.listFailures'],
    'portal.recoveryRequested': ['portal.listFailures', 'portal.listSubscriptions'],
    'portal.recoveryHastened': ['portal.listFailures'],
    'portal.failuresListed': ['portal.listFailures'],
  },
})
