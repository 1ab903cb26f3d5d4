import type { Listing } from './adapters/listing.ts'
import type { ListedFailure } from './adapters/portal/protocol.ts'
import type { Area } from './area.ts'
import type { Delivery, Target } from './decisions.ts'
import type { Carried, Instant, Owed } from './message.ts'
import { sealedBody } from './notification.ts'
import type { Claim } from './store/append.ts'
import { StoredNotifications } from './stored-notifications.ts'
import { portalStream } from './subscription-routes.ts'

/** One record of the portal's answer about failures, as far as it is needed to find it again. */
export interface AnsweredFailure {
  readonly remoteId: number
  readonly failedAt: Instant | null
}

/**
 * Sends each failure record to the subscription for its event, once; those of others are kept too. Where it is asked
 * for, the content of each goes into the inbox, at most once: linked to a notification that is stored, else recovered.
 */
export async function routeFailures(area: Area, owed: Owed, fact: Carried): Promise<Delivery> {
  const { items, unreadable } = fact.data as Listing<ListedFailure> // As the client reads it.
  const { recover = false } = owed.data as { recover?: boolean } // As the portal's machine writes it.
  const harvest = new Harvest(area)
  await harvest.take(items, recover)
  const answered = items.map(({ remoteId, failedAt }) => ({ remoteId, failedAt }))
  const parts = {
    answered: { owner: portalStream, value: answered },
    ...(unreadable.length > 0 && { unreadable: { owner: portalStream, value: unreadable } }),
  }
  const data = { read: items.length, unreadable: unreadable.length, ...harvest.counts }
  const message = { type: 'portal.failuresListed', data, parts }
  const targets = [...harvest.targets, { stream: portalStream, message }]
  return { targets, claims: harvest.claims }
}

/** What one answer leads to. */
class Harvest {
  readonly targets: Target[] = []
  readonly claims: Claim[] = []
  readonly counts = { recovered: 0, stored: 0 }
  readonly #area: Area

  constructor(area: Area) {
    this.#area = area
  }

  async take(items: readonly ListedFailure[], recover: boolean): Promise<void> {
    const lost: { item: ListedFailure; failure: string; subscription: string }[] = []
    for (const item of new Map(items.map(each => [each.remoteId, each])).values()) {
      const subscription = await this.#area.store.lookUp('subscription', item.evento)
      const failure = await this.#observe(item, subscription)
      const isOpen = recover && (await this.#isUnknown('recovery', item))
      if (isOpen && subscription !== undefined) lost.push({ item, failure, subscription })
    }
    if (lost.length === 0) return
    const times = lost.map(each => each.item.failedAt)
    const stored = await StoredNotifications.around(this.#area, times)
    for (const { item, failure, subscription } of lost)
      await this.#recover(item, failure, `subscription-${subscription}`, stored)
  }

  /** Records a failure that is new, and gives our id of it. */
  async #observe(item: ListedFailure, subscription: string | undefined): Promise<string> {
    const { remoteId, evento, failedAt, record } = item
    const known = await this.#area.store.lookUp('failure', String(remoteId))
    if (known !== undefined) return known
    const failure = this.#area.createId()
    const stream = subscription === undefined ? portalStream : `subscription-${subscription}`
    const parts = { failure: { owner: stream, value: record } }
    const common = { failure, evento, failedAt }
    const message =
      subscription === undefined
        ? { type: 'portal.observeForeignFailure', data: common, parts }
        : { type: 'subscription.observeFailure', data: { ...common, remoteId }, parts }
    this.targets.push({ stream, message })
    this.#claim('failure', item, failure)
    return failure
  }

  async #recover(
    item: ListedFailure,
    failure: string,
    stream: string,
    stored: StoredNotifications,
  ): Promise<void> {
    const { evento, failedAt } = item
    const content = contentOf(item)
    if (content === undefined) return
    const found = await stored.find(evento, failedAt, content)
    const notification = found ?? this.#area.createId()
    const how = found === undefined ? 'recovered' : 'stored'
    if (found === undefined) {
      stored.add(notification, evento, failedAt, content)
      const body = Buffer.from(content)
      const data = { notification, evento, failedAt, bodyBytes: body.length }
      const parts = { body: { owner: stream, value: sealedBody(body) } }
      const message = { type: 'notification.recover', data, parts }
      this.targets.push({ stream: `notification-${notification}`, message, isNew: true })
    }
    const data = { failure, evento, notification, how }
    this.targets.push({ stream, message: { type: 'subscription.recoverFailure', data } })
    this.#claim('recovery', item, notification)
    this.counts[how] += 1
  }

  async #isUnknown(kind: string, { remoteId }: ListedFailure): Promise<boolean> {
    return (await this.#area.store.lookUp(kind, String(remoteId))) === undefined
  }

  /** Two processes that read the same record at once cannot both have it. */
  #claim(kind: string, { remoteId }: ListedFailure, value: string): void {
    this.claims.push({ kind, digest: this.#area.store.digest(kind, String(remoteId)), value })
  }
}

/** The text that the portal sent, where its record holds one. */
function contentOf({ record }: ListedFailure): string | undefined {
  const { conteudo } = record as { conteudo?: unknown } // Every record that was read is an object.
  return typeof conteudo === 'string' ? conteudo : undefined
}
