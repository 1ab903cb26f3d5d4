import { assign, type SnapshotFrom, setup } from 'xstate'
import { clocksDifferMaxMs, dayMs, fromInstant, toInstant } from '../vocabulary/instant.ts'
import type { Effect, Event, Instant, Message } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Decision, type Machine, record, refuse } from './definition/machine.ts'

// Events

/** What is recorded of our account at the portal. */
export type PortalEvent =
  | Event<'portal.listRequested', PortalAddress>
  /** Its part `list` holds the subscriptions as listed, secrets taken out. */
  | Event<'portal.listed', ListingCounts>
  /** The daily reading of the failures of `from` to `day`, days in Brasilia, and of the list. */
  | Event<'portal.recoveryRequested', { from: string; day: string } & PortalAddress>
  /** `day` is a day in Brasilia, `yyyy-MM-dd`; null asks for the portal's today. */
  | Event<'portal.failuresRequested', AskedFailures & PortalAddress>
  /**
   * Failure records are read soon, a day at a time, and what is lost is recovered from them. A day in `again` is being
   * read, and is read once more after that.
   */
  | Event<
      'portal.recoveryHastened',
      { reason: RecoveryReason; days: readonly DueDay[]; again?: readonly DueDay[] }
    >
  /** Its part `answered` says which records the portal's answer had. */
  | Event<'portal.failuresListed', ListedFailures>
  /** A failed delivery of an event that none of our subscriptions names; its part `failure` holds it. */
  | Event<'portal.foreignFailure', ForeignFailure>
  /** `day` is the day of failures that were to be recovered: it is asked for again. */
  | Event<'portal.readDeclined', { operation: string; httpStatus: number; day?: string }>

/** Where the portal is that is asked: told by the first event that asks it. A log belongs to one portal. */
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
  /** The portal's id of the record. */
  readonly remoteId: number
  readonly evento: string
  readonly failedAt: Instant | null
}

/**
 * Why deliveries may have failed: we could not store them and answered 503, we answered late, no receiver was running,
 * or a subscription became ours that existed before, or that follows one that is deleted.
 */
export type RecoveryReason = 'unstored' | 'late' | 'downtime' | 'adopted'

interface RecoverSoon {
  readonly reason: RecoveryReason
  readonly days: readonly string[]
  readonly now: Instant
  /** The days of which a reading is owed that goes by itself, by the ledger: a parked one is none. */
  readonly waiting: readonly string[]
}

interface AskedFailures {
  readonly day: string | null
  /** Whether content that is in no inbox yet goes into it. */
  readonly recover: boolean
}

interface DueDay {
  readonly day: string
  readonly dueAt: Instant
}

/** A day that was asked for soon. */
interface SoonDay extends DueDay {
  /** Its reading has not ended. */
  readonly isOpen?: true
  /** When it is read once more after that: something failed since it was asked for. */
  readonly againAt?: Instant
}

/** What one reading of failure records came to. */
export interface ListedFailures {
  /** The day that was asked for; null is the portal's today. */
  readonly day: string | null
  /**
   * Our events with records that cannot be read, or hold no content: what was lost does not come back. Null stands for
   * records that do not even say their event.
   */
  readonly unread?: readonly (string | null)[]
  readonly read: number
  readonly unreadable: number
  /** How many went into the inbox now, and how many had been stored before: answered late, or copies. */
  readonly recovered: number
  readonly stored: number
}

// Commands, and facts from outside

type PortalMessage =
  | Message<'portal.list', PortalAddress>
  | Message<'portal.listFailures', AskedFailures & PortalAddress>
  /** The time for the failures up to a day has come; `since` is the day on which the log began. */
  | Message<'portal.recover', { day: string; today: string; since: string } & PortalAddress>
  | Message<'portal.recoverSoon', RecoverSoon>
  | Message<'portal.observeForeignFailure', ForeignFailure>
  | Message<'portal.subscriptionsListed', ListingCounts>
  | Message<'portal.failuresListed', ListedFailures>
  | Message<'portal.declined', { operation: string; httpStatus: number; day?: string }>

// Chart

interface PortalContext {
  /** The address of the portal that this log belongs to; empty until one is asked. */
  readonly address: string
  /** The last day whose failures were asked for by the schedule; empty before. */
  readonly recoveredUpTo: string
  /** The last days whose failure records were asked for soon, and when that is due. */
  readonly soon: readonly SoonDay[]
  /** The days whose failures the portal declined to show: the schedule asks again. */
  readonly refused: readonly string[]
}

/** Days that the portal keeps failures of (document 3, section 4), and today. */
const soonDaysMax = 31

const chart = setup({
  types: { context: {} as PortalContext, events: {} as PortalEvent },
  actions: {
    keepAddress: assign({
      address: ({ context, event }) =>
        context.address === '' && 'address' in event.data ? (event.data.address ?? '') : context.address,
    }),
    keepDay: assign({
      recoveredUpTo: ({ context, event }) =>
        event.type === 'portal.recoveryRequested' ? event.data.day : context.recoveredUpTo,
      refused: [],
    }),
    keepRefused: assign({
      refused: ({ context, event }) => {
        if (event.type !== 'portal.readDeclined' || event.data.day === undefined) return context.refused
        return [...new Set([...context.refused, event.data.day])].slice(-soonDaysMax)
      },
    }),
    keepSoon: assign({
      soon: ({ context, event }) => {
        if (event.type !== 'portal.recoveryHastened') return context.soon
        const { days, again = [] } = event.data
        const others = context.soon
          .filter(each => !days.some(({ day }) => day === each.day))
          .map(each => withAgain(each, again))
        return [...others, ...days.map(each => ({ ...each, isOpen: true as const }))].slice(-soonDaysMax)
      },
    }),
    endSoon: assign({
      soon: ({ context, event }) => {
        if (event.type !== 'portal.failuresListed' && event.type !== 'portal.readDeclined')
          return context.soon
        const { day } = event.data
        return context.soon.map(each => (each.day === day ? afterReading(each, event.type) : each))
      },
    }),
  },
}).createMachine({
  id: 'portal',
  context: { address: '', recoveredUpTo: '', soon: [], refused: [] },
  on: {
    'portal.listRequested': { actions: 'keepAddress' },
    'portal.failuresRequested': { actions: 'keepAddress' },
    'portal.recoveryRequested': { actions: ['keepAddress', 'keepDay'] },
    'portal.recoveryHastened': { actions: 'keepSoon' },
    'portal.failuresListed': { actions: 'endSoon' },
    'portal.readDeclined': { actions: ['keepRefused', 'endSoon'] },
  },
  initial: 'unread',
  states: {
    unread: {
      on: { 'portal.listed': 'read', 'portal.failuresListed': { target: 'read', actions: 'endSoon' } },
    },
    read: {},
  },
})

function withAgain(known: SoonDay, again: readonly DueDay[]): SoonDay {
  const asked = again.find(({ day }) => day === known.day)
  return asked ? { ...known, againAt: asked.dueAt } : known
}

/** A day after its reading: what failed meanwhile is read once more, unless the portal declines to show it. */
function afterReading({ day, dueAt, againAt }: SoonDay, how: PortalEvent['type']): SoonDay {
  if (againAt === undefined || how === 'portal.readDeclined') return { day, dueAt }
  return { day, dueAt: againAt, isOpen: true }
}

// Decide

/** How long until the portal has written a failure record. */
const recordDelayMs = 10_000
/** How often at most a day is asked for: a storm of failures causes one reading. */
const readingIntervalMs = 10 * 60_000

/**
 * When a day is asked for after something failed now; `undefined` when that is coming already. A time further ahead was
 * given by a clock that has been put right since.
 */
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
    // One that is under way may have been answered before this failed: a second one beside it would be one too many.
    if (dueAt !== undefined) (isOpen ? again : due).push({ day, dueAt })
  }
  if (due.length + again.length === 0) return record()
  const data = { reason, days: due, ...(again.length > 0 && { again }) }
  return record({ type: 'portal.recoveryHastened', data, effects: due.map(failuresReading) })
}

function failuresReading({ day, dueAt }: DueDay): Effect {
  return { type: 'portal.listFailures', data: { day, recover: true }, dueAt }
}

/** A reading has ended: what failed since it was asked for is read once more. */
function endReading({ soon }: PortalContext, data: ListedFailures): PortalEvent {
  const again = soon.flatMap(({ day, againAt }) =>
    day === data.day && againAt !== undefined ? failuresReading({ day, dueAt: againAt }) : [],
  )
  return { type: 'portal.failuresListed', data, ...(again.length > 0 && { effects: again }) }
}

function decide({ context }: SnapshotFrom<typeof chart>, message: PortalMessage): Decision<PortalEvent> {
  switch (message.type) {
    case 'portal.list':
      if (isElsewhere(context, message.data)) return refuse(belongsElsewhere, 'MISCONFIGURED')
      return record({
        type: 'portal.listRequested',
        data: firstAddress(context, message.data),
        effects: [{ type: 'portal.listSubscriptions', data: {} }],
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
      // A process in another time of the day than the last one comes with the day before; a later day was not over yet.
      if (day <= context.recoveredUpTo && context.recoveredUpTo <= today) return record()
      // If a clock was ahead, nobody knows which days were asked for when they were over.
      const last = context.recoveredUpTo < day ? context.recoveredUpTo : ''
      const regular = daysBetween(day, last || firstDayToRead(day, since))
      const again = context.refused.filter(each => each >= oldestKeptDay(day) && !regular.includes(each))
      const days = [...again, ...regular]
      const readings = days.map(each => ({ type: 'portal.listFailures', data: { day: each, recover: true } }))
      return record({
        type: 'portal.recoveryRequested',
        data: { from: regular[0] ?? day, day, ...firstAddress(context, message.data) },
        effects: [...readings, { type: 'portal.listSubscriptions', data: {} }],
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

/** The address, where no event has told it yet. */
function firstAddress({ address: known }: PortalContext, { address = '' }: PortalAddress): PortalAddress {
  return known === '' && address !== '' ? { address } : {}
}

/** Days that the portal keeps failures of (document 3, section 4). */
const keptDays = 30

/** The first day that is asked for at all: the day before, or the day on which the log began if that is earlier. */
function firstDayToRead(day: string, since: string): string {
  return new Date(Math.min(Date.parse(day) - dayMs, Date.parse(since))).toISOString().slice(0, 10)
}

/** The first day that the portal still keeps failures of. */
function oldestKeptDay(day: string): string {
  return new Date(Date.parse(day) - keptDays * dayMs).toISOString().slice(0, 10)
}

/** The days from one to another, both included: the first was asked for before it was over. */
function daysBetween(day: string, from: string): string[] {
  const end = Date.parse(day)
  const first = Math.max(Date.parse(from), Date.parse(oldestKeptDay(day)))
  const count = Math.round((end - first) / dayMs) + 1
  return Array.from({ length: count }, (_, i) => new Date(first + i * dayMs).toISOString().slice(0, 10))
}

/** Our account at the portal: what was read of it as a whole, beside the single subscriptions. */
export const portalMachine: Machine = defineMachine({ name: 'portal', version: 1, chart, decide })
