import type { Listing } from '../../../adapters/http/answer-body.ts'
import { type ListedFailure, readUnreadable } from '../../../adapters/portal/protocol.ts'
import type { RecordChunk } from '../../../engine/performing/effect-runner.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import type { KeyedLock } from '../../../runtime/locks.ts'
import { undefinedIfStopped } from '../../../store/views/view-reader.ts'
import { brasiliaDay, startOfDay } from '../../../vocabulary/brasilia.ts'
import { answerBytesMax } from '../../../vocabulary/fetch.ts'
import { dayMs, fromInstant, toInstant } from '../../../vocabulary/instant.ts'
import type { Instant, Json, MessageWithParts } from '../../../vocabulary/message.ts'
import { portalStream } from '../../../vocabulary/names.ts'
import { type ApiContext, findStream } from '../../api-context.ts'
import type { OutcomeFact, PendingUntil } from '../../effect-types.ts'
import { FailurePortion, failureContent, portionItems, splitIntoPortions } from './failure-portion.ts'
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
  const recovery = new Recovery(context, recover, startOfDay(day ?? brasiliaDay(context.clock.now())))
  await readings.run([portalStream], () => recovery.recordAll(items, record))
  const answered = items.map(({ remoteId, failedAt }) => ({ remoteId, failedAt }))
  const parts = {
    answered: { owner: portalStream, value: answered },
    ...(unreadable.length > 0 && { unreadable: { owner: portalStream, value: limitCharacters(unreadable) } }),
  }
  const { withoutContent, ...counts } = recovery.counts
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

class Recovery {
  /** `withoutContent` counts the records to be recovered that have no content. */
  readonly counts = { recovered: 0, stored: 0, withoutContent: 0 }
  readonly #context: ApiContext
  readonly #recovers: boolean
  readonly #dayFrom: Instant | null

  /** `dayFrom` is the start of the requested day: the earliest time of a record without a readable one. */
  constructor(context: ApiContext, recovers: boolean, dayFrom: Instant | null) {
    this.#context = context
    this.#recovers = recovers
    this.#dayFrom = dayFrom
  }

  async recordAll(items: readonly ListedFailure[], record: RecordChunk): Promise<void> {
    let seen = await this.#readKnown(items)
    for (const portion of splitIntoPortions(seen.open)) {
      const begin = () => new FailurePortion(this.#context, seen.matcher, this.#recovers, this.#dayFrom)
      let made = begin()
      let isFirst = true
      await record(async () => {
        // Another reading was faster: read what it recovered, and start the portion again.
        if (!isFirst) seen = await this.#readKnown(items)
        isFirst = false
        made = begin()
        for (const item of portion) await made.add(item)
        const preconditions = [...seen.versions].map(([stream, expect]) => ({ stream, expect }))
        return { ...made.request, preconditions }
      })
      for (const { stream } of made.request.targets) {
        const version = seen.versions.get(stream)
        if (version !== undefined) seen.versions.set(stream, version + 1) // Each of them makes one event.
      }
      for (const each of ['recovered', 'stored', 'withoutContent'] as const) this.counts[each] += made.counts[each]
      await yieldToEventLoop()
    }
  }

  /** Reads what the log has of the records. It is valid until a stream of their subscriptions changes. */
  async #readKnown(items: readonly ListedFailure[]): Promise<KnownRecords> {
    const { store } = this.#context
    const versions = await this.#readVersions(items)
    const open: ListedFailure[] = []
    const linked: LinkedFailure[] = []
    const nearby = await this.#readLinkedNearby()
    let looked = 0
    for (const item of new Map(items.map(each => [each.remoteId, each])).values()) {
      const remoteId = String(item.remoteId)
      const failure = await store.lookUp('failure', remoteId)
      const notification = this.#recovers ? await store.lookUp('recovery', remoteId) : undefined
      if (failure !== undefined) nearby.delete(failure)
      if (failure === undefined || (this.#recovers && notification === undefined)) open.push(item)
      if (notification !== undefined) linked.push({ notification, ...toLost(item) })
      looked += 1
      if (looked % portionItems === 0) await yieldToEventLoop()
    }
    const lost = this.#recovers ? open.map(toLost) : []
    const all = [...linked, ...nearby.values()]
    const matcher = await NotificationMatcher.load(this.#context, lost, items.map(toLost), all)
    // The portal's order is undefined, and a recovered notification matches later failures.
    open.sort((one, other) => (one.failedAt ?? '').localeCompare(other.failedAt ?? ''))
    return { open, matcher, versions }
  }

  async #readVersions(items: readonly ListedFailure[]): Promise<Map<string, number>> {
    const { store } = this.#context
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
  async #readLinkedNearby(): Promise<Map<string, LinkedFailure>> {
    const found = new Map<string, LinkedFailure>()
    if (!this.#recovers || this.#dayFrom === null) return found
    const from = fromInstant(this.#dayFrom)
    for (const [first, until] of [
      [from - failureDelayMaxMs, from],
      [from + dayMs, from + dayMs + failureDelayMaxMs],
    ] as const) {
      const rows = this.#context.views
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
