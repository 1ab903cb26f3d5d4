import type { Listing } from '../../../adapters/http/answer-body.ts'
import { type ListedFailure, readUnreadable } from '../../../adapters/portal/protocol.ts'
import type { RecordChunk } from '../../../engine/performing/effect-runner.ts'
import type { AddressedMessage, DecisionRequest } from '../../../engine/recording/decisions.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import type { KeyedLock } from '../../../runtime/locks.ts'
import { type PartPlace, partPlaceKey } from '../../../store/parts/parts.ts'
import { undefinedIfStopped } from '../../../store/views/view-reader.ts'
import type { IndexEntry } from '../../../store/writing/append.ts'
import type { FailureRow } from '../../../views/failures.ts'
import { brasiliaDay, startOfDay } from '../../../vocabulary/brasilia.ts'
import { answerBytesMax } from '../../../vocabulary/fetch.ts'
import { dayMs, fromInstant, toInstant } from '../../../vocabulary/instant.ts'
import type { Instant, Json, MessageWithParts, PartAddress } from '../../../vocabulary/message.ts'
import { parsePartAddress, portalStream, streamOf } from '../../../vocabulary/names.ts'
import type { ApiContext } from '../../api-context.ts'
import type { OutcomeFact, PendingUntil } from '../../effect-types.ts'
import { type LogStore, unlessDamaged } from '../../events.ts'
import { toSealedBody } from '../../notifications/notification.ts'
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

/** Our events among those of unreadable records and of those without content; null for a record without an event. */
async function findUnreadEvents(
  { store }: ApiContext,
  { items, unreadable }: Listing<ListedFailure>,
): Promise<(string | null)[]> {
  const withoutContent = items.filter(each => failureContent(each) === undefined).map(each => each.evento)
  const named = new Set([...unreadable.map(record => readUnreadable(record).evento), ...withoutContent])
  const isUnnamed = named.delete(undefined)
  const eventos = [...named].filter(evento => evento !== undefined)
  const ours = await store.lookUpAll('subscription', eventos)
  return [...ours.keys(), ...(isUnnamed ? [null] : [])]
}

interface KnownRecords {
  /** The records that need to be recorded or recovered, the oldest first. */
  readonly open: readonly ListedFailure[]
  readonly matcher: NotificationMatcher
  /** Our failures and recovered notifications, by the records' ids. */
  readonly failures: ReadonlyMap<string, string>
  readonly recoveries: ReadonlyMap<string, string>
  readonly subscriptions: ReadonlyMap<string, string>
  /** The versions of our subscriptions' streams when this was read. */
  readonly versions: Map<string, number>
}

/** Records the failures in portions, and counts them. */
async function recordAll(reading: FailureReading, items: readonly ListedFailure[], record: RecordChunk) {
  const counts = { recovered: 0, stored: 0, withoutContent: 0 }
  let seen = await readKnown(reading, items)
  for (const portion of splitIntoPortions(seen.open)) {
    let made = createPortion(reading, seen)
    let isFirst = true
    await record(async () => {
      // Another reading was faster: read what it recovered, and start the portion again.
      if (!isFirst) seen = await readKnown(reading, items)
      isFirst = false
      made = createPortion(reading, seen)
      for (const item of portion) await made.add(item)
      const preconditions = [...seen.versions].map(([stream, expect]) => ({ stream, expect }))
      return { ...made.toRequest(), preconditions }
    })
    for (const { stream } of made.toRequest().targets) {
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
  const eventos = items.map(each => each.evento)
  const subscriptions = await store.lookUpAll('subscription', eventos)
  const versions = await readVersions(store, subscriptions.values())
  const unique = new Map(items.map(each => [String(each.remoteId), each]))
  const failures = await store.lookUpAll('failure', unique.keys())
  const recoveries = recovers ? await store.lookUpAll('recovery', unique.keys()) : new Map<string, string>()
  const open: ListedFailure[] = []
  const linked: LinkedFailure[] = []
  const nearby = await readLinkedNearby(reading)
  for (const [remoteId, item] of unique) {
    const failure = failures.get(remoteId)
    const notification = recoveries.get(remoteId)
    if (failure !== undefined) nearby.delete(failure)
    if (failure === undefined || (recovers && notification === undefined)) open.push(item)
    if (notification !== undefined) linked.push({ notification, ...toLost(item) })
  }
  const lost = recovers ? open.map(toLost) : []
  const matcher = await NotificationMatcher.load(context, lost, items.map(toLost), [...linked, ...nearby.values()])
  // The portal's order is undefined, and a recovered notification matches later failures.
  open.sort((one, other) => (one.failedAt ?? '').localeCompare(other.failedAt ?? ''))
  return { open, matcher, failures, recoveries, subscriptions, versions }
}

async function readVersions(store: LogStore, subscriptions: Iterable<string>): Promise<Map<string, number>> {
  const versions = new Map<string, number>()
  for (const subscription of subscriptions) {
    const stream = streamOf('subscription', subscription)
    versions.set(stream, await store.lastVersion(stream))
  }
  return versions
}

/** The failures just before and after the day, by our ids: their notifications match fewer failures of this one. */
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

/** The most records, or characters of content, recorded in one append: the receiver waits for it. */
const portionItems = 100
const portionCharacters = 1_048_576

interface FailureReading {
  readonly context: ApiContext
  /** Whether missing content is recovered into the inbox. */
  readonly recovers: boolean
  /** The start of the requested day: the earliest time of a record without a readable one. */
  readonly dayFrom: Instant | null
}

function createPortion({ context, recovers, dayFrom }: FailureReading, known: KnownRecords) {
  const { createId, rows, store } = context
  const { failures, matcher, recoveries, subscriptions } = known
  /** `withoutContent` counts the records to be recovered that have no content. */
  const counts = { recovered: 0, stored: 0, withoutContent: 0 }
  const targets: AddressedMessage[] = []
  const indexEntries: IndexEntry[] = []
  const destroyed: PartPlace[] = []

  function toRequest(): DecisionRequest {
    if (destroyed.length === 0) return { targets, indexEntries }
    const parts = destroyed.map(partPlaceKey)
    const data = { kind: 'notification.body', rule: 'recovered', parts }
    const retention = { stream: 'retention-notification.body', message: { type: 'retention.apply', data } }
    return { targets: [...targets, retention], indexEntries, destroys: { parts: destroyed } }
  }

  async function add(item: ListedFailure): Promise<void> {
    const subscription = subscriptions.get(item.evento)
    const stream = subscription && streamOf('subscription', subscription)
    const recorded = failures.get(String(item.remoteId))
    const failure = recorded ?? (await observe(item, stream))
    if (!recovers || stream === undefined) return
    if (recoveries.has(String(item.remoteId))) return
    const row = recorded === undefined ? undefined : await findRow(recorded, stream)
    if (row && row.subscription === null) await addObserved(item, failure, stream)
    await recover(item, failure, stream)
    if (row?.content) await destroyContent(row.content)
  }

  async function observe(item: ListedFailure, stream = portalStream): Promise<string> {
    const failure = createId()
    await addObserved(item, failure, stream)
    addEntry('failure', item, failure)
    return failure
  }

  /** Adds the failure's event. The content is a part of its own, and left out when it goes into the inbox. */
  async function addObserved(item: ListedFailure, failure: string, stream: string): Promise<void> {
    const { remoteId, evento, record } = item
    const { conteudo = null, ...rest } = record as { conteudo?: Json } // As in failureContent.
    const isForInbox = recovers && stream !== portalStream
    const parts = {
      failure: { owner: stream, value: rest },
      ...(conteudo !== null && !isForInbox && { content: { owner: stream, value: conteudo } }),
    }
    const failedAt = item.failedAt ?? (await earliestFailedAt(stream))
    const type = stream === portalStream ? 'portal.observeForeignFailure' : 'subscription.observeFailure'
    const message = { type, data: { failure, evento, failedAt, remoteId }, parts }
    targets.push({ stream, message })
  }

  /** The earliest time of a failure without a readable time: on the requested day, and since the registration. */
  async function earliestFailedAt(stream: string): Promise<Instant | null> {
    const row = stream === portalStream ? undefined : await rows.find('subscriptions', stream)
    const registeredAt = row?.registered_at ?? null
    if (registeredAt === null || dayFrom === null) return dayFrom
    const isThatDay = brasiliaDay(fromInstant(registeredAt)) === brasiliaDay(fromInstant(dayFrom))
    return isThatDay ? registeredAt : dayFrom
  }

  /** The row of a failure, from the subscription's stream, or from the portal's if it was read before we had one. */
  async function findRow(failure: string, stream: string): Promise<FailureRow | undefined> {
    return (await rows.find('failures', failure, stream)) ?? (await rows.find('failures', failure, portalStream))
  }

  async function destroyContent(address: PartAddress): Promise<void> {
    if ((await unlessDamaged(store.open(address), undefined)) === undefined) return
    const [stream, fromVersion, name] = parsePartAddress(address)
    const [event] = await store.read({ stream, fromVersion, limit: 1 })
    if (event) destroyed.push({ position: event.position, name })
  }

  /** Links the failure to its notification, recovered into the inbox if it is not there. */
  async function recover(item: ListedFailure, failure: string, stream: string): Promise<void> {
    const { evento, failedAt } = item
    const content = failureContent(item)
    if (content === undefined) {
      counts.withoutContent += 1
      return
    }
    const found = await matcher.link({ evento, failedAt, content })
    const notification = found ?? createId()
    const how = found === undefined ? 'recovered' : 'stored'
    if (found === undefined) {
      matcher.add({ notification, evento, failedAt, content })
      const body = Buffer.from(content)
      const data = { notification, evento, failedAt, bodyBytes: body.length }
      const parts = { body: { owner: stream, value: toSealedBody(body) } }
      const message = { type: 'notification.recover', data, parts }
      targets.push({ stream: streamOf('notification', notification), message, isNew: true })
    }
    const data = { failure, evento, notification, how }
    targets.push({ stream, message: { type: 'subscription.recoverFailure', data } })
    addEntry('recovery', item, notification)
    counts[how] += 1
  }

  /** Indexes a record, so that two processes cannot both record it. */
  function addEntry(kind: string, { remoteId }: ListedFailure, value: string): void {
    indexEntries.push({ kind, digest: store.digest(kind, String(remoteId)), value })
  }

  return { add, counts, toRequest }
}

function* splitIntoPortions(items: readonly ListedFailure[]): Generator<readonly ListedFailure[]> {
  let portion: ListedFailure[] = []
  let characters = 0
  for (const item of items) {
    const length = failureContent(item)?.length ?? 0
    const isFull = portion.length === portionItems || characters + length > portionCharacters
    if (isFull && portion.length > 0) {
      yield portion
      portion = []
      characters = 0
    }
    portion.push(item)
    characters += length
  }
  if (portion.length > 0) yield portion
}

/** The content of a failure record as text, if it has any; JSON is stringified. */
export function failureContent({ record }: Pick<ListedFailure, 'record'>): string | undefined {
  const { conteudo } = record as { conteudo?: Json } // A record is always an object.
  if (conteudo === undefined || conteudo === null) return undefined
  return typeof conteudo === 'string' ? conteudo : JSON.stringify(conteudo)
}
