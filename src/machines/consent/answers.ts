import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Effect, Instant } from '../../vocabulary/message.ts'
import type { ConsentView } from './context.ts'
import type { AnsweredChange, ConsentEvent, ConsentReading } from './events.ts'
import { move, resolution } from './moves.ts'
import { amendment, concurrentRead, lateChangeMs } from './readings.ts'
import type { ConsentStatus, RequestableStatus } from './status.ts'

/** The service answered our request for a change with the consent as it stands now. */
export function answered(
  held: ConsentView,
  given: ConsentReading & AnsweredChange,
  read: Effect,
): readonly ConsentEvent[] {
  const { status, askedAt } = given
  if (!isUnderWay(held, given.asked)) return [late(given.asked, status), ...concurrentRead(held, given)]
  const said = { status, ...(askedAt !== undefined && { askedAt }) }
  // Of a consent that is no longer listed only the status is kept: the list that shows it again tells the rest.
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
    // A service that answers from an older copy would show that copy to an immediate reading too.
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

/** The service refused a change that its own table allows: something differs from what we hold. */
export function refused(
  held: ConsentView,
  { httpStatus, asked }: { readonly httpStatus: number } & AnsweredChange,
  read: Effect,
): ConsentEvent {
  if (!isUnderWay(held, asked)) return late(asked, null)
  const data = { httpStatus, ...(held.asked !== null && { asked: held.asked }) }
  return { type: 'consent.changeDeclined', data, effects: [read] }
}

/** The outcome of a change is unknown: a reading in full will find it, unless a reading has told already. */
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

/** Reports whether this very change is out or in doubt. Another one may have been asked for since. */
function isUnderWay(held: ConsentView, asked: RequestableStatus | undefined): boolean {
  return held.asked !== null && (asked === undefined || held.asked === asked)
}

/** A reading has already told the outcome: the answer ends the call, and changes nothing else. */
function late(asked: RequestableStatus | undefined, status: ConsentStatus | null): ConsentEvent {
  return { type: 'consent.answeredLate', data: { asked: asked ?? null, status } }
}

/** What a list showed while the change was out is in doubt as before. */
function stillShown({ shown, shownAt }: ConsentView, status: ConsentStatus): readonly ConsentEvent[] {
  if (shown === null || shown === status) return []
  const when = shownAt !== null && { askedAt: shownAt }
  const data = { status: shown === 'unreadable' ? null : shown, isConcurrentRead: true, ...when } as const
  return [{ type: 'consent.changeSeen', data }]
}
