import { clocksDifferMaxMs, fromInstant } from '../../vocabulary/instant.ts'
import type { Event, Instant } from '../../vocabulary/message.ts'
import type {
  AnswerTimes,
  ConsentEvent,
  ConsentReading,
  StatusEvent,
  StatusMove,
  WithdrawnEnd,
  WithheldChange,
} from './events.ts'
import { isEndShown, type ListedStatus } from './standing.ts'
import {
  type ConsentStatus,
  consentStatuses,
  type History,
  type HistoryEntry,
  isBeginning,
  isOpen,
  moveType,
  passEntries,
  type RequestableStatus,
} from './status.ts'

export interface ConsentContext extends History {
  readonly consent: string
  readonly subject: string
  readonly reading: ConsentReading
  /** When the answer arrived that shows the status. */
  readonly statusAt: Instant | null
  /** The service's time of the status, if its history has it. */
  readonly since: Instant | null
  /** The requested status, until it is known what became of the change, and when it was requested. */
  readonly asked: RequestableStatus | null
  readonly askedAt: Instant | null
  /** How long an approval that was not made is asked for again. */
  readonly askedUntil: Instant | null
  /** Since when the service may still make a change whose outcome is unknown. */
  readonly lostAt: Instant | null
  /** Since when the wanted end can be asked for: null until the consent is listed again. */
  readonly askableAt: Instant | null
  /** When the wanted end was asked for, which one the service refused, and how many requests for it were made. */
  readonly endWantedAt: Instant | null
  readonly refusedEnd: RequestableStatus | null
  readonly requests: number
  /** All known statuses since the last requested change. */
  readonly statusesSinceRequest: readonly ConsentStatus[]
  /** The differing status of a reading, until a full reading has shown what happened. */
  readonly shown: ListedStatus | null
  readonly shownIn: AnswerTimes
  readonly isShownOld: boolean
  /** How many full readings in a row were old, up to `oldReadingsMax`. */
  readonly oldReadings: number
  /** Statuses recorded since the history was read, whose entries have not been read. */
  readonly untimed: readonly ConsentStatus[]
  /** The expiry that was recorded as passed. */
  readonly lapsed: Instant | null
}

/** After so many old readings in a row, the next one waits for a minute. */
export const oldReadingsMax = 3

const unread = { history: [], historyStatus: null, oldReadings: 0, untimed: [] } as const

export const initialContext: ConsentContext = {
  consent: '',
  subject: '',
  reading: { status: 'PENDENTE', createdAt: null, expiresAt: null, controller: null },
  ...{ statusAt: null, since: null },
  ...{ asked: null, askedAt: null, askedUntil: null, lostAt: null, statusesSinceRequest: [] },
  ...{ endWantedAt: null, askableAt: null, refusedEnd: null, requests: 0 },
  ...{ shown: null, shownIn: {}, isShownOld: false },
  ...unread,
  lapsed: null,
}

/** The context once a consent is listed for the first time, or again. */
export function afterAppearing(
  context: ConsentContext,
  { data }: Extract<ConsentEvent, { type: 'consent.appeared' }>,
): Partial<ConsentContext> {
  const { consent, subject, askedAt, answeredAt, ...reading } = data
  const statusAt = learnedAt(data)
  const known = { statusAt, since: null, statusesSinceRequest: withStatus(context, reading.status) }
  return { consent, subject, reading, ...known, askableAt: context.askableAt ?? askedAt ?? null, ...unread }
}

/** Returns when an answer arrived, or when it was asked for if that was not recorded. */
export function learnedAt({ askedAt, answeredAt = askedAt }: AnswerTimes): Instant | null {
  return answeredAt ?? null
}

/** Returns the times of an answer alone. */
export function timesIn({ askedAt, answeredAt }: AnswerTimes): AnswerTimes {
  return { ...(askedAt !== undefined && { askedAt }), ...(answeredAt !== undefined && { answeredAt }) }
}

export function afterMove(context: ConsentContext, moved: StatusMove): Partial<ConsentContext> {
  const { status, since } = moved
  const isUntimed = since === undefined && status !== context.reading.status
  return {
    reading: { ...context.reading, status },
    statusAt: learnedAt(moved) ?? context.statusAt,
    since: since ?? null,
    statusesSinceRequest: withStatus(context, status),
    untimed: isUntimed ? [...context.untimed, status] : context.untimed,
  }
}

/** The context after a full reading. The history of an old one does not replace the known one. */
export function afterDescription(
  context: ConsentContext,
  { data: { history, status, isOld } }: Extract<ConsentEvent, { type: 'consent.described' }>,
): Partial<ConsentContext> {
  if (isOld) return { oldReadings: Math.min(context.oldReadings + 1, oldReadingsMax) }
  // A history that ends with the shown status is complete.
  const isBehind = history.at(-1)?.status !== status && isBeginning(context.history, history)
  const untimed = isBehind ? passEntries(history, context.history.length, context.untimed).missing : []
  return { history, historyStatus: status, oldReadings: 0, untimed }
}

function withStatus({ statusesSinceRequest }: ConsentContext, status: ConsentStatus): readonly ConsentStatus[] {
  return consentStatuses.filter(each => each === status || statusesSinceRequest.includes(each))
}

export interface ConsentView extends ConsentContext {
  readonly isVanished: boolean
  /** Never read, or vanished. */
  readonly isUnknown: boolean
  /** A reading differs from what is known. */
  readonly isUncertain: boolean
  /** A full reading is requested and has not ended. */
  readonly isReadingPending: boolean
  /** We asked for its end, and no end has been shown. */
  readonly isEndWanted: boolean
  /** Its end is wanted, or was given up while its request may still be made. */
  readonly isEndPossible: boolean
  /** What became of our change: it is under way, its answer was lost, or the answer showed another status. */
  readonly change: 'none' | 'requested' | 'lost' | 'contrary'
}

/**
 * The events from the recorded status to the shown one: those of the history, or else one without a time. What an old
 * reading shows ends no request of ours, which may be later.
 */
export function movesOf(
  held: ConsentView,
  shown: ConsentStatus,
  history: readonly HistoryEntry[],
  { isOld = false, ...times }: AnswerTimes & { readonly isOld?: boolean },
): readonly StatusEvent[] {
  const { reading, asked, change } = held
  const steps = newSteps(held, shown, history)
  // The status shown now ends the change, whenever it began.
  const isEnding = (step: StatusStep) =>
    !isOld &&
    asked !== null &&
    endsChange(asked, step.status) &&
    (step === steps.at(-1) || isAfterAsking(held, step.since))
  const isDone = steps.some(step => step.status === asked && isEnding(step))
  let from = reading.status
  let isUnresolved = change === 'lost'
  return steps.map(step => {
    const { status, since } = step
    const isResolving = isUnresolved && isEnding(step) && (!isDone || status === asked)
    // A deferred or pending change cannot be distinguished from somebody else's.
    const by = isResolving && isDone && mayBeOurs(held, step) ? 'us' : 'service'
    const told = { ...(since !== null && { since }), ...(step === steps.at(-1) && times), ...(isOld && { isOld }) }
    const made = move(from, { status, by, ...told })
    from = status
    if (!isResolving) return made
    isUnresolved = false
    return { ...made, ...resolution(isDone) }
  })
}

/**
 * Checks that an entry, which is not the last, is from after our request. Clocks differ: a pending denial or revocation
 * is ended only by a certainly later entry, an approval by an entry that may be later. For a lost denial or revocation,
 * the times count to the second: if the service's clock is ahead, our end and one just before it look the same.
 */
function isAfterAsking({ asked, askedAt, change }: OpenChange, since: Instant | null): boolean {
  if (askedAt === null) return true
  if (since === null) return false
  const afterMs = fromInstant(since) - fromInstant(askedAt)
  if (asked === 'ATIVO') return afterMs >= -clocksDifferMaxMs
  return change === 'requested' ? afterMs >= clocksDifferMaxMs : isToTheSecond(afterMs)
}

/** Our change while it is not known what became of it. */
export type OpenChange = Pick<ConsentView, 'asked' | 'askedAt' | 'change'>

/**
 * Checks that a recorded status ends our change: it is not of an old reading, nor from a history's entry before our
 * request. The newest status of a reading, which names the reading, ends it whenever it began.
 */
export function endsOpenChange(open: OpenChange, { status, since, askedAt, isOld }: Omit<StatusMove, 'by'>): boolean {
  if (isOld || open.asked === null || !endsChange(open.asked, status)) return false
  return since === undefined || askedAt !== undefined || isAfterAsking(open, since)
}

/** Checks that a recorded status is the end that is wanted, whoever made it. */
export function isWantedEnd(
  { endWantedAt, isLost }: { readonly endWantedAt: Instant | null; readonly isLost: boolean },
  shown: Omit<StatusMove, 'by'>,
): boolean {
  return endsOpenChange({ asked: 'REVOGADO', askedAt: endWantedAt, change: isLost ? 'lost' : 'requested' }, shown)
}

/** Checks that a withheld change that is still open was sent before: the service may have made it. */
export function isMaybeMade({ asked }: Pick<ConsentView, 'asked'>, withheld: WithheldChange): boolean {
  return withheld.sentBefore === true && withheld.asked === asked
}

/** How many requests for what is wanted were made, without those that certainly never left. */
export function countRequests(
  { endWantedAt, requests }: Pick<ConsentContext, 'endWantedAt' | 'requests'>,
  event: ConsentEvent,
): number {
  if (event.type === 'consent.changeRepeated') return requests + 1
  if (event.type !== 'consent.changeRequested' && event.type !== 'consent.endWanted') return requests
  const made = event.type === 'consent.changeRequested' ? 1 : 0
  // One that was given up may still be made.
  const isMore = endWantedAt !== null || ('instead' in event.data && event.data.instead !== 'ATIVO')
  return isMore ? Math.max(0, requests + made - (event.data.isUnsent ? 1 : 0)) : made
}

/** Checks that no request for what is wanted has left, when the one that waits is withdrawn. */
export function isNeverSent({ requests }: Pick<ConsentContext, 'requests'>, { isUnsent }: WithdrawnEnd): boolean {
  return isUnsent === true && requests <= 1
}

/** Checks that one has, or may have: that the one which waits never left says nothing of those before it. */
export function isMaybeSent(held: Pick<ConsentContext, 'requests'>, withdrawn: WithdrawnEnd): boolean {
  return (withdrawn.isUnsent || withdrawn.sentBefore) === true && !isNeverSent(held, withdrawn)
}

/** The service may write whole seconds. */
function isToTheSecond(afterMs: number): boolean {
  return afterMs > -1_000
}

/** Checks that an entry may be of our change whose answer was lost. */
function mayBeOurs({ askedAt }: ConsentView, { since }: StatusStep): boolean {
  return since === null || askedAt === null || fromInstant(since) - fromInstant(askedAt) >= -clocksDifferMaxMs
}

/**
 * Checks that a shown status ends our change. Only an end ends a denial or a revocation: an open status may be of an
 * outdated copy or somebody else's change. Any status but PENDENTE ends an approval.
 */
export function endsChange(asked: RequestableStatus, status: ConsentStatus): boolean {
  return asked === 'ATIVO' ? status !== 'PENDENTE' : !isOpen(status)
}

interface StatusStep {
  readonly status: ConsentStatus
  readonly since: Instant | null
}

/** The new entries of a history. One that contradicts the shown or the recorded status is ignored. */
function newSteps(held: ConsentView, shown: ConsentStatus, history: readonly HistoryEntry[]): readonly StatusStep[] {
  const { status } = held.reading
  const last = history.at(-1)
  const isTold = last?.status === shown
  const plain: StatusStep[] = status === shown ? [] : [{ status: shown, since: isTold ? last.since : null }]
  if (!isTold) return plain
  const steps = history
    .slice(firstNew(held, history))
    .flatMap(entry => (entry.status === null ? [] : [{ ...entry, status: entry.status }]))
  const news = steps[0]?.status === status ? steps.slice(1) : steps
  return news.length > 0 ? news : plain
}

/** Returns the index of the first new entry: after the known ones, after the recorded status, or at our own change. */
function firstNew(held: ConsentView, history: readonly HistoryEntry[]): number {
  const { reading, history: known, untimed } = held
  if (known.length > 0 && isBeginning(known, history)) return passEntries(history, known.length, untimed).next
  const first = history.findIndex(entry => entry.status === reading.status)
  const last = history.findLastIndex(entry => entry.status === reading.status)
  // Without an entry for the recorded status, only the last one is certainly new.
  if (last === -1) return history.length - 1
  const own = history.findIndex((entry, i) => i > first && isOwn(held, entry))
  // An end in a list was not recorded, and the consent was given again since.
  const seen = isEndShown(held.shown) ? history.findLastIndex(({ status }) => status === held.shown) : -1
  return Math.min(last + 1, ...[own, seen].filter(at => at > first))
}

/** Checks that an entry is of our change whose answer was lost. */
function isOwn({ asked, askedAt, change }: ConsentView, { status, since }: HistoryEntry): boolean {
  if ((change !== 'lost' && change !== 'contrary') || status !== asked || askedAt === null || since === null)
    return false
  return isToTheSecond(fromInstant(since) - fromInstant(askedAt))
}

/** The event of a status change. One that is not in the contract's table is a conflict, marked as an anomaly. */
export function move(held: ConsentStatus, data: StatusMove): StatusEvent {
  const type = moveType(held, data.status)
  if (type) return { type, data }
  const anomaly = `no move leads from ${held} to ${data.status}`
  return { type: 'consent.conflicted', data: { ...data, held }, anomaly }
}

/** Ends the effect whose answer was lost. */
export function resolution(isDone: boolean): Pick<Event, 'resolves'> {
  return { resolves: { effect: 'consentService.changeStatus', as: isDone ? 'settled' : 'declined' } }
}

/** The types of the events that change a consent's status. */
export const moveTypes = [
  ...(['consent.approved', 'consent.denied', 'consent.revoked', 'consent.expired'] as const),
  'consent.conflicted',
] as const

/** Checks that an event changes a consent's status. */
export function isMove<E extends { readonly type: string }>(
  event: E,
): event is Extract<E, { readonly type: StatusEvent['type'] }> {
  return moveTypes.some(type => type === event.type)
}

/** The types of the events that show a consent's status: they may end our change. */
export const showingTypes = [...moveTypes, 'consent.appeared', 'consent.confirmed'] as const

export function showsStatus<E extends { readonly type: string }>(
  event: E,
): event is Extract<E, { readonly type: (typeof showingTypes)[number] }> {
  return showingTypes.some(type => type === event.type)
}
