import type { StandingReason } from '../../machines/consent/standing.ts'
import type { SubjectEvent } from '../../machines/subject/messages.ts'
import type { Clock } from '../../runtime/clock.ts'
import { logPageRows } from '../../store/log/read.ts'
import type { Store } from '../../store/store.ts'
import { fromInstant, nearNowMs, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { RecordedOf } from '../../vocabulary/view.ts'
import type { SubjectRef } from '../subject-directory.ts'
import { type ConsentRecorded, evaluateAt } from './timeline.ts'

/** What the log holds of a consent up to a position. */
export interface ConsentHistory {
  readonly stream: string | undefined
  /** Without its uses, unless they were asked for: they change nothing about it, and there may be many. */
  readonly events: readonly ConsentRecorded[]
  /** The newest of its stream, which may be a use. */
  readonly last: ConsentRecorded | undefined
  readonly synced: RecordedOf<Extract<SubjectEvent, { type: 'subject.synced' }>> | undefined
}

/** Up to which position a consent is told of, included, and whether with its uses. */
interface ConsentHistoryOptions {
  readonly until?: number
  readonly withUses?: boolean
}

/** Reads what the log holds of a consent, by its id at the service, up to a position: included. */
export async function readStory(
  store: Pick<Store, 'read' | 'lookUp'>,
  subject: SubjectRef,
  id: string,
  options: ConsentHistoryOptions = {},
): Promise<ConsentHistory> {
  const consent = await store.lookUp('consent', `${subject}\0${id}`)
  const stream = consent === undefined ? undefined : streamOf('consent', consent)
  if (stream === undefined) return { stream, events: [], last: undefined, synced: undefined }
  const { events, last } = await readConsentEvents(store, stream, options)
  const [first] = events
  return {
    stream,
    events,
    last,
    synced: first && (await syncedSince(store, subject, first.position, options.until)),
  }
}

/** Reads the events of a consent's stream up to a position, and which one is the newest. */
export async function readConsentEvents(
  store: Pick<Store, 'read'>,
  stream: string,
  { until = Number.MAX_SAFE_INTEGER, withUses = false }: ConsentHistoryOptions = {},
): Promise<Pick<ConsentHistory, 'events' | 'last'>> {
  const after = Math.min(until + 1, Number.MAX_SAFE_INTEGER)
  const newest = (await store.read({ stream, after, backward: true, limit: 1 })) as ConsentRecorded[] // Its own stream.
  const filter = { stream, ...(!withUses && { exceptTypes: useTypes }) }
  const events: ConsentRecorded[] = []
  for (;;) {
    const page = await store.read({ ...filter, after: events.at(-1)?.position ?? 0 })
    const known = page.filter(({ position }) => position <= until)
    events.push(...(known as ConsentRecorded[])) // As above.
    if (known.length < logPageRows) return { events, last: newest[0] }
  }
}

const useTypes: readonly ConsentRecorded['type'][] = ['consent.used', 'consent.useRefused']

/** The last list that covers it: in one that is partial it may be what is missing. */
async function syncedSince(
  store: Pick<Store, 'read'>,
  subject: SubjectRef,
  since: number,
  until = Number.MAX_SAFE_INTEGER,
): Promise<ConsentHistory['synced']> {
  const filter = {
    stream: streamOf('subject', subject),
    types: ['subject.synced'],
    backward: true,
    limit: 50,
  }
  for (let before = Math.min(until + 1, Number.MAX_SAFE_INTEGER); ; ) {
    // Of this type alone.
    const page = (await store.read({ ...filter, after: before })) as NonNullable<ConsentHistory['synced']>[]
    const found = page.find(({ position, data }) => position > since && !data.isPartial)
    const last = page.at(-1)
    if (found || !last || last.position <= since) return found
    before = last.position
  }
}

/** When a list was asked for. */
export function askedAtOf(synced: ConsentHistory['synced']): Instant | null {
  return synced ? (synced.data.askedAt ?? synced.at) : null
}

/** Says whether a consent stood, by what is read of it. */
export function answerFrom(
  { events, last, synced }: ConsentHistory,
  at: Instant,
  knownAt: Instant,
  { ageMaxMs, askedAt }: { readonly ageMaxMs?: number | undefined; readonly askedAt?: Instant },
): Standing {
  const syncedAt = askedAtOf(synced)
  const told = evaluateAt(events, { at, knownAt, askedAt, ageMaxMs: ageMaxMs ?? null, syncedAt })
  const { reason, readAt, expiresAt } = told
  const effective = reason === 'active'
  return {
    effective,
    reason,
    ...(readAt !== null && { readAt }),
    ...(effective && expiresAt !== null && { until: expiresAt }),
    position: Math.max(last?.position ?? 0, synced?.position ?? 0),
  }
}

/**
 * The same about an instant that a host names. One of about now also means now by the log, whose times stay ahead after
 * a clock was: what they recorded already counts. Where the two answers differ, the one counts by which the consent
 * does not stand.
 */
export function answerAbout(
  story: ConsentHistory,
  at: Instant,
  knownAt: Instant,
  options: Parameters<typeof answerFrom>[3],
  clock: Clock,
): Standing {
  const standing = answerFrom(story, at, knownAt, options)
  const recordedAt = lastOf(story)
  const isNow = recordedAt > clock.now() && fromInstant(at) >= clock.now() - nearNowMs
  if (!standing.effective || !isNow || recordedAt <= fromInstant(at)) return standing
  return answerFrom(story, toInstant(recordedAt), knownAt, options)
}

/** Now, but never before what is recorded: the system's clock may have been set back. */
export function nowAfter(story: ConsentHistory, clock: Clock): Instant {
  return toInstant(Math.max(clock.now(), lastOf(story)))
}

function lastOf({ last, synced }: ConsentHistory): number {
  return Math.max(0, ...[last, synced].flatMap(event => (event ? [fromInstant(event.at)] : [])))
}

/** Whether a consent stands, and why. */
export interface Standing {
  readonly effective: boolean
  readonly reason: StandingReason
  /** When the last reading of the service that covers the consent was asked for. */
  readonly readAt?: Instant
  /** When it expires, where it stands. */
  readonly until?: Instant
  /** The newest event that the answer rests on; 0 when there is none. */
  readonly position: number
  /** Of a use: whether it was decided before, under the same command id. */
  readonly replayed?: boolean
}
