import type { Instant } from '../../vocabulary/message.ts'
import type { ConsentEvent, ConsentReading, StatusMove } from './events.ts'
import { type History, isBeginning, passEntries } from './history.ts'
import type { ListedStatus } from './standing.ts'
import { type ConsentStatus, consentStatuses, isOpen, type RequestableStatus } from './status.ts'

/** What the machine of a consent holds. */
export interface ConsentContext extends History {
  readonly consent: string
  readonly subject: string
  readonly reading: ConsentReading
  /** What we asked the service for and have not heard of, or what its answer contradicts. */
  readonly asked: RequestableStatus | null
  /** When we asked for it. */
  readonly askedAt: Instant | null
  /** What a list shows in place of what we hold, until its history has been read. */
  readonly shown: ListedStatus | null
  /** When the request of that list left. */
  readonly shownAt: Instant | null
  /** Whether the reading that shows it crossed something newer. */
  readonly isConcurrentRead: boolean
  /** A reading in full is owed that may settle it. */
  readonly isReadingOwed: boolean
  /** The answer to what we asked for was lost. */
  readonly isLost: boolean
  /** When that was noticed, or when we asked for what the answer contradicts. */
  readonly lostAt: Instant | null
  /** All statuses that it has had since the last change was asked for, as far as we know. */
  readonly statusesSinceRequest: readonly ConsentStatus[]
  /** When the request left whose answer shows that it has ended, while nothing newer is known. */
  readonly endedAt: Instant | null
  /** The service's own time of the status that we hold, where its history told. */
  readonly since: Instant | null
  /** When the history was read, or a list owed another reading because of it. */
  readonly historyAskedAt: Instant | null
  /** How many readings in full in a row may have been older than what was known, up to `oldReadingsMax`. */
  readonly oldReadings: number
  /** Statuses recorded since then whose entries have not been read. */
  readonly untimed: readonly ConsentStatus[]
  /** The expiry that was recorded as passed. */
  readonly lapsed: Instant | null
  readonly isErased: boolean
}

/** After so many readings in a row that may be old, the next one waits. */
export const oldReadingsMax = 2

/** No doubt about a status. */
export const noDoubt = {
  asked: null,
  askedAt: null,
  shown: null,
  shownAt: null,
  isConcurrentRead: false,
  isReadingOwed: false,
  isLost: false,
  lostAt: null,
} as const

/** No reading in full. */
const unread = {
  history: [],
  historyStatus: null,
  historyAskedAt: null,
  oldReadings: 0,
  untimed: [],
} as const

/** What is held of a consent that nobody has seen. */
export const initialContext: ConsentContext = {
  consent: '',
  subject: '',
  reading: { status: 'PENDENTE', createdAt: null, expiresAt: null, controller: null },
  ...noDoubt,
  statusesSinceRequest: [],
  endedAt: null,
  since: null,
  ...unread,
  lapsed: null,
  isErased: false,
}

/** Reports whether an event owes a call. */
export function owes({ effects = [] }: ConsentEvent): boolean {
  return effects.length > 0
}

/** What an event changes of the status, and of what is known of it. */
export function readingAfter(context: ConsentContext, event: ConsentEvent): Partial<ConsentContext> {
  switch (event.type) {
    case 'consent.appeared': {
      const { consent, subject, askedAt, knowledge: _, ...reading } = event.data
      return {
        consent,
        subject,
        reading,
        statusesSinceRequest: sinceRequestWith(context, reading.status),
        endedAt: isOpen(reading.status) ? null : (askedAt ?? null),
        since: null,
        ...unread,
      }
    }
    case 'consent.amended':
      return { reading: event.data }
    case 'consent.vanished':
      return { endedAt: endShownAt(context) }
    case 'consent.approved':
    case 'consent.denied':
    case 'consent.revoked':
    case 'consent.expired':
    case 'consent.conflicted':
      return moved(context, event.data)
    default:
      return {}
  }
}

/** What a reading in full changes. A history that may be older does not take the place of the one that is known. */
export function historyAfter(
  context: ConsentContext,
  event: Extract<ConsentEvent, { type: 'consent.described' }>,
): Partial<ConsentContext> {
  const { history, status, askedAt = null, isOld } = event.data
  const isReadingOwed = owes(event)
  if (isOld) return { isReadingOwed, oldReadings: Math.min(context.oldReadings + 1, oldReadingsMax) }
  // One that leads to the status that is shown has an entry for all that will ever get one.
  const isBehind = history.at(-1)?.status !== status && isBeginning(context.history, history)
  const untimed = isBehind ? passEntries(history, context.history.length, context.untimed).missing : []
  const read = { history, historyStatus: status, historyAskedAt: askedAt, oldReadings: 0 }
  return { ...read, untimed, isReadingOwed }
}

function moved(
  context: ConsentContext,
  { status, since, askedAt, isChangePending }: StatusMove,
): Partial<ConsentContext> {
  const isUntimed = since === undefined && !isChangePending && status !== context.reading.status
  return {
    reading: { ...context.reading, status },
    // What was before our change tells nothing of it.
    statusesSinceRequest: isChangePending ? context.statusesSinceRequest : sinceRequestWith(context, status),
    endedAt: isOpen(status) ? null : (askedAt ?? null),
    since: since ?? null,
    // What is of an older copy has no entry after those known.
    untimed: isUntimed ? [...context.untimed, status] : context.untimed,
  }
}

/** When an end was asked for that is held, or that a list shows in place of what is held. */
export function endShownAt(context: ConsentContext): Instant | null {
  const { endedAt, shownAt } = context
  return endShown(context) === undefined ? endedAt : (shownAt ?? endedAt)
}

/** The end that a list shows in place of what is held. */
export function endShown({ shown }: ConsentContext): ConsentStatus | undefined {
  return shown === null || shown === 'unreadable' || isOpen(shown) ? undefined : shown
}

function sinceRequestWith(
  { statusesSinceRequest }: ConsentContext,
  status: ConsentStatus,
): readonly ConsentStatus[] {
  return consentStatuses.filter(each => each === status || statusesSinceRequest.includes(each))
}

/** What a list that shows something else changes. */
export function shownBy(
  context: ConsentContext,
  event: Extract<ConsentEvent, { type: 'consent.changeSeen' }>,
): Partial<ConsentContext> {
  const { shown, isConcurrentRead } = context
  const isFirm = shown !== null && shown !== 'unreadable' && !isConcurrentRead && !isOpen(shown)
  // What may be older, or cannot be read, does not replace an end.
  if (isFirm && (event.data.isConcurrentRead || event.data.status === null))
    return { isReadingOwed: context.isReadingOwed || owes(event) }
  return {
    shown: event.data.status ?? 'unreadable',
    shownAt: event.data.askedAt ?? null,
    endedAt: endShownAt(context),
    isConcurrentRead: event.data.isConcurrentRead === true,
    isReadingOwed: context.isReadingOwed || owes(event),
  }
}

/** What the consent machine holds, and where it stands. */
export interface ConsentView extends ConsentContext {
  readonly isVanished: boolean
  /** Never seen, or vanished. */
  readonly isUnknown: boolean
  /** The answer to a change of ours was lost or a refusal, and no reading has told since. */
  readonly isDoubtful: boolean
  /** No change of ours is out or in doubt. */
  readonly isQuiet: boolean
}
