import type { Instant } from '../../vocabulary/message.ts'
import type { ConsentEvent, ConsentReading, StatusMove } from './events.ts'
import { type History, isBeginning, passEntries } from './history.ts'
import type { ListedStatus } from './standing.ts'
import { type ConsentStatus, consentStatuses, isOpen, type RequestableStatus } from './status.ts'

/** The context of the consent chart. */
export interface ConsentContext extends History {
  readonly consent: string
  readonly subject: string
  readonly reading: ConsentReading
  /** The requested status, while the answer is missing or contradicts the request. */
  readonly asked: RequestableStatus | null
  readonly askedAt: Instant | null
  /** The differing status in a list, until the history has been read. */
  readonly shown: ListedStatus | null
  /** When the request of that list was sent. */
  readonly shownAt: Instant | null
  /** Whether that reading was concurrent with a newer event. */
  readonly isConcurrentRead: boolean
  /** A full reading that may settle it is pending. */
  readonly isReadingOwed: boolean
  /** The answer to the requested change was lost. */
  readonly isLost: boolean
  /** When the loss was noticed, or when we sent the request that the answer contradicts. */
  readonly lostAt: Instant | null
  /** All known statuses since the last requested change. */
  readonly statusesSinceRequest: readonly ConsentStatus[]
  /** When the request was sent whose answer shows its end, while no newer status is known. */
  readonly endedAt: Instant | null
  /** The service's time of the current status, if its history has it. */
  readonly since: Instant | null
  /** When the history was read, or a list requested another reading because of it. */
  readonly historyAskedAt: Instant | null
  /** How many full readings in a row may have been outdated, up to `oldReadingsMax`. */
  readonly oldReadings: number
  /** Statuses recorded since then whose history entries have not been read. */
  readonly untimed: readonly ConsentStatus[]
  /** The expiry that was recorded as passed. */
  readonly lapsed: Instant | null
  readonly isErased: boolean
}

/** After so many outdated readings in a row, the next one waits. */
export const oldReadingsMax = 2

/** The context of a certain status. */
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

/** The context without a full reading. */
const unread = {
  history: [],
  historyStatus: null,
  historyAskedAt: null,
  oldReadings: 0,
  untimed: [],
} as const

/** The context of an unknown consent. */
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

/** Checks that an event requests an effect. */
export function owes({ effects = [] }: ConsentEvent): boolean {
  return effects.length > 0
}

/** Returns what an event changes of the status. */
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

/** Returns what a full reading changes. A history that may be outdated does not replace the known one. */
export function historyAfter(
  context: ConsentContext,
  event: Extract<ConsentEvent, { type: 'consent.described' }>,
): Partial<ConsentContext> {
  const { history, status, askedAt = null, isOld } = event.data
  const isReadingOwed = owes(event)
  if (isOld) return { isReadingOwed, oldReadings: Math.min(context.oldReadings + 1, oldReadingsMax) }
  // A history that ends with the shown status is complete.
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
    // A status from before our change does not decide it.
    statusesSinceRequest: isChangePending ? context.statusesSinceRequest : sinceRequestWith(context, status),
    endedAt: isOpen(status) ? null : (askedAt ?? null),
    since: since ?? null,
    // A status from an outdated copy has no entry after the known ones.
    untimed: isUntimed ? [...context.untimed, status] : context.untimed,
  }
}

/** Returns when the reading was requested that shows the end of the consent, whether recorded or only listed. */
export function endShownAt(context: ConsentContext): Instant | null {
  const { endedAt, shownAt } = context
  return endShown(context) === undefined ? endedAt : (shownAt ?? endedAt)
}

/** Returns the end that a list shows, if it differs from the recorded status. */
export function endShown({ shown }: ConsentContext): ConsentStatus | undefined {
  return shown === null || shown === 'unreadable' || isOpen(shown) ? undefined : shown
}

function sinceRequestWith({ statusesSinceRequest }: ConsentContext, status: ConsentStatus): readonly ConsentStatus[] {
  return consentStatuses.filter(each => each === status || statusesSinceRequest.includes(each))
}

/** Returns what a list with a differing status changes. */
export function shownBy(
  context: ConsentContext,
  event: Extract<ConsentEvent, { type: 'consent.changeSeen' }>,
): Partial<ConsentContext> {
  const { shown, isConcurrentRead } = context
  const isFirm = shown !== null && shown !== 'unreadable' && !isConcurrentRead && !isOpen(shown)
  // An outdated or unreadable status does not replace an end.
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

/** The context and the state of a consent. */
export interface ConsentView extends ConsentContext {
  readonly isVanished: boolean
  /** Never read, or vanished. */
  readonly isUnknown: boolean
  /** The answer to our change was lost or declined, and no reading has shown the outcome since. */
  readonly isDoubtful: boolean
  /** None of our changes is pending or uncertain. */
  readonly isQuiet: boolean
}
