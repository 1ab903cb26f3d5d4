import { heldOf } from '../../machines/consent/chart.ts'
import { consentMachine } from '../../machines/consent/consent.ts'
import type { ConsentEvent } from '../../machines/consent/events.ts'
import { type History, isContradicted, statusBy } from '../../machines/consent/history.ts'
import { judge, type KnownConsent, type StandingReason } from '../../machines/consent/standing.ts'
import type { ConsentStatus, RequestableStatus } from '../../machines/consent/status.ts'
import type { MachineState } from '../../machines/definition/machine.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { RecordedOf } from '../../vocabulary/view.ts'

/** An event of a consent's stream. */
export type ConsentRecorded = RecordedOf<ConsentEvent>

/**
 * The instant that is asked about, the one whose knowledge answers, and when the last list that covers the consent was
 * asked for.
 */
export interface TimelineQuestion {
  readonly at: Instant
  readonly knownAt: Instant
  readonly ageMaxMs: number | null
  /** When the question came, where that was before what was read for it. */
  readonly askedAt?: Instant | undefined
  readonly syncedAt: Instant | null
}

/** What a consent's stream tells of an instant. */
export interface TimelineAnswer {
  readonly reason: StandingReason
  readonly readAt: Instant | null
  readonly expiresAt: Instant | null
}

interface StatusChange {
  readonly status: ConsentStatus | 'vanished'
  readonly from: Instant
  /** The event that tells of it. */
  readonly event: ConsentRecorded
}

/** An expiry as a reading showed it, and when that was recorded. */
interface RecordedExpiry {
  readonly expiresAt: Instant | null
  readonly from: Instant
}

interface ReadHistory extends History {
  readonly readAt: Instant
  /** It may be older than the one that is known, which says whether the consent is contradicted. */
  readonly isOld: boolean
}

type ConsentState = Parameters<typeof heldOf>[0]

/**
 * Says whether a consent stood at an instant, by the events that were there: pure. Two accounts have to agree: the
 * changes as we recorded them, and every history read until then. Where they differ, the one counts by which the
 * consent does not stand.
 */
export function evaluateAt(events: readonly ConsentRecorded[], asked: TimelineQuestion): TimelineAnswer {
  const { at, syncedAt } = asked
  let held = heldOf(consentMachine.initial as ConsentState) // Made by this very machine, here and below.
  let state: MachineState = consentMachine.initial
  let askedAt: Instant | null = null
  let shownAt: Instant | null = null
  let readAt: Instant | null = null
  const changes: StatusChange[] = []
  const expiries: RecordedExpiry[] = []
  const histories: ReadHistory[] = []
  for (const event of events) {
    const doubted = [held.asked && askedAt, held.shown && shownAt].filter(each => each !== null)
    changes.push(...changesBy(event, doubted, changes.at(-1)))
    if (event.type === 'consent.appeared' || event.type === 'consent.amended')
      expiries.push({ expiresAt: event.data.expiresAt, from: event.at })
    // The same no, asked for again, leaves what was in doubt since the first in doubt.
    if (event.type === 'consent.changeRequested' && !(isNo(held.asked) && isNo(event.data.status)))
      askedAt = event.at
    if (event.type === 'consent.changeSeen' && held.shown === null) shownAt = event.at
    state = consentMachine.evolve(state, event)
    held = heldOf(state as ConsentState) // As above.
    if (event.type === 'consent.described') histories.unshift(historyIn(event))
    readAt = latest(readAt, readAtOf(event))
  }
  readAt = latest(readAt, syncedAt)
  const { expiresAt } = held.reading
  const isAsked = askedAt !== null && at >= askedAt
  const then = statusAt(changes, histories, at)
  if (then === 'unknown') return { reason: 'uncertain', readAt, expiresAt }
  const known: KnownConsent = {
    status: then === 'vanished' ? held.reading.status : then,
    since: null,
    expiresAt: expiryAt(expiries, at),
    isVanished: then === 'vanished',
    shown: shownAt !== null && at >= shownAt ? held.shown : null,
    asked: isAsked ? held.asked : null,
    isDoubtful: isAsked && held.isDoubtful,
    // Before it was read, the history itself tells.
    isContradicted: isContradicted(held) && at > (histories.find(each => !each.isOld)?.readAt ?? ''),
    readAt,
  }
  return { reason: judge(known, asked), readAt, expiresAt }
}

function isNo(asked: RequestableStatus | null): boolean {
  return asked === 'NEGADO' || asked === 'REVOGADO'
}

/**
 * When a change counts from. What ends a consent counts from the service's time or ours, whichever comes first, and
 * ours is when the doubt began: when we asked, or when a list showed it. What begins one counts from the service's
 * time where that is known, unless an end was known by then: of that the service tells nothing more.
 */
function changesBy(
  event: ConsentRecorded,
  doubted: readonly Instant[],
  before: StatusChange | undefined,
): StatusChange[] {
  switch (event.type) {
    case 'consent.appeared':
      return [{ status: event.data.status, from: event.at, event }]
    case 'consent.vanished':
      return [{ status: 'vanished', from: earliest(event.at, ...doubted), event }]
    case 'consent.approved':
    case 'consent.denied':
    case 'consent.revoked':
    case 'consent.expired':
    case 'consent.conflicted': {
      const { status, since } = event.data
      if (status === 'ATIVO') {
        const isTold = since !== undefined && !(before && hadEnded(before, since, event))
        return [{ status, from: isTold ? since : event.at, event }]
      }
      return [{ status, from: earliest(since ?? event.at, event.at, ...doubted), event }]
    }
    default:
      return []
  }
}

/** Reports whether an end was known at an instant, by an earlier reading: events of one reading stand side by side. */
function hadEnded({ status, event }: StatusChange, at: Instant, by: ConsentRecorded): boolean {
  const isEnd = status !== 'ATIVO' && status !== 'PENDENTE'
  return isEnd && event.version !== by.version - 1 && at < event.at
}

/** The expiry that counts at an instant: of that which was known then and of those that were read later, the first. */
function expiryAt(expiries: readonly RecordedExpiry[], at: Instant): Instant | null {
  const first = expiries.findLastIndex(({ from }) => from <= at)
  const counting = expiries.slice(Math.max(first, 0)).map(each => each.expiresAt)
  if (counting.length === 0 || counting[0] === null || counting.at(-1) === null) return null
  return earliest(...counting.filter(each => each !== null))
}

/** Instants all have one form, so that as texts they are in order. */
function latest(one: Instant | null, other: Instant | null | undefined): Instant | null {
  return one === null || (other ?? '') > one ? (other ?? null) : one
}

function earliest(...instants: readonly Instant[]): Instant {
  return toInstant(Math.min(...instants.map(fromInstant)))
}

function historyIn({
  at,
  data,
}: RecordedOf<Extract<ConsentEvent, { type: 'consent.described' }>>): ReadHistory {
  const { history, status, askedAt = at, isOld = false } = data
  return { history, historyStatus: status, readAt: askedAt, isOld }
}

/** The status at an instant; null when nothing is known of it. */
function statusAt(
  changes: readonly StatusChange[],
  histories: readonly ReadHistory[],
  at: Instant,
): StatusChange['status'] | 'unknown' | null {
  let isTold = false
  for (const each of histories) {
    if (at > each.readAt || each.history.length === 0) continue
    const status = statusBy(each, at)
    if (status === undefined) continue
    if (status !== 'ATIVO') return status
    isTold = true
  }
  const recorded = changes.findLast(({ from }) => from <= at)?.status ?? null
  return isTold && (recorded === null || recorded === 'PENDENTE') ? 'ATIVO' : recorded
}

/** When what an event shows was asked for. What a list shows is asked for when the list is. */
function readAtOf({ type, at, data }: ConsentRecorded): Instant | undefined {
  switch (type) {
    case 'consent.described':
    case 'consent.appeared':
      return data.askedAt ?? at
    case 'consent.confirmed':
    case 'consent.approved':
    case 'consent.denied':
    case 'consent.revoked':
    case 'consent.expired':
    case 'consent.conflicted':
      return data.askedAt
    default:
      return undefined
  }
}
