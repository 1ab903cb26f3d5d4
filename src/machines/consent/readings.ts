import {
  backoffMs,
  clocksDifferMaxMs,
  dayMs,
  fromInstant,
  isWaitOver,
  minuteMs,
  toInstant,
} from '../../vocabulary/instant.ts'
import type { Effect, Instant } from '../../vocabulary/message.ts'
import { cpfAddress, streamOf } from '../../vocabulary/names.ts'
import type {
  AnsweredChange,
  AnswerTimes,
  ConsentEvent,
  ConsentReading,
  ListedConsent,
  WithdrawnEnd,
  WithheldChange,
} from './events.ts'
import {
  type ConsentView,
  endsChange,
  endsOpenChange,
  isMaybeMade,
  isMaybeSent,
  isWantedEnd,
  learnedAt,
  move,
  movesOf,
  oldReadingsMax,
  resolution,
  showsStatus,
  timesIn,
} from './moves.ts'
import { isEndShown } from './standing.ts'
import {
  type ConsentStatus,
  contradiction,
  endFrom,
  type HistoryEntry,
  isBeginning,
  isOpen,
  moveType,
  type RequestableStatus,
} from './status.ts'

/** How long a lost change may take, and a copy of the records be behind: our policy `late-change-1`. */
const lateChangeMs = 60_000

/**
 * How long we ask again for an end that was not made: our policy `asked-again-1`; for an approval its request says it.
 * That a status may be set twice is not in the contract: an answer was lost, and a reading showed no change.
 */
const endRepeatedMaxMs = 30 * dayMs

type Reading = ConsentReading & AnswerTimes
type FullReading = Reading & { readonly history: readonly HistoryEntry[] }

function readConsent({ consent, subject }: Pick<ConsentView, 'consent' | 'subject'>, dueAt?: Instant): Effect {
  const opens = { cpf: cpfAddress(subject), record: `${streamOf('consent', consent)}/1/record` }
  return { type: 'consentService.readConsent', data: {}, opens, ...(dueAt !== undefined && { dueAt }) }
}

/**
 * The events of a listed consent. A list that agrees with what is known tells nothing. One that differs makes the
 * consent uncertain: a full reading shows what happened, one at a time.
 */
export function listed(held: ConsentView, given: ListedConsent, isOld: boolean): readonly ConsentEvent[] {
  if (held.isUnknown) return held.isVanished && isOld ? [] : appeared(held, given)
  const others = amendment(held, given)
  const amended = isOld || isLater(given.expiresAt, held.reading.expiresAt) ? [] : others
  if (given.status !== held.reading.status || amended.length < others.length)
    return [...amended, ...doubt(held, given.status, given, isOld)]
  // What could not be read can be read again, and has not changed.
  const isReadable = held.shown === 'unreadable' && !isOld
  const known = isReadable ? { ...held, isUncertain: false } : held
  return [...amended, ...(isReadable ? [confirmed(given.status)] : []), ...readAgain(known, given.askedAt)]
}

/** Checks that an expiry puts off another one: a list alone does not. */
function isLater(expiresAt: Instant | null, than: Instant | null): boolean {
  return than !== null && (expiresAt === null || expiresAt > than)
}

/** The events of a list that shows a consent unreadably, or of an old one that lacks it. */
export function unreadable(held: ConsentView, anomaly?: string): readonly ConsentEvent[] {
  return doubt(held, null).map((event, i) => ({ ...event, ...(i === 0 && anomaly !== undefined && { anomaly }) }))
}

/** The events of a full reading: the changes of its history that are not recorded, each with its time. */
export function readInFull(held: ConsentView, given: FullReading, isOld: boolean): readonly ConsentEvent[] {
  // It is read once the service lists it again. An end that it shows is kept: the next list may be older.
  if (held.isVanished) {
    const isNews = isOpen(held.reading.status) && !isOpen(given.status) && !isDoubted(held, given.status)
    return [described({ ...given, isOld }), ...(isNews ? [seen({ ...given, isOld })] : [])]
  }
  const undone = undoneSince(held, given)
  if (isOld || undone !== undefined) {
    const differs = given.status !== held.reading.status || amendment(held, given).length > 0
    const isOpenQuestion = differs || held.isUncertain || isOutcomeUnknown(held) || undone !== undefined
    // What could not be read stays so until a reading shows it that is not old.
    const isReadable = held.shown === 'unreadable' && isOpen(given.status)
    const isNews = differs && !isReadable && !isDoubted(held, given.status)
    const next = undone === undefined ? nextReading(held, given.askedAt) : fullReading(held, undone)
    return [
      described({ ...given, isOld: true }),
      ...(isNews ? [seen({ ...given, isOld: true })] : []),
      ...(isOpenQuestion ? [next] : []),
    ]
  }
  if (mayStillBeMade(held, given))
    return [described({ ...given, isOld: true }), ...amendment(held, given), fullReading(held, held.lostAt)]
  return [described(given), ...amendment(held, given), ...believed(held, given)]
}

/** The events when a full reading cannot be had: the more cautious of the two statuses counts. */
export function unavailable(held: ConsentView): readonly ConsentEvent[] {
  const { shown, shownIn, isShownOld, reading } = held
  if (!held.isUncertain || held.isUnknown || shown === 'unreadable') return []
  if (shown === null || caution(shown) <= caution(reading.status)) return [confirmed(reading.status)]
  return movesOf(held, shown, [], { ...shownIn, isOld: isShownOld })
}

/** The event when an open consent has expired, recorded once. */
export function lapse({ reading, isUnknown, lapsed }: ConsentView, now: Instant): ConsentEvent[] {
  const { status, expiresAt } = reading
  const isLive = !isUnknown && isOpen(status)
  if (!isLive || expiresAt === null || expiresAt > now || expiresAt === lapsed) return []
  return [{ type: 'consent.lapsed', data: { expiresAt } }]
}

function amendment({ reading }: ConsentView, given: ConsentReading): readonly ConsentEvent[] {
  const { createdAt, expiresAt, controller } = given
  const isSame = reading.createdAt === createdAt && reading.expiresAt === expiresAt && reading.controller === controller
  return isSame ? [] : [{ type: 'consent.amended', data: { ...readingIn(given), status: reading.status } }]
}

/** The event of a status that differs and that only a full reading explains. */
function doubt(
  held: ConsentView,
  status: ConsentStatus | null,
  times: AnswerTimes = {},
  isOld = false,
): readonly ConsentEvent[] {
  // The full reading that is on its way may be older than an end that is shown again.
  const isRenewed = held.isReadingPending && isEndShown(status) && !isOld
  if (isDoubted(held, status) && !isRenewed) return readAgain(held)
  return [seen({ ...times, status, isOld }), ...readOnce(held)]
}

/** Checks that what is in doubt already is at least as cautious as a status. */
function isDoubted({ isUncertain, shown }: ConsentView, status: ConsentStatus | null): boolean {
  // What can be read again says more than what could not.
  return isUncertain && (shown === 'unreadable' ? status === null : caution(status) <= caution(shown))
}

/** Requests a full reading of a consent with an open question unless one is pending. */
function readAgain(held: ConsentView, askedAt?: Instant): readonly ConsentEvent[] {
  const isIdle = held.isEndWanted && isDueFrom(held, held.reading.status) && !isTooLate(held, askedAt)
  return held.isUncertain || isOutcomeUnknown(held) || isIdle ? readOnce(held) : []
}

/** An end is more cautious than a pending consent, and that is more cautious than an active one. */
function caution(status: ConsentStatus | null): number {
  if (status === null || status === 'ATIVO') return 0
  return status === 'PENDENTE' ? 1 : 2
}

function believed(held: ConsentView, given: FullReading): readonly ConsentEvent[] {
  const { status, history, askedAt } = given
  const moves = movesOf(held, status, history, timesIn(given))
  const unmade = moves.some(({ data }) => endsOpenChange(held, data)) ? [] : notMade(held, status)
  const isWanted =
    held.isEndWanted && !moves.some(({ data }) => isWantedEnd({ ...held, isLost: held.lostAt !== null }, data))
  // An end that an earlier reading had shown is the wanted one only now.
  const isConfirmed = held.isUncertain || (isWanted && !isOpen(status))
  // An old reading showed its end, which did not end the change then.
  const isMade = isOutcomeUnknown(held) && unmade.length === 0
  const resolved = isMade && held.change === 'lost' ? resolution(status === held.asked) : {}
  const ends = moves.length === 0 && (isConfirmed || isMade) ? [{ ...confirmed(status), ...resolved }] : []
  const isDue = unmade.length > 0 || (isWanted && isDueFrom(held, status))
  const asking = isDue ? askAgain(held, { status, since: timeOf(given), askedAt }) : []
  const isGivenUp = held.asked === 'ATIVO' && status === 'PENDENTE' && asking.length === 0
  const against = contradiction(given)
  const contrary = against === undefined ? [] : [seen({ ...given, status: against })]
  const told = [...moves, ...unmade.map(event => markGivenUp(event, isGivenUp)), ...ends, ...asking, ...contrary]
  return markReopened(held, status, told)
}

/** Marks the event of an open status after an end that another reading had shown, and that no event shows. */
function markReopened({ shown }: ConsentView, status: ConsentStatus, events: readonly ConsentEvent[]) {
  const showing = events.filter(showsStatus)
  const isReopened = isEndShown(shown) && isOpen(status) && !showing.some(({ data }) => data.status === shown)
  const anomaly = `a reading had shown ${shown}`
  return isReopened ? events.map(event => (event === showing[0] ? { anomaly, ...event } : event)) : events
}

/** Checks that a wanted end is to be asked for from a status: no change is out, and this end was not refused. */
function isDueFrom({ change, refusedEnd }: ConsentView, status: ConsentStatus): boolean {
  return change === 'none' && refusedEnd !== endFrom(status)
}

/** The service's time of the status that a full reading shows, if its history has it. */
function timeOf({ status, history }: FullReading): Instant | undefined {
  const last = history.at(-1)
  return last?.status === status ? (last.since ?? undefined) : undefined
}

/** The event when a late enough reading shows that a change of unknown outcome was not made. */
function notMade({ change, asked }: ConsentView, status: ConsentStatus): readonly ConsentEvent[] {
  if (asked === null || (change !== 'lost' && change !== 'contrary') || endsChange(asked, status)) return []
  const why = change === 'lost' ? 'whose answer was lost' : 'whose answer did not show it'
  const anomaly = `the change to ${asked}, ${why}, was not made`
  const ends = change === 'lost' ? resolution(false) : {}
  return [{ type: 'consent.changeNotMade', data: { asked, status }, anomaly, ...ends }]
}

function markGivenUp(event: ConsentEvent, isGivenUp: boolean): ConsentEvent {
  if (event.type !== 'consent.changeNotMade' || !isGivenUp) return event
  return { ...event, data: { ...event.data, isGivenUp } }
}

/**
 * Asks again for what is wanted of a consent that was shown with an open status, after waits that grow to a day. Not
 * when a person has to decide: too much time has passed, or somebody approved it after its end was asked for.
 */
function askAgain(held: ConsentView, { status, since, askedAt }: ShownStatus): readonly ConsentEvent[] {
  const { isEndWanted, endWantedAt, requests } = held
  const wantedAt = isEndWanted ? endWantedAt : held.askedAt
  if (wantedAt === null || askedAt === undefined || !isOpen(status)) return []
  // An end that was given up is not asked for again, and becomes no approval.
  if (!isEndWanted && (held.asked !== 'ATIVO' || status !== 'PENDENTE')) return []
  if (isEndWanted && status === 'ATIVO' && mayBeApprovedSince(held, wantedAt, since ?? undefined)) return []
  const again = isEndWanted ? endFrom(status) : 'ATIVO'
  const dueAt = toInstant(fromInstant(askedAt) + backoffMs(Math.max(0, requests - 1), minuteMs, dayMs))
  if (isTooLate(held, isEndWanted ? askedAt : dueAt)) return []
  const until = !isEndWanted && held.askedUntil !== null && { until: held.askedUntil }
  const effects = [
    { ...changeStatus(held, again), dueAt, reason: 'asked again: a reading showed that it was not made' },
  ]
  return [{ type: 'consent.changeRepeated', data: { status: again, askedAt: wantedAt, ...until }, effects }]
}

/** Checks that an end, or else our change, was first asked for too long ago to be asked for again. */
function isTooLate({ isEndWanted, askableAt, askedUntil }: ConsentView, now: Instant | undefined): boolean {
  if (now === undefined) return false
  if (!isEndWanted) return askedUntil === null || now > askedUntil
  return askableAt !== null && fromInstant(now) - fromInstant(askableAt) > endRepeatedMaxMs
}

/**
 * Checks that a shown approval may be later than our request for an end: a person has to decide. A consent that was
 * active then, and not pending since, was approved before. Otherwise only a time that is certainly earlier shows that,
 * since clocks differ.
 */
function mayBeApprovedSince(
  { statusesSinceRequest, since: knownSince }: ConsentView,
  wantedAt: Instant,
  since: Instant | undefined,
): boolean {
  const wasPending = statusesSinceRequest.includes('PENDENTE')
  if (since === undefined) return wasPending
  const afterMs = fromInstant(since) - fromInstant(wantedAt)
  return wasPending ? afterMs > -clocksDifferMaxMs : afterMs > 0 && since !== knownSince
}

/** An open status, the service's time of it if known, and when the request was sent whose answer shows it. */
interface ShownStatus {
  readonly status: ConsentStatus
  readonly since?: Instant | null | undefined
  readonly askedAt?: Instant | undefined
}

/** Checks that a reading shows the former status within a minute of our lost change: it may still be made. */
function mayStillBeMade({ change, asked, lostAt }: ConsentView, { status, askedAt }: Reading): boolean {
  if (asked === null || endsChange(asked, status)) return false
  if (change === 'requested') return false
  return lostAt !== null && askedAt !== undefined && isBefore(askedAt, lostAt)
}

/** Checks that an instant is less than a minute after another. One far ahead came from a clock that was set back. */
function isBefore(askedAt: Instant, since: Instant): boolean {
  return !isWaitOver(fromInstant(since) + lateChangeMs, fromInstant(askedAt), lateChangeMs)
}

/**
 * Returns when what a reading undoes was learned, if that was less than a minute before: it may be of a copy that is
 * behind. A reading undoes what is known when it shows an open status after an end, or PENDENTE after ATIVO, and its
 * history has no later entries that explain it. An end that another reading showed is known as well.
 */
function undoneSince(held: ConsentView, { status, history, askedAt }: FullReading): Instant | undefined {
  const { reading, statusAt, shown, shownIn } = held
  if (!isOpen(status) || askedAt === undefined) return undefined
  const isEnd = isEndShown(shown)
  const isBack = status !== reading.status && moveType(reading.status, status) === undefined
  const since = isEnd ? learnedAt(shownIn) : isBack ? statusAt : null
  if (since === null || !isBefore(askedAt, since)) return undefined
  const news = isBeginning(held.history, history) ? history.slice(held.history.length) : []
  const isExplained = news.at(-1)?.status === status && (!isEnd || news.some(entry => entry.status === shown))
  return held.history.length > 0 && isExplained ? undefined : since
}

/** Checks that it is not known what became of our change. */
function isOutcomeUnknown({ change }: ConsentView): boolean {
  return change === 'lost' || change === 'contrary'
}

/** The event that requests a full reading: a minute after an instant, if one is given. */
export function fullReading(held: ConsentView, since: Instant | null = null): ConsentEvent {
  const dueAt = since === null ? undefined : toInstant(fromInstant(since) + lateChangeMs)
  return { type: 'consent.detailRequested', data: {}, effects: [readConsent(held, dueAt)] }
}

/** Requests a full reading, unless one is pending. What is not listed is read once it is listed again. */
function readOnce(held: ConsentView, since: Instant | null = null): readonly ConsentEvent[] {
  return held.isReadingPending || held.isVanished ? [] : [fullReading(held, since)]
}

/** The next reading after an old one. After three in a row it waits, since two engines may disturb each other. */
function nextReading(held: ConsentView, askedAt: Instant | undefined): ConsentEvent {
  return fullReading(held, held.oldReadings + 1 < oldReadingsMax ? null : askedAt)
}

function appeared(held: ConsentView, given: ListedConsent): readonly ConsentEvent[] {
  const { consent, subject } = given
  const { reading, statusAt, isVanished } = held
  const data = { consent, subject, ...readingIn(given), ...timesIn(given) }
  const whose = { ...held, consent, subject, isVanished: false }
  // A list alone reopens no end: what showed it counts until a full reading.
  const isReopened = isVanished && !isOpen(reading.status) && isOpen(given.status)
  const isResolved = held.change === 'lost' && endsOpenChange(held, { status: given.status })
  const isAwaited = isOutcomeUnknown(held) && !isResolved
  // Only a full reading shows whether somebody approved it after its end was asked for.
  const isDue = isAwaited || held.isUncertain || isReopened || (held.isEndWanted && isOpen(given.status))
  const event: ConsentEvent = {
    ...{ type: 'consent.appeared', data, ...(isVanished && { anomaly: 'it had vanished' }) },
    ...(isResolved && resolution(given.status === held.asked)),
  }
  return [
    event,
    ...(isReopened ? [seen({ status: reading.status, ...(statusAt !== null && { answeredAt: statusAt }) })] : []),
    ...(isDue ? readOnce(whose, isAwaited ? held.lostAt : null) : []),
  ]
}

function described({ status, history, askedAt, isOld }: FullReading & { readonly isOld?: boolean }): ConsentEvent {
  const data = { status, history, ...(askedAt !== undefined && { askedAt }), ...(isOld && { isOld }) }
  const event: ConsentEvent = { type: 'consent.described', data }
  if (history.every(entry => entry.status !== null)) return event
  return { ...event, anomaly: 'its history shows a status that the contract does not have' }
}

/** The event of a status that a reading shows, and that only a full reading explains. */
function seen(given: AnswerTimes & { readonly status: ConsentStatus | null; readonly isOld?: boolean }): ConsentEvent {
  const { status, isOld } = given
  return { type: 'consent.changeSeen', data: { status, ...timesIn(given), ...(isOld && { isOld }) } }
}

function confirmed(status: ConsentStatus): ConsentEvent {
  return { type: 'consent.confirmed', data: { status } }
}

function readingIn({ status, createdAt, expiresAt, controller }: ConsentReading): ConsentReading {
  return { status, createdAt, expiresAt, controller }
}

/** The events when the service answers a requested change with the consent's current state. */
export function answered(held: ConsentView, given: ConsentReading & AnsweredChange): readonly ConsentEvent[] {
  const { status, askedAt, asked } = given
  if (!isUnderWay(held, asked)) {
    const isNews = !held.isUnknown && status !== held.reading.status
    return [late(asked, status), ...(isNews ? doubt(held, status, given) : [])]
  }
  // If the consent is not listed, only the status counts: the next list that shows it has the rest.
  const amended = held.isVanished ? [] : amendment(held, given)
  const event = answer(held, given)
  // One that contradicts ends no doubt. The service may have answered from a copy that is behind, so the reading waits.
  const isContradiction = event.type === 'consent.changeContradicted'
  if (isContradiction) return [...amended, event, ...readOnce(held, askedAt)]
  const still = stillShown(held, status)
  // The answer lists it again.
  return [...amended, event, ...still, ...(still.length > 0 ? readOnce({ ...held, isVanished: false }) : [])]
}

function answer(held: ConsentView, given: Reading): ConsentEvent {
  const { asked, reading, isVanished } = held
  const { status, askedAt } = given
  const times = timesIn(given)
  if (asked !== null && status !== asked && !endsChange(asked, status)) {
    const data = { status, ...(askedAt !== undefined && { lostAt: askedAt }) }
    const anomaly = `the service was asked for ${asked}, and answered ${status}`
    return { type: 'consent.changeContradicted', data, anomaly }
  }
  if (isVanished) {
    const data = { status, by: 'us', held: reading.status, isVanished, ...times } as const
    return { type: 'consent.conflicted', data, anomaly: 'the service no longer lists it' }
  }
  if (status === reading.status) return { type: 'consent.confirmed', data: { status, ...times } }
  return move(reading.status, { status, by: status === asked ? 'us' : 'service', ...times })
}

/** The events when the service declines a change that its own table allows: its state differs from ours. */
export function refused(
  held: ConsentView,
  { httpStatus, asked }: { readonly httpStatus: number } & AnsweredChange,
): readonly ConsentEvent[] {
  if (!isUnderWay(held, asked)) return [late(asked, null)]
  const data = { httpStatus, ...(held.asked !== null && { asked: held.asked }) }
  return [{ type: 'consent.changeDeclined', data }, ...readOnce(held)]
}

/** The events when an end is no longer wanted. A reading shows whether one that was sent before was made. */
export function withdrawn(held: ConsentView, data: WithdrawnEnd): readonly ConsentEvent[] {
  return [{ type: 'consent.endWithdrawn', data }, ...(isMaybeSent(held, data) ? readOnce(held) : [])]
}

/** The events when a change is not sent any more. A wanted end is asked for again after the reading that it needs. */
export function withheld(held: ConsentView, data: WithheldChange): readonly ConsentEvent[] {
  const isAsked = held.isEndWanted || isMaybeMade(held, data)
  return [{ type: 'consent.changeWithheld', data }, ...(isAsked ? readOnce(held) : [])]
}

/** The events when the answer to a change was lost. Requests a full reading, unless one already showed the outcome. */
export function lost(
  held: ConsentView,
  { status, lostAt }: { readonly status?: RequestableStatus; readonly lostAt?: Instant },
): readonly ConsentEvent[] {
  if (!isUnderWay(held, status)) {
    const isDone = status !== undefined && held.statusesSinceRequest.includes(status)
    return [{ ...late(status, null), ...resolution(isDone) }]
  }
  return [{ type: 'consent.changeLost', data: lostAt === undefined ? {} : { lostAt } }, ...readOnce(held)]
}

/** Checks that this change is still open: another one may have been requested since. */
function isUnderWay({ change, asked: open }: ConsentView, asked: RequestableStatus | undefined): boolean {
  return change === 'requested' && (asked === undefined || open === asked)
}

/** The event when a reading already showed the outcome: the answer only ends the effect. */
function late(asked: RequestableStatus | undefined, status: ConsentStatus | null): ConsentEvent {
  return { type: 'consent.answeredLate', data: { asked: asked ?? null, status } }
}

/** What a reading showed while the change was open is not explained by the answer, unless it shows the same. */
function stillShown(held: ConsentView, status: ConsentStatus): readonly ConsentEvent[] {
  const { shown, shownIn, isShownOld, isUncertain } = held
  if (!isUncertain || shown === null || shown === status) return []
  return [seen({ status: shown === 'unreadable' ? null : shown, ...shownIn, isOld: isShownOld })]
}

export function changeStatus(held: ConsentView, status: RequestableStatus): Effect {
  return { ...readConsent(held), type: 'consentService.changeStatus', data: { status } }
}
