import { answerBytesMax } from './adapters/bounded-body.ts'
import { brasiliaDay, startOfDay } from './adapters/brasilia.ts'
import type { Listing } from './adapters/listing.ts'
import { type ListedFailure, readUnreadable } from './adapters/portal/protocol.ts'
import { parsePartAddress } from './addresses.ts'
import type { Area } from './area.ts'
import type { RecordPortion } from './attempts.ts'
import { fromInstant, giveWay } from './clock.ts'
import type { Delivery, Target } from './decisions.ts'
import type { Carried, Instant, Json, Owed, PartAddress } from './message.ts'
import { openUnlessArchived, sealedBody } from './notification.ts'
import type { Claim } from './store/append.ts'
import { type Place, placeOf } from './store/relocation.ts'
import { type Found, StoredNotifications } from './stored-notifications.ts'
import { portalStream } from './subscription-routes.ts'
import type { FailureRow } from './views/failures.ts'

/** One record of the portal's answer about failures, as far as it is needed to find it again. */
export interface AnsweredFailure {
  readonly remoteId: number
  readonly failedAt: Instant | null
}

/** How many records, or characters of them, are recorded at once: receiving waits no longer than that takes. */
const portionItems = 100
const portionCharacters = 1_048_576

/**
 * Sends each failure record to the subscription for its event, once; those of others are kept too. Where it is asked
 * for, the content of each goes into the inbox, at most once: linked to a notification that is stored, else recovered.
 * A day may have very many: they are recorded in portions, before what ends the reading, which is what this gives.
 */
export async function takeFailures(
  area: Area,
  owed: Owed,
  fact: Carried,
  record: RecordPortion,
): Promise<Carried> {
  const { items, unreadable } = fact.data as Listing<ListedFailure> // As the client reads it.
  // As the portal's machine writes it.
  const { recover = false, day = null } = owed.data as { recover?: boolean; day?: string | null }
  const harvest = new Harvest(area, recover, startOfDay(day ?? brasiliaDay(area.clock.now())))
  await harvest.take(items, record)
  const answered = items.map(({ remoteId, failedAt }) => ({ remoteId, failedAt }))
  const parts = {
    answered: { owner: portalStream, value: answered },
    ...(unreadable.length > 0 && { unreadable: { owner: portalStream, value: firstOf(unreadable) } }),
  }
  const { bare, ...counts } = harvest.counts
  const read = { read: items.length, unreadable: unreadable.length + bare, ...counts }
  const unread = await unreadEvents(area, { items, unreadable })
  const data = { day, ...read, ...(unread.length > 0 && { unread }) }
  return { type: 'portal.failuresListed', data, parts }
}

/** Our events among those of records that cannot be read, and of bare ones; null where a record says no event. */
async function unreadEvents(
  { store }: Area,
  { items, unreadable }: Listing<ListedFailure>,
): Promise<(string | null)[]> {
  const bare = items.filter(each => contentOf(each) === undefined).map(each => each.evento)
  const named = new Set([...unreadable.map(record => readUnreadable(record).evento), ...bare])
  const ours: (string | null)[] = []
  for (const evento of named) {
    if (evento === undefined) ours.push(null)
    else if ((await store.lookUp('subscription', evento)) !== undefined) ours.push(evento)
  }
  return ours
}

/** What one answer leads to. */
class Harvest {
  /** `bare` counts those to be recovered whose record holds no content. */
  readonly counts = { recovered: 0, stored: 0, bare: 0 }
  readonly #area: Area
  readonly #recovers: boolean
  readonly #dayFrom: Instant | null

  /** `dayFrom` is when the day begins that was asked for: a record without a readable time failed no earlier. */
  constructor(area: Area, recovers: boolean, dayFrom: Instant | null) {
    this.#area = area
    this.#recovers = recovers
    this.#dayFrom = dayFrom
  }

  async take(items: readonly ListedFailure[], record: RecordPortion): Promise<void> {
    const open: ListedFailure[] = []
    const links: string[] = []
    let looked = 0
    for (const item of new Map(items.map(each => [each.remoteId, each])).values()) {
      const { isOpen, link } = await this.#look(item)
      if (isOpen) open.push(item)
      if (link !== undefined) links.push(link)
      looked += 1
      if (looked % portionItems === 0) await giveWay()
    }
    const lost = this.#recovers ? open : []
    const stored = await StoredNotifications.around(this.#area, lost.map(sought), items.map(sought))
    for (const link of links) stored.link(link)
    // The portal says nothing of their order, and what was recovered stands for what failed after it.
    open.sort((one, other) => (one.failedAt ?? '').localeCompare(other.failedAt ?? ''))
    for (const portion of portionsOf(open)) {
      const begin = () => new Portion(this.#area, stored, this.#recovers, this.#dayFrom)
      let made = begin()
      await record(async () => {
        // Another process was faster: this is decided again, and what was made before is void.
        made = begin()
        for (const item of portion) await made.take(item)
        return made.delivery
      })
      stored.keep(made)
      this.counts.recovered += made.counts.recovered
      this.counts.stored += made.counts.stored
      this.counts.bare += made.counts.bare
      await giveWay()
    }
  }

  /** Reports whether there is anything left to do about a record, and the notification that it is linked to. */
  async #look({ remoteId }: ListedFailure): Promise<{ isOpen: boolean; link: string | undefined }> {
    const { store } = this.#area
    const isKnown = (await store.lookUp('failure', String(remoteId))) !== undefined
    const link = this.#recovers ? await store.lookUp('recovery', String(remoteId)) : undefined
    return { isOpen: !isKnown || (this.#recovers && link === undefined), link }
  }
}

/** What some of the records lead to, to be recorded together. */
class Portion {
  readonly counts = { recovered: 0, stored: 0, bare: 0 }
  /** What goes into the inbox, to be found by the records after it. */
  readonly recovered: Found[] = []
  /** The notifications that stood in the inbox before. */
  readonly linked: string[] = []
  readonly #targets: Target[] = []
  readonly #claims: Claim[] = []
  readonly #destroyed: Place[] = []
  readonly #area: Area
  readonly #stored: StoredNotifications
  readonly #recovers: boolean
  readonly #dayFrom: Instant | null

  constructor(area: Area, stored: StoredNotifications, recovers: boolean, dayFrom: Instant | null) {
    this.#area = area
    this.#stored = stored
    this.#recovers = recovers
    this.#dayFrom = dayFrom
  }

  get delivery(): Delivery {
    const delivery = { targets: this.#targets, claims: this.#claims }
    if (this.#destroyed.length === 0) return delivery
    const parts = this.#destroyed.map(placeOf)
    const data = { kind: 'notification.body', rule: 'recovered', parts }
    const telling = { stream: 'retention-notification.body', message: { type: 'retention.apply', data } }
    return { ...delivery, targets: [...this.#targets, telling], destroys: { parts: this.#destroyed } }
  }

  async take(item: ListedFailure): Promise<void> {
    const subscription = await this.#area.store.lookUp('subscription', item.evento)
    const known = await this.#area.store.lookUp('failure', String(item.remoteId))
    const failure = known ?? (await this.#observe(item, subscription))
    const isOpen = this.#recovers && (await this.#isUnknown('recovery', item))
    if (!isOpen || subscription === undefined) return
    const stream = `subscription-${subscription}`
    const row = known === undefined ? undefined : await this.#rowOf(known, stream)
    if (row && row.subscription === null) await this.#tell(item, failure, stream)
    await this.#recover(item, failure, stream)
    if (row?.content) await this.#destroyContent(row.content)
  }

  /** Records a failure that is new, and gives our id of it. */
  async #observe(item: ListedFailure, subscription: string | undefined): Promise<string> {
    const failure = this.#area.createId()
    await this.#tell(
      item,
      failure,
      subscription === undefined ? portalStream : `subscription-${subscription}`,
    )
    this.#claim('failure', item, failure)
    return failure
  }

  /**
   * The content stands apart, since it ends differently from the rest; where it goes into the inbox, whom it is for is
   * kept instead.
   */
  async #tell(item: ListedFailure, failure: string, stream: string): Promise<void> {
    const { remoteId, evento, record } = item
    const { conteudo = null, ...rest } = record as { conteudo?: Json } // As in contentOf.
    const isForInbox = this.#recovers && stream !== portalStream
    const parts = {
      failure: { owner: stream, value: rest },
      ...(conteudo !== null && !isForInbox && { content: { owner: stream, value: conteudo } }),
    }
    const failedAt = item.failedAt ?? (await this.#noEarlierThan(stream))
    const type = stream === portalStream ? 'portal.observeForeignFailure' : 'subscription.observeFailure'
    const message = { type, data: { failure, evento, failedAt, remoteId }, parts }
    this.#targets.push({ stream, message })
  }

  /** The earliest time of a failure without a readable one: on the day asked for, and within this registration. */
  async #noEarlierThan(stream: string): Promise<Instant | null> {
    const row = stream === portalStream ? undefined : await this.#area.rows.find('subscriptions', stream)
    const registeredAt = row?.registered_at ?? null
    if (registeredAt === null || this.#dayFrom === null) return this.#dayFrom
    const isThatDay = brasiliaDay(fromInstant(registeredAt)) === brasiliaDay(fromInstant(this.#dayFrom))
    return isThatDay ? registeredAt : this.#dayFrom
  }

  /**
   * What is known of a failure: told to the subscription, or to the portal where it was read before there was one of
   * ours for its event.
   */
  async #rowOf(failure: string, stream: string): Promise<FailureRow | undefined> {
    const { rows } = this.#area
    return (
      (await rows.find('failures', failure, stream)) ?? (await rows.find('failures', failure, portalStream))
    )
  }

  /** Content that is now in the inbox, or whom it is for, need not be kept here too. */
  async #destroyContent(address: PartAddress): Promise<void> {
    const { store } = this.#area
    if ((await openUnlessArchived(this.#area)(address)) === undefined) return
    const [stream, fromVersion, name] = parsePartAddress(address)
    const [event] = await store.read({ stream, fromVersion, limit: 1 })
    if (event) this.#destroyed.push({ position: event.position, name })
  }

  async #recover(item: ListedFailure, failure: string, stream: string): Promise<void> {
    const { evento, failedAt } = item
    const content = contentOf(item)
    if (content === undefined) {
      this.counts.bare += 1
      return
    }
    const found = await this.#stored.find({ evento, failedAt, content }, this)
    const notification = found ?? this.#area.createId()
    const how = found === undefined ? 'recovered' : 'stored'
    if (found !== undefined) this.linked.push(found)
    else {
      this.recovered.push({ notification, evento, failedAt, content })
      const body = Buffer.from(content)
      const data = { notification, evento, failedAt, bodyBytes: body.length }
      const parts = { body: { owner: stream, value: sealedBody(body) } }
      const message = { type: 'notification.recover', data, parts }
      this.#targets.push({ stream: `notification-${notification}`, message, isNew: true })
    }
    const data = { failure, evento, notification, how }
    this.#targets.push({ stream, message: { type: 'subscription.recoverFailure', data } })
    this.#claim('recovery', item, notification)
    this.counts[how] += 1
  }

  async #isUnknown(kind: string, { remoteId }: ListedFailure): Promise<boolean> {
    return (await this.#area.store.lookUp(kind, String(remoteId))) === undefined
  }

  /** Claimed so that two processes that read the same record at once cannot both have it. */
  #claim(kind: string, { remoteId }: ListedFailure, value: string): void {
    this.#claims.push({ kind, digest: this.#area.store.digest(kind, String(remoteId)), value })
  }
}

/** Divides a list so that no portion takes long to record. */
function* portionsOf(items: readonly ListedFailure[]): Generator<readonly ListedFailure[]> {
  let portion: ListedFailure[] = []
  let characters = 0
  for (const item of items) {
    const length = contentOf(item)?.length ?? 0
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

/** As many of the records that cannot be read as one part may hold: the portal has the others for thirty days. */
function firstOf(unreadable: readonly Json[]): readonly Json[] {
  let characters = 0
  return unreadable.filter(record => {
    characters += JSON.stringify(record).length
    return characters <= answerBytesMax
  })
}

function sought(item: ListedFailure) {
  const { evento, failedAt } = item
  return { evento, failedAt, content: contentOf(item) ?? '' }
}

/** The text that the portal sent, where its record holds one; JSON is written out again. */
export function contentOf({ record }: Pick<ListedFailure, 'record'>): string | undefined {
  const { conteudo } = record as { conteudo?: Json } // Every record that was read is an object.
  if (conteudo === undefined || conteudo === null) return undefined
  return typeof conteudo === 'string' ? conteudo : JSON.stringify(conteudo)
}
