import type { StandingReason } from '../../machines/consent/standing.ts'
import type { Clock } from '../../runtime/clock.ts'
import { GenerationalCache } from '../../runtime/generational-cache.ts'
import { damagedLogError } from '../../store/log/header.ts'
import { fromInstant, nearNowMs, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { findStream, readEvents, recordKey } from '../api-context.ts'
import { isBy, type LogStore, type Recorded } from '../events.ts'
import type { SubjectRef } from '../subject-directory.ts'
import { type ConsentRecorded, evaluateAt, lastReadAt } from './timeline.ts'

/** What the log holds about a consent up to a position. */
export interface ConsentHistory {
  readonly stream: string | undefined
  /** Without uses unless asked for: there may be many, and they do not change the consent. */
  readonly events: readonly ConsentRecorded[]
  /** The newest event of its stream; it may be a use. */
  readonly last: ConsentRecorded | undefined
  readonly synced: Recorded<'subject.synced'> | undefined
}

interface ConsentHistoryOptions {
  /** The last position that counts. */
  readonly until?: number
  readonly withUses?: boolean
}

/** Reads what the log holds about a consent, by its id at the service, up to and including a position. */
export async function readConsentHistory(
  store: EventStore & Pick<LogStore, 'lookUp'>,
  subject: SubjectRef,
  id: string,
  options: ConsentHistoryOptions = {},
): Promise<ConsentHistory> {
  const stream = await findStream(store, 'consent', recordKey(subject, id))
  if (stream === undefined) return { stream, events: [], last: undefined, synced: undefined }
  const { events, last } = await readConsentEvents(store, stream, options)
  const [first] = events
  return { stream, events, last, synced: first && (await readLastSynced(store, subject, events, options.until)) }
}

type ConsentEvents = Pick<ConsentHistory, 'events' | 'last'>
type EventStore = Pick<LogStore, 'read' | 'lastVersion'>

/**
 * Reads what happened to a consent, up to and including a position.
 *
 * @throws {AverbaError} `CORRUPT` when an event is damaged or missing
 */
export async function readConsentEvents(
  store: EventStore,
  stream: string,
  { until = lastPosition, withUses = false }: ConsentHistoryOptions = {},
): Promise<ConsentEvents> {
  const known = withUses ? await readOn(store, stream, none, () => true) : await readKnown(store, stream)
  if (until === lastPosition) return known
  const [last] = await store.read({ stream, after: until + 1, backward: true, limit: 1 })
  const events = known.events.filter(({ position }) => position <= until)
  return { events, last: last && isBy(last, 'consent') ? last : undefined }
}

const none: ConsentEvents = { events: [], last: undefined }
/** What was read of the consents of a log, so that old uses are read once. */
const knownOf = new WeakMap<EventStore, GenerationalCache<string, Promise<ConsentEvents>>>()
const keptConsentsMin = 500

/** Reads on from where the last reading of the consent ends, which may be under way. */
function readKnown(store: EventStore, stream: string): Promise<ConsentEvents> {
  const known = knownOf.get(store) ?? new GenerationalCache(keptConsentsMin)
  knownOf.set(store, known)
  const before = known.get(stream)?.catch(() => none) ?? Promise.resolve(none)
  const read = before.then(each => readOn(store, stream, each, ({ type }) => !useTypes.has(type)))
  known.set(stream, read)
  return read
}

/**
 * Reads the events after those that are known. Whoever can write the file may give a row another type or stream: no
 * column selects here, and none may be missing.
 */
async function readOn(
  store: EventStore,
  stream: string,
  known: ConsentEvents,
  isKept: (event: ConsentRecorded) => boolean,
): Promise<ConsentEvents> {
  const end = await store.lastVersion(stream)
  let { last } = known
  if (last?.version === end) return known
  const events = [...known.events]
  for await (const event of readEvents(store, { stream, fromVersion: (last?.version ?? 0) + 1 })) {
    if (!isBy(event, 'consent') || event.version !== (last?.version ?? 0) + 1) break
    if (isKept(event)) events.push(event)
    last = event
  }
  if ((last?.version ?? 0) < end) throw damagedLogError(`Events of "${stream}" are missing`)
  return { events, last }
}

/** The next position is still a safe integer. */
const lastPosition = Number.MAX_SAFE_INTEGER - 1
const useTypes: ReadonlySet<ConsentRecorded['type']> = new Set(['consent.used', 'consent.useRefused'])

/** The last list that covers a consent. A partial list may lack it, and so may one limited to another controller. */
async function readLastSynced(
  store: Pick<LogStore, 'read'>,
  subject: SubjectRef,
  events: readonly ConsentRecorded[],
  until = lastPosition,
): Promise<ConsentHistory['synced']> {
  const since = events[0]?.position ?? lastPosition
  const own = controllerIn(events)
  const covers = ({ isPartial, controller }: Recorded<'subject.synced'>['data']) =>
    !isPartial && (controller === undefined || controller === own)
  const lists = { stream: streamOf('subject', subject), types: ['subject.synced'], limit: 50 } as const
  for await (const synced of readEvents(store, { ...lists, after: until + 1, backward: true })) {
    if (synced.position <= since) break
    if (covers(synced.data)) return synced
  }
  return undefined
}

export function controllerIn(events: readonly ConsentRecorded[]): string | null {
  const shown = events.findLast(each => each.type === 'consent.appeared' || each.type === 'consent.amended')
  return shown?.data.controller ?? null
}

export function readAtOf({ events, synced }: ConsentHistory): Instant | null {
  return lastReadAt(events, askedAtOf(synced))
}

function askedAtOf(synced: ConsentHistory['synced']): Instant | null {
  return synced ? (synced.data.askedAt ?? synced.at) : null
}

export function standingFrom(
  { events, last, synced }: ConsentHistory,
  at: Instant,
  knownAt: Instant,
  { ageMaxMs, askedAt }: { readonly ageMaxMs?: number | undefined; readonly askedAt?: Instant },
): Standing {
  const syncedAt = askedAtOf(synced)
  const answer = evaluateAt(events, { at, knownAt, askedAt, ageMaxMs: ageMaxMs ?? null, syncedAt })
  const { reason, readAt, expiresAt } = answer
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
 * The same for an instant that the host gives. After a clock ran ahead, the log's times stay ahead: an instant close to
 * now then also covers what they recorded. If the two answers differ, the one that is not effective counts.
 */
export function standingAt(
  history: ConsentHistory,
  at: Instant,
  knownAt: Instant,
  options: Parameters<typeof standingFrom>[3],
  clock: Clock,
): Standing {
  const standing = standingFrom(history, at, knownAt, options)
  const recordedAt = lastRecordedMs(history)
  const isNow = recordedAt > clock.now() && fromInstant(at) >= clock.now() - nearNowMs
  if (!standing.effective || !isNow || recordedAt <= fromInstant(at)) return standing
  return standingFrom(history, toInstant(recordedAt), knownAt, options)
}

/** Now, but not before the last recorded event: the system clock may have been set back. */
export function nowAfter(history: ConsentHistory, clock: Clock): Instant {
  return toInstant(Math.max(clock.now(), lastRecordedMs(history)))
}

function lastRecordedMs({ last, synced }: ConsentHistory): number {
  return Math.max(0, ...[last, synced].flatMap(event => (event ? [fromInstant(event.at)] : [])))
}

/** Whether a consent is effective, and why. */
export interface Standing {
  readonly effective: boolean
  readonly reason: StandingReason
  /** When the last reading that covers the consent was requested. */
  readonly readAt?: Instant
  /** When it expires; only for an effective consent. */
  readonly until?: Instant
  /** The position of the newest event behind the answer; 0 without events. */
  readonly position: number
  /** Only for a use: it was decided before, under the same command id. */
  readonly replayed?: boolean
}
