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
 * How long a service may take to make a change whose answer was lost: only a reading that leaves later tells that it
 * was not made. The contract names no time: this is the policy `late-change-1`.
 */
export const lateChangeMs = 60_000

/** How often lists owe a reading in full of a consent whose history speaks against its status. */
const historyReadMs = dayMs

/**
 * What a list adds: nothing when nothing changed. Another status is only noted, since a list hides what happened in
 * between. While a change of ours is out, a list ends the doubt about it.
 */
export function seen(
  held: ConsentView,
  given: ConsentReading & Whose & RequestTime,
): readonly ConsentEvent[] {
  const { status } = given
  const isOwn = status === held.reading.status
  // The history tells what became of a lost change when a list shows neither status.
  const isElsewhere = held.isLost && !leavesOpen(held, status) && status !== held.asked
  if (held.isUnknown || (!held.isQuiet && !isElsewhere)) return observed(held, given, [])
  const amended = amendment(held, given)
  const isVague = held.isConcurrentRead || held.shown === 'unreadable'
  if (isVague && isOwn && held.isQuiet) return [...amended, { type: 'consent.confirmed', data: { status } }]
  const isKnown = held.shown === null ? isOwn : status === held.shown && held.isReadingOwed
  if (!isVague && isKnown) return [...amended, ...historyOwed(held, given)]
  const { askedAt } = given
  return [
    ...amended,
    { type: 'consent.changeSeen', data: { status, ...(askedAt !== undefined && { askedAt }) } },
  ]
}

/** A history that speaks against what a list shows is read anew, once a day: nothing else may ever end that doubt. */
function historyOwed(held: ConsentView, { askedAt }: RequestTime): readonly ConsentEvent[] {
  const { historyAskedAt, isReadingOwed } = held
  if (askedAt === undefined || isReadingOwed || !isContradicted(held)) return []
  const dueAt = historyAskedAt === null ? 0 : fromInstant(historyAskedAt) + historyReadMs
  if (!isWaitOver(dueAt, fromInstant(askedAt), historyReadMs)) return []
  return [{ type: 'consent.detailRequested', data: { askedAt } }]
}

/**
 * What a reading adds that crossed something newer: it may show the time before or after that, so it is neither
 * believed nor ignored. Dates that differ count like another status: the consent may end sooner.
 */
export function concurrentRead(
  held: ConsentView,
  given: ConsentReading & RequestTime,
): readonly ConsentEvent[] {
  const { reading, asked, shown, isUnknown, isReadingOwed } = held
  const { status, askedAt } = given
  // An end is news also while we ask for it: it may be somebody else's.
  const isWanted = status === asked && isOpen(status)
  const isNews = status !== reading.status || amendment(held, given).length > 0
  const isNoted = status === shown && (isReadingOwed || status !== reading.status)
  if (isUnknown || !isNews || isNoted || isWanted) return []
  const data = { status, isConcurrentRead: true, ...(askedAt !== undefined && { askedAt }) } as const
  return [{ type: 'consent.changeSeen', data }]
}

/** What a list adds that lacks the consent, and crossed something newer: the consent may be gone, or not yet there. */
export function concurrentMiss({ shown, isReadingOwed }: ConsentView): readonly ConsentEvent[] {
  if (shown === 'unreadable' && isReadingOwed) return []
  return [{ type: 'consent.changeSeen', data: { status: null, isConcurrentRead: true } }]
}

/** What a reading adds to what we hold, by the history that came with it. */
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
    // A status that leaves our change open ends the doubt about it as little as the former one.
    const last = moves.at(-1)
    const isStillOut = last !== undefined && 'isChangePending' in last.data
    const ended = isStillOut && !isEarly ? notMade(held, status) : undefined
    return [...amended, ...moves, ...(ended ? [ended] : [])]
  }
  if (isEarly || (!held.isDoubtful && held.shown === null)) return amended
  // Our change is still out: only what a list had shown is settled.
  if (!held.isDoubtful && !held.isQuiet) return [...amended, { type: 'consent.changeSeen', data: { status } }]
  return [...amended, notMade(held, status) ?? { type: 'consent.confirmed', data: { status } }]
}

/**
 * A change that was lost, or whose answer contradicts it, by a reading that began late enough and shows what was there
 * before; `undefined` where there is none, or where the answer showed an end, which nobody asks to change.
 */
function notMade(
  { isLost, isDoubtful, asked }: ConsentView,
  status: ConsentStatus,
): ConsentEvent | undefined {
  if (!isDoubtful || asked === null) return undefined
  if (!isLost && !isOpen(status)) return undefined
  const why = isLost ? 'whose answer was lost' : 'whose answer showed another status'
  const anomaly = `the change to ${asked}, ${why}, was not made`
  return { type: 'consent.changeNotMade', data: { asked, status }, anomaly, ...(isLost && resolution(false)) }
}

/** It is listed for the first time, or again. */
function listedAgain(
  held: ConsentView,
  given: ConsentReading & Whose & RequestTime,
): readonly ConsentEvent[] {
  const isOld = leavesOpen(held, given.status) && !mayStillBeMade(held, given)
  const ended = isOld ? notMade(held, given.status) : undefined
  return [appeared(held, given, ended !== undefined), ...(ended ? [ended] : [])]
}

function appeared(
  held: ConsentView,
  given: ConsentReading & Whose & RequestTime,
  isEnded: boolean,
): ConsentEvent {
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

/** What is still to be found out of our own change when the consent is listed again. */
function doubtAfter(
  held: ConsentView,
  given: ConsentReading & RequestTime,
): 'changing' | 'uncertain' | undefined {
  if (mayStillBeMade(held, given)) return 'uncertain'
  const isChangePending = !held.isQuiet && !held.isDoubtful && leavesOpen(held, given.status)
  return isChangePending ? 'changing' : undefined
}

/**
 * Until when a reading may be of an older copy: one that shows a consent as open less than a minute after something
 * showed its end, a history that lacks entries which were read less than a minute before, or a list that shows an end
 * which, by a history read less than a minute before, the consent has behind it. `undefined` where it is not.
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

/** Reports whether a status is an end after which, by the history that is known, the consent was given anew. */
function isFormerEnd({ history }: ConsentView, status: ConsentStatus): boolean {
  return (
    !isOpen(status) && history.at(-1)?.status === 'ATIVO' && history.some(entry => entry.status === status)
  )
}

/** Reports whether a reading tells nothing of our change, and left too early to tell that it will not be made. */
export function mayStillBeMade(
  held: ConsentView,
  { status, askedAt }: Pick<ConsentReading, 'status'> & RequestTime,
): boolean {
  const { lostAt } = held
  if (lostAt === null || askedAt === undefined || !leavesOpen(held, status)) return false
  // A clock that was ahead when it was lost has been put right since.
  return !isWaitOver(fromInstant(lostAt) + lateChangeMs, fromInstant(askedAt), lateChangeMs)
}

/** Time passed: recorded when the end of a consent that still stands has come, once. */
export function lapse(
  { reading, isUnknown }: ConsentView,
  said: Instant | null,
  now: Instant,
): ConsentEvent[] {
  const { status, expiresAt } = reading
  const isLive = !isUnknown && isOpen(status)
  if (!isLive || expiresAt === null || expiresAt > now || expiresAt === said) return []
  return [{ type: 'consent.lapsed', data: { expiresAt } }]
}

/** Reports whether a status says nothing of our change: the former one, or one that it may still come from. */
function leavesOpen({ reading, asked }: ConsentView, status: ConsentStatus): boolean {
  return status === reading.status || (asked !== null && !endsChange(asked, status))
}

/** Changed dates or controller. */
export function amendment({ reading }: ConsentView, given: ConsentReading): readonly ConsentEvent[] {
  const { createdAt, expiresAt, controller } = given
  const isSame =
    reading.createdAt === createdAt && reading.expiresAt === expiresAt && reading.controller === controller
  if (isSame) return []
  return [{ type: 'consent.amended', data: { ...readingOf(given), status: reading.status } }]
}

function readingOf({ status, createdAt, expiresAt, controller }: ConsentReading): ConsentReading {
  return { status, createdAt, expiresAt, controller }
}
