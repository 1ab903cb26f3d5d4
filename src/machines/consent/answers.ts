import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Effect, Instant } from '../../vocabulary/message.ts'
import type { ConsentView } from './context.ts'
import type { AnsweredChange, ConsentEvent, ConsentReading } from './events.ts'
import { move, resolution } from './moves.ts'
import { amendment, concurrentRead, lateChangeMs } from './readings.ts'
import type { ConsentStatus, RequestableStatus } from './status.ts'

/** The events when the service answers a requested change with the consent's current state. */
export function answered(
  held: ConsentView,
  given: ConsentReading & AnsweredChange,
  read: Effect,
): readonly ConsentEvent[] {
  const { status, askedAt } = given
  if (!isUnderWay(held, given.asked)) return [late(given.asked, status), ...concurrentRead(held, given)]
  const said = { status, ...(askedAt !== undefined && { askedAt }) }
  // If the consent is not listed, only the status counts: the next list that shows it has the rest.
  const amended = held.isVanished ? [] : amendment(held, given)
  return [...amended, answer(held, said, read), ...stillShown(held, status)]
}

function answer(
  { reading, asked, isVanished }: ConsentView,
  said: { readonly status: ConsentStatus; readonly askedAt?: Instant },
  read: Effect,
): ConsentEvent {
  if (asked !== null && said.status !== asked) {
    const data = { ...said, by: 'service', held: reading.status, isContrary: true } as const
    const anomaly = `the service was asked for ${asked}`
    // The service may have answered from an outdated copy, so the reading waits.
    const dueAt = said.askedAt && { dueAt: toInstant(fromInstant(said.askedAt) + lateChangeMs) }
    return { type: 'consent.conflicted', data, anomaly, effects: [{ ...read, ...dueAt }] }
  }
  if (isVanished) {
    const data = { ...said, by: 'us', held: reading.status, isVanished } as const
    return { type: 'consent.conflicted', data, anomaly: 'the service no longer lists it' }
  }
  if (said.status === reading.status) return { type: 'consent.confirmed', data: said }
  return move(reading.status, { ...said, by: 'us' })
}

/** The event when the service declines a change that its own table allows: its state differs from ours. */
export function refused(
  held: ConsentView,
  { httpStatus, asked }: { readonly httpStatus: number } & AnsweredChange,
  read: Effect,
): ConsentEvent {
  if (!isUnderWay(held, asked)) return late(asked, null)
  const data = { httpStatus, ...(held.asked !== null && { asked: held.asked }) }
  return { type: 'consent.changeDeclined', data, effects: [read] }
}

/**
 * The event when the outcome of a change is unknown. Requests a full reading, unless one already showed the outcome.
 */
export function lost(
  held: ConsentView,
  { status, lostAt }: { readonly status?: RequestableStatus; readonly lostAt?: Instant },
  read: Effect,
): ConsentEvent {
  if (!isUnderWay(held, status))
    return {
      ...late(status, null),
      ...resolution(status !== undefined && held.statusesSinceRequest.includes(status)),
    }
  const data = lostAt === undefined ? {} : { lostAt }
  return { type: 'consent.changeLost', data, effects: [read] }
}

/** Checks that this change is still pending or uncertain: another one may have been requested since. */
function isUnderWay(held: ConsentView, asked: RequestableStatus | undefined): boolean {
  return held.asked !== null && (asked === undefined || held.asked === asked)
}

/** The event when a reading already showed the outcome: the answer only ends the effect. */
function late(asked: RequestableStatus | undefined, status: ConsentStatus | null): ConsentEvent {
  return { type: 'consent.answeredLate', data: { asked: asked ?? null, status } }
}

/** A status that a list showed while the change was pending stays uncertain. */
function stillShown({ shown, shownAt }: ConsentView, status: ConsentStatus): readonly ConsentEvent[] {
  if (shown === null || shown === status) return []
  const when = shownAt !== null && { askedAt: shownAt }
  const data = { status: shown === 'unreadable' ? null : shown, isConcurrentRead: true, ...when } as const
  return [{ type: 'consent.changeSeen', data }]
}
