import type { ListedFailure } from '../../../adapters/portal/protocol.ts'
import type { AddressedMessage, DecisionRequest } from '../../../engine/recording/decisions.ts'
import { type PartPlace, partPlaceKey } from '../../../store/parts/parts.ts'
import type { IndexEntry } from '../../../store/writing/append.ts'
import type { FailureRow } from '../../../views/failures.ts'
import { brasiliaDay } from '../../../vocabulary/brasilia.ts'
import { fromInstant } from '../../../vocabulary/instant.ts'
import type { Instant, Json, PartAddress } from '../../../vocabulary/message.ts'
import { parsePartAddress, portalStream, streamOf } from '../../../vocabulary/names.ts'
import { type ApiContext, findStream } from '../../api-context.ts'
import { toSealedBody } from '../../notifications/notification.ts'
import { type NotificationMatcher, openUndamaged } from './notification-matcher.ts'

/** The most records, or characters of content, recorded in one append: the receiver waits for it. */
export const portionItems = 100
const portionCharacters = 1_048_576

/** A reading of the failure records of a day. */
export interface FailureReading {
  readonly context: ApiContext
  /** Whether missing content is recovered into the inbox. */
  readonly recovers: boolean
  /** The start of the requested day: the earliest time of a record without a readable one. */
  readonly dayFrom: Instant | null
}

/** Collects what to record, in one append, for a portion of the failure records. */
export class FailurePortion {
  /** `withoutContent` counts the records to be recovered that have no content. */
  readonly counts = { recovered: 0, stored: 0, withoutContent: 0 }
  readonly #targets: AddressedMessage[] = []
  readonly #indexEntries: IndexEntry[] = []
  readonly #destroyed: PartPlace[] = []
  readonly #context: ApiContext
  readonly #reading: FailureReading
  readonly #matcher: NotificationMatcher

  constructor(reading: FailureReading, matcher: NotificationMatcher) {
    this.#context = reading.context
    this.#reading = reading
    this.#matcher = matcher
  }

  get request(): DecisionRequest {
    const request = { targets: this.#targets, indexEntries: this.#indexEntries }
    if (this.#destroyed.length === 0) return request
    const parts = this.#destroyed.map(partPlaceKey)
    const data = { kind: 'notification.body', rule: 'recovered', parts }
    const retention = { stream: 'retention-notification.body', message: { type: 'retention.apply', data } }
    return { ...request, targets: [...this.#targets, retention], destroys: { parts: this.#destroyed } }
  }

  async add(item: ListedFailure): Promise<void> {
    const stream = await findStream(this.#context.store, 'subscription', item.evento)
    const known = await this.#context.store.lookUp('failure', String(item.remoteId))
    const failure = known ?? (await this.#observe(item, stream))
    if (!this.#reading.recovers || stream === undefined) return
    if ((await this.#context.store.lookUp('recovery', String(item.remoteId))) !== undefined) return
    const row = known === undefined ? undefined : await this.#findRow(known, stream)
    if (row && row.subscription === null) await this.#addObserved(item, failure, stream)
    await this.#recover(item, failure, stream)
    if (row?.content) await this.#destroyContent(row.content)
  }

  async #observe(item: ListedFailure, stream = portalStream): Promise<string> {
    const failure = this.#context.createId()
    await this.#addObserved(item, failure, stream)
    this.#addEntry('failure', item, failure)
    return failure
  }

  /** Adds the failure's event. The content is a part of its own, and left out when it goes into the inbox. */
  async #addObserved(item: ListedFailure, failure: string, stream: string): Promise<void> {
    const { remoteId, evento, record } = item
    const { conteudo = null, ...rest } = record as { conteudo?: Json } // As in failureContent.
    const isForInbox = this.#reading.recovers && stream !== portalStream
    const parts = {
      failure: { owner: stream, value: rest },
      ...(conteudo !== null && !isForInbox && { content: { owner: stream, value: conteudo } }),
    }
    const failedAt = item.failedAt ?? (await this.#earliestFailedAt(stream))
    const type = stream === portalStream ? 'portal.observeForeignFailure' : 'subscription.observeFailure'
    const message = { type, data: { failure, evento, failedAt, remoteId }, parts }
    this.#targets.push({ stream, message })
  }

  /** The earliest time of a failure without a readable time: on the requested day, and since the registration. */
  async #earliestFailedAt(stream: string): Promise<Instant | null> {
    const { dayFrom } = this.#reading
    const row = stream === portalStream ? undefined : await this.#context.rows.find('subscriptions', stream)
    const registeredAt = row?.registered_at ?? null
    if (registeredAt === null || dayFrom === null) return dayFrom
    const isThatDay = brasiliaDay(fromInstant(registeredAt)) === brasiliaDay(fromInstant(dayFrom))
    return isThatDay ? registeredAt : dayFrom
  }

  /** The row of a failure, from the subscription's stream, or from the portal's if it was read before we had one. */
  async #findRow(failure: string, stream: string): Promise<FailureRow | undefined> {
    const { rows } = this.#context
    return (await rows.find('failures', failure, stream)) ?? (await rows.find('failures', failure, portalStream))
  }

  async #destroyContent(address: PartAddress): Promise<void> {
    const { store } = this.#context
    if ((await openUndamaged(store.open(address))) === undefined) return
    const [stream, fromVersion, name] = parsePartAddress(address)
    const [event] = await store.read({ stream, fromVersion, limit: 1 })
    if (event) this.#destroyed.push({ position: event.position, name })
  }

  /** Links the failure to its notification, recovered into the inbox if it is not there. */
  async #recover(item: ListedFailure, failure: string, stream: string): Promise<void> {
    const { evento, failedAt } = item
    const content = failureContent(item)
    if (content === undefined) {
      this.counts.withoutContent += 1
      return
    }
    const found = await this.#matcher.link({ evento, failedAt, content })
    const notification = found ?? this.#context.createId()
    const how = found === undefined ? 'recovered' : 'stored'
    if (found === undefined) {
      this.#matcher.add({ notification, evento, failedAt, content })
      const body = Buffer.from(content)
      const data = { notification, evento, failedAt, bodyBytes: body.length }
      const parts = { body: { owner: stream, value: toSealedBody(body) } }
      const message = { type: 'notification.recover', data, parts }
      this.#targets.push({ stream: streamOf('notification', notification), message, isNew: true })
    }
    const data = { failure, evento, notification, how }
    this.#targets.push({ stream, message: { type: 'subscription.recoverFailure', data } })
    this.#addEntry('recovery', item, notification)
    this.counts[how] += 1
  }

  /** Indexes a record, so that two processes cannot both record it. */
  #addEntry(kind: string, { remoteId }: ListedFailure, value: string): void {
    this.#indexEntries.push({ kind, digest: this.#context.store.digest(kind, String(remoteId)), value })
  }
}

/** Splits a list into portions that are quick to record. */
export function* splitIntoPortions(items: readonly ListedFailure[]): Generator<readonly ListedFailure[]> {
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
