import type { Listing } from '../../../adapters/http/answer-body.ts'
import { type ListedFailure, readUnreadable } from '../../../adapters/portal/protocol.ts'
import type { RecordChunk } from '../../../engine/performing/effect-runner.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import type { KeyedLock } from '../../../runtime/locks.ts'
import { undefinedIfStopped } from '../../../store/views/view-reader.ts'
import { brasiliaDay, startOfDay } from '../../../vocabulary/brasilia.ts'
import { answerBytesMax } from '../../../vocabulary/fetch.ts'
import { dayMs, fromInstant, toInstant } from '../../../vocabulary/instant.ts'
import type { Json, MessageWithParts } from '../../../vocabulary/message.ts'
import { portalStream } from '../../../vocabulary/names.ts'
import { type ApiContext, findStream } from '../../api-context.ts'
import type { OutcomeFact, PendingUntil } from '../../effect-types.ts'
import type { LogStore } from '../../events.ts'
import {
  FailurePortion,
  type FailureReading,
  failureContent,
  portionItems,
  splitIntoPortions,
} from './failure-portion.ts'
import {
  failureDelayMaxMs,
  type LinkedFailure,
  type LostNotification,
  NotificationMatcher,
} from './notification-matcher.ts'

/**
 * Records each failure once, in the stream of its event's subscription, or in the portal's for foreign events. With
 * `recover`, its content is linked to a stored notification or else recovered into the inbox, at most once. A day may
 * have very many failures: they are recorded in portions, before the fact that ends the reading, which is returned.
 *
 * @param readings processes answers one after the other, so that each sees what the one before recovered
 */
export async function recordFailures(
  context: ApiContext,
  readings: KeyedLock,
  pending: PendingUntil<'portal.failuresListed'>,
  fact: OutcomeFact<'portal.failuresListed'>,
  record: RecordChunk,
): Promise<MessageWithParts> {
  const { items: listed, unreadable } = fact.data
  const { recover, day } = pending.data
  const items = day === null ? listed : listed.map(each => withPlausibleTime(day, each))
  const dayFrom = startOfDay(day ?? brasiliaDay(context.clock.now()))
  const reading = { context, recovers: recover, dayFrom }
  const { withoutContent, ...counts } = await readings.run([portalStream], () => recordAll(reading, items, record))
  const answered = items.map(({ remoteId, failedAt }) => ({ remoteId, failedAt }))
  const parts = {
    answered: { owner: portalStream, value: answered },
    ...(unreadable.length > 0 && { unreadable: { owner: portalStream, value: limitCharacters(unreadable) } }),
  }
  const read = { read: items.length, unreadable: unreadable.length + withoutContent, ...counts }
  const unread = await findUnreadEvents(context, { items, unreadable })
  const data = { day, ...read, ...(unread.length > 0 && { unread }) }
  return { type: 'portal.failuresListed', data, parts }
}

/** Drops a time far from the requested day: it could start or end a subscription's errors. */
function withPlausibleTime(day: string, item: ListedFailure): ListedFailure {
  const from = startOfDay(day)
  if (item.failedAt === null || from === null) return item
  const sinceMs = fromInstant(item.failedAt) - fromInstant(from)
  return sinceMs >= -dayMs && sinceMs < 2 * dayMs ? item : { ...item, failedAt: null }
}

/**
 * Our events among those of records that cannot be read, and of those without content; null for a record without an
 * event.
 */
async function findUnreadEvents(
  { store }: ApiContext,
  { items, unreadable }: Listing<ListedFailure>,
): Promise<(string | null)[]> {
  const withoutContent = items.filter(each => failureContent(each) === undefined).map(each => each.evento)
  const named = new Set([...unreadable.map(record => readUnreadable(record).evento), ...withoutContent])
  const ours: (string | null)[] = []
  for (const evento of named) {
    if (evento === undefined) ours.push(null)
    else if ((await store.lookUp('subscription', evento)) !== undefined) ours.push(evento)
  }
  return ours
}

interface KnownRecords {
  /** The records that need to be recorded or recovered, the oldest first. */
  readonly open: readonly ListedFailure[]
  readonly matcher: NotificationMatcher
  /** The versions of our subscriptions' streams when this was read. */
  readonly versions: Map<string, number>
}

/** Records the failures in portions, and counts them. */
async function recordAll(
  reading: FailureReading,
  items: readonly ListedFailure[],
  record: RecordChunk,
): Promise<FailurePortion['counts']> {
  const counts = { recovered: 0, stored: 0, withoutContent: 0 }
  let seen = await readKnown(reading, items)
  for (const portion of splitIntoPortions(seen.open)) {
    let made = new FailurePortion(reading, seen.matcher)
    let isFirst = true
    await record(async () => {
      // Another reading was faster: read what it recovered, and start the portion again.
      if (!isFirst) seen = await readKnown(reading, items)
      isFirst = false
      made = new FailurePortion(reading, seen.matcher)
      for (const item of portion) await made.add(item)
      const preconditions = [...seen.versions].map(([stream, expect]) => ({ stream, expect }))
      return { ...made.request, preconditions }
    })
    for (const { stream } of made.request.targets) {
      const version = seen.versions.get(stream)
      if (version !== undefined) seen.versions.set(stream, version + 1) // Each of them makes one event.
    }
    for (const each of ['recovered', 'stored', 'withoutContent'] as const) counts[each] += made.counts[each]
    await yieldToEventLoop()
  }
  return counts
}

/** Reads what the log has of the records. It is valid until a stream of their subscriptions changes. */
async function readKnown(reading: FailureReading, items: readonly ListedFailure[]): Promise<KnownRecords> {
  const { context, recovers } = reading
  const { store } = context
  const versions = await readVersions(store, items)
  const open: ListedFailure[] = []
  const linked: LinkedFailure[] = []
  const nearby = await readLinkedNearby(reading)
  let looked = 0
  for (const item of new Map(items.map(each => [each.remoteId, each])).values()) {
    const remoteId = String(item.remoteId)
    const failure = await store.lookUp('failure', remoteId)
    const notification = recovers ? await store.lookUp('recovery', remoteId) : undefined
    if (failure !== undefined) nearby.delete(failure)
    if (failure === undefined || (recovers && notification === undefined)) open.push(item)
    if (notification !== undefined) linked.push({ notification, ...toLost(item) })
    looked += 1
    if (looked % portionItems === 0) await yieldToEventLoop()
  }
  const lost = recovers ? open.map(toLost) : []
  const matcher = await NotificationMatcher.load(context, lost, items.map(toLost), [...linked, ...nearby.values()])
  // The portal's order is undefined, and a recovered notification matches later failures.
  open.sort((one, other) => (one.failedAt ?? '').localeCompare(other.failedAt ?? ''))
  return { open, matcher, versions }
}

async function readVersions(store: LogStore, items: readonly ListedFailure[]): Promise<Map<string, number>> {
  const versions = new Map<string, number>()
  for (const evento of new Set(items.map(each => each.evento))) {
    const stream = await findStream(store, 'subscription', evento)
    const last = stream === undefined ? undefined : await store.readLast({ stream })
    if (last) versions.set(last.stream, last.version)
  }
  return versions
}

/**
 * The linked failures just before and just after the day, by our ids. Usually the portal lists them with another day;
 * their notifications can match fewer failures of this one.
 */
async function readLinkedNearby({ context, recovers, dayFrom }: FailureReading): Promise<Map<string, LinkedFailure>> {
  const found = new Map<string, LinkedFailure>()
  if (!recovers || dayFrom === null) return found
  const from = fromInstant(dayFrom)
  for (const [first, until] of [
    [from - failureDelayMaxMs, from],
    [from + dayMs, from + dayMs + failureDelayMaxMs],
  ] as const) {
    const rows = context.views
      .selectFrom('failures')
      .select(['failure', 'notification', 'evento', 'failed_at'])
      .where('failed_at', '>=', toInstant(first))
      .where('failed_at', '<', toInstant(until))
      .where('notification', 'is not', null)
      .execute()
    for (const { failure, notification, evento, failed_at: failedAt } of (await undefinedIfStopped(rows)) ?? [])
      if (notification !== null) found.set(failure, { notification, evento, failedAt, content: '' })
  }
  return found
}

/** As many unreadable records as fit into one part; the portal keeps the others for thirty days. */
function limitCharacters(unreadable: readonly Json[]): readonly Json[] {
  let characters = 0
  return unreadable.filter(record => {
    characters += JSON.stringify(record).length
    return characters <= answerBytesMax
  })
}

function toLost(item: ListedFailure): LostNotification {
  const { evento, failedAt } = item
  return { evento, failedAt, content: failureContent(item) ?? '' }
}
