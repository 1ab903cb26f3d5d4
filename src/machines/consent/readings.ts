import { dayMs, fromInstant, isWaitOver, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { type ConsentView, endShownAt } from './context.ts'
import type { ConsentEvent, ConsentReading } from './events.ts'
import { type HistoryEntry, isContradicted, isShorter } from './history.ts'
import { endsChange, movesOf, resolution } from './moves.ts'
import { type ConsentStatus, isOpen } from './status.ts'

type Whose = { readonly consent: string; readonly subject: string }
type RequestTime = { readonly askedAt?: Instant | undefined }

/**
 * How long a service may take to make a change whose answer was lost: only a later reading shows that it was not made.
 * The contract gives no time; this is our policy `late-change-1`.
 */
export const lateChangeMs = 60_000

/** How often a full reading is requested for a consent whose history contradicts its status. */
const historyReadMs = dayMs

/**
 * The events of a list: none when nothing changed. Another status is only noted, since a list does not show what
 * happened in between. While our change is pending, a list can decide it.
 */
export function seen(held: ConsentView, given: ConsentReading & Whose & RequestTime): readonly ConsentEvent[] {
  const { status } = given
  const isOwn = status === held.reading.status
  // When a list shows neither status, the history shows what became of a lost change.
  const isElsewhere = held.isLost && !leavesOpen(held, status) && status !== held.asked
  if (held.isUnknown || (!held.isQuiet && !isElsewhere)) return observed(held, given, [])
  const amended = amendment(held, given)
  const isVague = held.isConcurrentRead || held.shown === 'unreadable'
  if (isVague && isOwn && held.isQuiet) return [...amended, { type: 'consent.confirmed', data: { status } }]
  const isKnown = held.shown === null ? isOwn : status === held.shown && held.isReadingOwed
  if (!isVague && isKnown) return [...amended, ...historyOwed(held, given)]
  const { askedAt } = given
  return [...amended, { type: 'consent.changeSeen', data: { status, ...(askedAt !== undefined && { askedAt }) } }]
}

/** Reads a history that contradicts the list again, once a day: nothing else may ever resolve the contradiction. */
function historyOwed(held: ConsentView, { askedAt }: RequestTime): readonly ConsentEvent[] {
  const { historyAskedAt, isReadingOwed } = held
  if (askedAt === undefined || isReadingOwed || !isContradicted(held)) return []
  const dueAt = historyAskedAt === null ? 0 : fromInstant(historyAskedAt) + historyReadMs
  if (!isWaitOver(dueAt, fromInstant(askedAt), historyReadMs)) return []
  return [{ type: 'consent.detailRequested', data: { askedAt } }]
}

/**
 * The events of a reading that was concurrent with a newer event. It may show the state before or after that, so it is
 * noted but not applied. Different dates count like another status: the consent may end sooner.
 */
export function concurrentRead(held: ConsentView, given: ConsentReading & RequestTime): readonly ConsentEvent[] {
  const { reading, asked, shown, isUnknown, isReadingOwed } = held
  const { status, askedAt } = given
  // An end is noted even if we requested it: it may be somebody else's.
  const isWanted = status === asked && isOpen(status)
  const isNews = status !== reading.status || amendment(held, given).length > 0
  const isNoted = status === shown && (isReadingOwed || status !== reading.status)
  if (isUnknown || !isNews || isNoted || isWanted) return []
  const data = { status, isConcurrentRead: true, ...(askedAt !== undefined && { askedAt }) } as const
  return [{ type: 'consent.changeSeen', data }]
}

/** The event of a concurrent list without the consent: it may have vanished, or not have appeared yet. */
export function concurrentMiss({ shown, isReadingOwed }: ConsentView): readonly ConsentEvent[] {
  if (shown === 'unreadable' && isReadingOwed) return []
  return [{ type: 'consent.changeSeen', data: { status: null, isConcurrentRead: true } }]
}

/** The events of a reading, with its history. */
export function observed(
  held: ConsentView,
  given: ConsentReading & Whose & RequestTime,
  history: readonly HistoryEntry[],
): readonly ConsentEvent[] {
  const { status } = given
  if (held.isUnknown) return listedAgain(held, given)
  const moves = movesOf(held, status, history, given.askedAt)
  const amended = amendment(held, given)
  const isEarly = mayStillBeMade(held, given)
  if (moves.length > 0) {
    // A status that does not decide our change leaves it uncertain, like the former status.
    const last = moves.at(-1)
    const isStillOut = last !== undefined && 'isChangePending' in last.data
    const ended = isStillOut && !isEarly ? notMade(held, status) : undefined
    return [...amended, ...moves, ...(ended ? [ended] : [])]
  }
  if (isEarly || (!held.isDoubtful && held.shown === null)) return amended
  // Our change is still pending: only the status in the list is settled.
  if (!held.isDoubtful && !held.isQuiet) return [...amended, { type: 'consent.changeSeen', data: { status } }]
  return [...amended, notMade(held, status) ?? { type: 'consent.confirmed', data: { status } }]
}

/**
 * The event when a late enough reading shows that an uncertain change was not made; `undefined` when there is no such
 * change, or when the contradicting answer showed an end, which no request changes.
 */
function notMade({ isLost, isDoubtful, asked }: ConsentView, status: ConsentStatus): ConsentEvent | undefined {
  if (!isDoubtful || asked === null) return undefined
  if (!isLost && !isOpen(status)) return undefined
  const why = isLost ? 'whose answer was lost' : 'whose answer showed another status'
  const anomaly = `the change to ${asked}, ${why}, was not made`
  return { type: 'consent.changeNotMade', data: { asked, status }, anomaly, ...(isLost && resolution(false)) }
}

/** The events when it is listed for the first time, or again. */
function listedAgain(held: ConsentView, given: ConsentReading & Whose & RequestTime): readonly ConsentEvent[] {
  const isOld = leavesOpen(held, given.status) && !mayStillBeMade(held, given)
  const ended = isOld ? notMade(held, given.status) : undefined
  return [appeared(held, given, ended !== undefined), ...(ended ? [ended] : [])]
}

function appeared(held: ConsentView, given: ConsentReading & Whose & RequestTime, isEnded: boolean): ConsentEvent {
  const { consent, subject, status, askedAt } = given
  const knowledge = isEnded ? 'uncertain' : doubtAfter(held, given)
  const data = {
    ...{ consent, subject, ...readingOf(given) },
    ...(askedAt !== undefined && { askedAt }),
    ...(knowledge && { knowledge }),
  }
  const ends = held.isLost && !knowledge ? resolution(status === held.asked) : {}
  const event: ConsentEvent = { type: 'consent.appeared', data, ...ends }
  return held.isVanished ? { ...event, anomaly: 'it had vanished' } : event
}

/** Returns whether our own change is still pending or uncertain when the consent is listed again. */
function doubtAfter(held: ConsentView, given: ConsentReading & RequestTime): 'changing' | 'uncertain' | undefined {
  if (mayStillBeMade(held, given)) return 'uncertain'
  const isChangePending = !held.isQuiet && !held.isDoubtful && leavesOpen(held, given.status)
  return isChangePending ? 'changing' : undefined
}

/**
 * Returns until when a reading may be of an outdated copy; `undefined` if it is not. It may be when, less than a minute
 * before:
 *
 * - the consent was shown as ended, and this reading shows it as open;
 * - a longer history was read than this reading has;
 * - the history showed that the consent was given again after the end that this list shows.
 */
export function maybeOlderUntil(
  held: ConsentView,
  { status, askedAt }: Pick<ConsentReading, 'status'> & RequestTime,
  history: readonly HistoryEntry[] = [],
): Instant | undefined {
  const lacksEntries = history.length === 0 ? isFormerEnd(held, status) : isShorter(history, held.history)
  const newer = [lacksEntries ? held.historyAskedAt : null, isOpen(status) ? endShownAt(held) : null]
  const untils = newer
    .filter(each => each !== null)
    .map(each => fromInstant(each) + lateChangeMs)
    .filter(until => askedAt !== undefined && !isWaitOver(until, fromInstant(askedAt), lateChangeMs))
  return untils.length === 0 ? undefined : toInstant(Math.max(...untils))
}

/** Checks that, by the known history, the consent was given again after this end. */
function isFormerEnd({ history }: ConsentView, status: ConsentStatus): boolean {
  return !isOpen(status) && history.at(-1)?.status === 'ATIVO' && history.some(entry => entry.status === status)
}

/** Checks that a reading does not decide our change, and was too early to exclude that it will be made. */
export function mayStillBeMade(
  held: ConsentView,
  { status, askedAt }: Pick<ConsentReading, 'status'> & RequestTime,
): boolean {
  const { lostAt } = held
  if (lostAt === null || askedAt === undefined || !leavesOpen(held, status)) return false
  // A clock that was ahead at the loss may have been corrected since.
  return !isWaitOver(fromInstant(lostAt) + lateChangeMs, fromInstant(askedAt), lateChangeMs)
}

/** The event when an open consent has expired, recorded once. */
export function lapse({ reading, isUnknown }: ConsentView, said: Instant | null, now: Instant): ConsentEvent[] {
  const { status, expiresAt } = reading
  const isLive = !isUnknown && isOpen(status)
  if (!isLive || expiresAt === null || expiresAt > now || expiresAt === said) return []
  return [{ type: 'consent.lapsed', data: { expiresAt } }]
}

/** Checks that a status does not decide our change: it is the former one, or the change may still follow it. */
function leavesOpen({ reading, asked }: ConsentView, status: ConsentStatus): boolean {
  return status === reading.status || (asked !== null && !endsChange(asked, status))
}

/** The event of changed dates or a changed controller. */
export function amendment({ reading }: ConsentView, given: ConsentReading): readonly ConsentEvent[] {
  const { createdAt, expiresAt, controller } = given
  const isSame = reading.createdAt === createdAt && reading.expiresAt === expiresAt && reading.controller === controller
  if (isSame) return []
  return [{ type: 'consent.amended', data: { ...readingOf(given), status: reading.status } }]
}

function readingOf({ status, createdAt, expiresAt, controller }: ConsentReading): ConsentReading {
  return { status, createdAt, expiresAt, controller }
}
