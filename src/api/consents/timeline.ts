import { heldOf } from '../../machines/consent/chart.ts'
import { evolveConsent, initialConsent } from '../../machines/consent/consent.ts'
import { isMove } from '../../machines/consent/moves.ts'
import {
  judge,
  type KnownConsent,
  type StandingQuestion,
  type StandingReason,
} from '../../machines/consent/standing.ts'
import { type ConsentStatus, type History, statusBy } from '../../machines/consent/status.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { RecordedBy } from '../events.ts'

export type ConsentRecorded = RecordedBy<'consent'>

interface StatusChange {
  readonly status: ConsentStatus | 'vanished'
  readonly from: Instant
  readonly event: ConsentRecorded
}

interface RecordedExpiry {
  readonly expiresAt: Instant | null
  readonly from: Instant
}

interface ReadHistory extends History {
  readonly readAt: Instant
}

/** `syncedAt` is when the last list that covers the consent was requested. */
type TimelineQuestion = StandingQuestion & { readonly syncedAt: Instant | null }

interface TimelineAnswer {
  readonly reason: StandingReason
  readonly readAt: Instant | null
  readonly expiresAt: Instant | null
}

/**
 * Says whether a consent was effective at an instant, by its events. Pure. Two accounts have to agree: the changes as
 * recorded, and every history read by then. If they differ, the one that is not effective counts.
 */
export function evaluateAt(events: readonly ConsentRecorded[], asked: TimelineQuestion): TimelineAnswer {
  return replayTimeline(events)(asked)
}

/** Replays the events of a consent once, for any number of such questions. */
export function replayTimeline(events: readonly ConsentRecorded[]): (asked: TimelineQuestion) => TimelineAnswer {
  let state = initialConsent
  let askedAt: Instant | null = null
  let shownAt: Instant | null = null
  const changes: StatusChange[] = []
  const expiries: RecordedExpiry[] = []
  const histories: ReadHistory[] = []
  const blocked: { from: Instant; until: Instant | null }[] = []
  let held = heldOf(state)
  for (const event of events) {
    const doubted = [(held.isEndWanted || held.asked) && askedAt, held.isUncertain && shownAt].filter(
      each => each !== null && each !== false,
    )
    changes.push(...statusChangesBy(event, doubted, changes.at(-1)))
    if (event.type === 'consent.appeared' || event.type === 'consent.amended')
      expiries.push({ expiresAt: event.data.expiresAt, from: event.at })
    // A repeated denial or revocation keeps the doubt that began with the first.
    const isApproval = event.type === 'consent.changeRequested' && event.data.status === 'ATIVO'
    const isRequest = event.type === 'consent.changeRequested' || event.type === 'consent.endWanted'
    if (isApproval || (isRequest && !held.isEndWanted)) askedAt = event.at
    if (!held.isUncertain) shownAt = event.at
    const wasBlocked = held.isEndPossible
    state = evolveConsent(state, event)
    held = heldOf(state)
    if (held.isEndPossible && !wasBlocked) blocked.push({ from: event.at, until: null })
    const span = blocked.at(-1)
    if (!held.isEndPossible && wasBlocked && span) span.until = event.at
    if (event.type === 'consent.described') {
      const { history, status: historyStatus, askedAt: readAt = event.at } = event.data
      histories.unshift({ history, historyStatus, readAt })
    }
  }
  const { expiresAt } = held.reading
  return asked => {
    const { at, syncedAt } = asked
    const readAt = lastReadAt(events, syncedAt)
    const isAsked = askedAt !== null && at >= askedAt
    const isShown = shownAt !== null && at >= shownAt
    const status = statusAt(changes, histories, at)
    if (status === 'unknown') return { reason: 'uncertain', readAt, expiresAt }
    const known: KnownConsent = {
      status: status === 'vanished' ? held.reading.status : status,
      since: null,
      expiresAt: expiryAt(expiries, at),
      isVanished: status === 'vanished',
      isUncertain: held.isUncertain && isShown,
      shown: isShown ? held.shown : null,
      isEndPossible: blocked.some(({ from, until }) => at >= from && (until === null || at < until)),
      change: isAsked ? held.change : 'none',
      readAt,
    }
    return { reason: judge(known, asked), readAt, expiresAt }
  }
}

/**
 * From when a change counts. An end counts from the service's time or ours, whichever is earlier; ours is when we
 * requested the end, or a list showed it. A beginning counts from the service's time, unless an end was known by then.
 */
function statusChangesBy(
  event: ConsentRecorded,
  doubted: readonly Instant[],
  before: StatusChange | undefined,
): StatusChange[] {
  if (event.type === 'consent.appeared') return [{ status: event.data.status, from: event.at, event }]
  if (event.type === 'consent.vanished') return [{ status: 'vanished', from: earliest(event.at, ...doubted), event }]
  if (!isMove(event)) return []
  const { status, since } = event.data
  if (status !== 'ATIVO') return [{ status, from: earliest(since ?? event.at, event.at, ...doubted), event }]
  const isDated = since !== undefined && !(before && hadEnded(before, since, event))
  return [{ status, from: isDated ? since : event.at, event }]
}

/** Reports whether an earlier reading showed an end by an instant. Events of one reading have consecutive versions. */
function hadEnded({ status, event }: StatusChange, at: Instant, by: ConsentRecorded): boolean {
  const isEnd = status !== 'ATIVO' && status !== 'PENDENTE'
  return isEnd && event.version !== by.version - 1 && at < event.at
}

/** The expiry that counts at an instant: the earliest of the one known then and those read later. */
function expiryAt(expiries: readonly RecordedExpiry[], at: Instant): Instant | null {
  const first = expiries.findLastIndex(({ from }) => from <= at)
  const counting = expiries.slice(Math.max(first, 0)).map(each => each.expiresAt)
  if (counting.length === 0 || counting[0] === null || counting.at(-1) === null) return null
  return earliest(...counting.filter(each => each !== null))
}

function earliest(...instants: readonly Instant[]): Instant {
  return toInstant(Math.min(...instants.map(fromInstant)))
}

function statusAt(
  changes: readonly StatusChange[],
  histories: readonly ReadHistory[],
  at: Instant,
): StatusChange['status'] | 'unknown' | null {
  let isDated = false
  for (const each of histories) {
    if (at > each.readAt || each.history.length === 0) continue
    const status = statusBy(each, at)
    if (status === undefined) continue
    if (status !== 'ATIVO') return status
    isDated = true
  }
  const recorded = changes.findLast(({ from }) => from <= at)?.status ?? null
  return isDated && (recorded === null || recorded === 'PENDENTE') ? 'ATIVO' : recorded
}

/** When the last reading of a consent was requested, by its events and the last list that covers it. */
export function lastReadAt(events: readonly ConsentRecorded[], syncedAt: Instant | null): Instant | null {
  const all = [...events.map(readAtOf), syncedAt].filter(at => typeof at === 'string')
  return all.toSorted().at(-1) ?? null
}

/** When the reading behind an event was requested. For a list, that is when the list was requested. */
function readAtOf(event: ConsentRecorded): Instant | undefined {
  if (event.type === 'consent.described' || event.type === 'consent.appeared') return event.data.askedAt ?? event.at
  return event.type === 'consent.confirmed' || isMove(event) ? event.data.askedAt : undefined
}
