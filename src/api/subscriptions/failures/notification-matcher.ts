import { arrivals } from '../../../machines/notification.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import { positionBefore } from '../../../store/log/read.ts'
import { brasiliaDay } from '../../../vocabulary/brasilia.ts'
import { isDamage } from '../../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../../vocabulary/instant.ts'
import type { Instant } from '../../../vocabulary/message.ts'
import { idOfStream, streamOf } from '../../../vocabulary/names.ts'
import { type ApiContext, readPages } from '../../api-context.ts'
import { openAs, type Recorded } from '../../events.ts'
import { copyWindowMs } from '../../notifications/notification.ts'
import type { SealedBody } from '../../sealed-parts.ts'

/**
 * How long after a delivery, with all its tries, the portal may record its failure. A failure within this time is of
 * that delivery. A later one is of a copy, or the clocks differ.
 */
export const failureDelayMaxMs = 15_000
/** After how many opened contents the matcher yields to the event loop: very many may have one length. */
const openedPerTurn = 50

/** A lost notification, by its failure record. */
export interface LostNotification {
  readonly evento: string
  readonly failedAt: Instant | null
  readonly content: string
}

/** A recovered notification that is about to be stored. */
export interface NewNotification extends LostNotification {
  readonly notification: string
}

/** What is about to be recorded: recovered notifications, and existing ones that failures are linked to. */
export interface MatchedFailures {
  readonly recovered: readonly NewNotification[]
  readonly linked: readonly string[]
}

interface KnownNotification {
  readonly notification: string
  readonly evento: string
  /** When it was delivered, copies included: each matches one failure at most. Empty when unknown. */
  readonly times: number[]
  readonly bodyBytes: number
  readonly body: string
  /** It has no recipient: it matches failures of any recipient. */
  readonly isRecovered: boolean
  /** The content, known without opening a body, for a failure record. */
  readonly content?: string
  /** The opened content; null when it was destroyed or is damaged. */
  opened?: OpenedNotification | null
}

interface OpenedNotification {
  /** The event with a digest of the content. */
  readonly name: string
  readonly recipient: string
}

/** Finds the notification of a failure, by content, among those stored around the time of the failures. */
export class NotificationMatcher {
  readonly #context: ApiContext
  /** Those whose content is not opened yet, by event and length. */
  readonly #unopened = new Map<string, KnownNotification[]>()
  readonly #byContent = new Map<string, KnownNotification[]>()
  /** All stored and all failed notifications, by event. */
  readonly #byEvento = new Map<string, KnownNotification[]>()
  /** The same, sorted by each of their times. */
  readonly #inOrder = new Map<string, { readonly at: number; readonly stored: KnownNotification }[]>()
  readonly #byNotification = new Map<string, KnownNotification>()
  readonly #fromNewCache = new WeakMap<NewNotification, KnownNotification>()
  /** How many failures each notification is linked to. */
  readonly #links = new Map<string, number>()
  #opened = 0

  private constructor(context: ApiContext) {
    this.#context = context
  }

  /**
   * Loads the notifications that may match lost ones.
   *
   * @param all all failures of the answer, which may lie between a delivery and a failure
   * @param linked failures that are linked to notifications already
   */
  static async load(
    context: ApiContext,
    lost: readonly LostNotification[],
    all: readonly LostNotification[],
    linked: ReadonlyMap<string, readonly LostNotification[]>,
  ): Promise<NotificationMatcher> {
    const found = new NotificationMatcher(context)
    const times: number[] = []
    for (const { evento, failedAt, content } of lost) {
      if (failedAt === null) continue
      times.push(fromInstant(failedAt))
      found.#unopened.set(lengthKey(evento, Buffer.byteLength(content)), [])
      found.#byEvento.set(evento, [])
    }
    if (times.length === 0) return found
    for (const each of all) found.#byEvento.get(each.evento)?.push(fromFailure(each))
    const [first, last] = times.reduce(
      ([low, high], at) => [Math.min(low, at), Math.max(high, at)],
      [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    )
    // The original of a copy may be one more window earlier.
    await found.#read(first - 2 * copyWindowMs, last + copyWindowMs)
    for (const [notification, failures] of linked) await found.#link(notification, failures)
    for (const [evento, all] of found.#byEvento) {
      const cameAt = all.flatMap(stored => stored.times.map(at => ({ at, stored })))
      found.#inOrder.set(
        evento,
        cameAt.sort((one, other) => one.at - other.at),
      )
    }
    return found
  }

  /**
   * Finds the notification of a failure: one with its event and content, stored around that time or about to be.
   * Returns `undefined` when the notification may be lost, since a failure does not name its recipient:
   *
   * - the same content went to several recipients, or failed more often than it was stored;
   * - another content was sent between the stored notification and the failure: the failure is of a second sending.
   */
  async find(sought: LostNotification, pending: MatchedFailures): Promise<string | undefined> {
    const { evento, failedAt, content } = sought
    if (failedAt === null) return undefined
    const at = fromInstant(failedAt)
    const isThen = ({ times }: KnownNotification) => times.some(each => Math.abs(each - at) <= copyWindowMs)
    await this.#open(lengthKey(evento, Buffer.byteLength(content)), isThen)
    const name = this.#failureContentName(sought)
    const coming = pending.recovered.filter(each => each.evento === evento).map(each => this.#fromNew(each))
    const alike = [...(this.#byContent.get(name) ?? []), ...coming.filter(each => each.opened?.name === name)]
    const then = alike.filter(isThen)
    const known: KnownNotification[] = []
    for (const each of then) if (await this.#isAbout(each, at)) known.push(each)
    const recovered = known.find(each => each.isRecovered)
    if (recovered) return recovered.notification
    if (new Set(then.map(each => each.opened?.recipient)).size > 1) return undefined
    const isLeft = ({ notification, times }: KnownNotification) => {
      const pendingLinks = pending.linked.filter(each => each === notification).length
      return (this.#links.get(notification) ?? 0) + pendingLinks < times.length
    }
    return known.find(isLeft)?.notification
  }

  /** Whether the failed delivery at that time may be one of the notification, or a copy of it. */
  async #isAbout(stored: KnownNotification, at: number): Promise<boolean> {
    for (const time of stored.times) {
      const apartMs = Math.abs(time - at)
      if (apartMs <= failureDelayMaxMs) return true
      if (apartMs > copyWindowMs || areOnOtherDays(time, at)) continue
      if (!(await this.#isOtherBetween(stored, time, at))) return true
    }
    return false
  }

  /** Whether another content may have been sent to the same recipient between two instants. */
  async #isOtherBetween(stored: KnownNotification, one: number, other: number): Promise<boolean> {
    const [from, until] = [Math.min(one, other), Math.max(one, other)]
    const all = this.#inOrder.get(stored.evento) ?? []
    for (let i = firstAfter(all, from); i < all.length; i++) {
      const { at, stored: each } = all[i] ?? { at: until, stored }
      if (at >= until) return false
      const opened = await this.#openContent(each)
      if (opened?.name === stored.opened?.name) continue
      const recipients = [opened?.recipient ?? '', stored.opened?.recipient ?? '']
      if (recipients.includes('') || recipients[0] === recipients[1]) return true
    }
    return false
  }

  /** Notes the failures linked to a notification. A recovered one may be later in the log than what was read. */
  async #link(notification: string, failures: readonly LostNotification[]): Promise<void> {
    this.#links.set(notification, failures.length)
    if (this.#byNotification.has(notification)) return
    const isAlike = ({ evento, content }: LostNotification) =>
      this.#unopened.has(lengthKey(evento, Buffer.byteLength(content)))
    if (!failures.some(isAlike)) return
    const [event] = await this.#context.store.read({
      stream: streamOf('notification', notification),
      limit: 1,
    })
    if (event?.type === 'notification.recovered') this.#add(event)
  }

  noteRecorded({ recovered, linked }: MatchedFailures): void {
    for (const each of linked) this.#links.set(each, (this.#links.get(each) ?? 0) + 1)
    for (const each of recovered) if (each.failedAt !== null) this.#keepContent(this.#fromNew(each))
  }

  /** Opens the contents of one event, length and time, each once. */
  async #open(shape: string, isThen: (each: KnownNotification) => boolean): Promise<void> {
    const unopened = this.#unopened.get(shape) ?? []
    if (unopened.length === 0) return
    const rest: KnownNotification[] = []
    for (const each of unopened) {
      if (!isThen(each)) {
        rest.push(each)
        continue
      }
      // A destroyed or damaged body cannot be compared: it matches no failure.
      if ((await this.#openContent(each)) !== null) this.#keepContent(each)
    }
    this.#unopened.set(shape, rest)
  }

  async #openContent(stored: KnownNotification): Promise<OpenedNotification | null> {
    if (stored.opened !== undefined) return stored.opened
    const { content } = stored
    if (content !== undefined) {
      stored.opened = { name: this.#failureContentName({ evento: stored.evento, content }), recipient: '' }
      return stored.opened
    }
    this.#opened += 1
    if (this.#opened % openedPerTurn === 0) await yieldToEventLoop()
    const sealed = await this.#openSealed(stored)
    const { evento } = stored
    stored.opened = sealed
      ? { name: this.#contentName(evento, sealed.bytes), recipient: recipientName(sealed.recipient) }
      : null
    return stored.opened
  }

  #fromNew(found: NewNotification): KnownNotification {
    const made = this.#fromNewCache.get(found)
    if (made) return made
    const { notification, evento, content, failedAt } = found
    const times = failedAt === null ? [] : [fromInstant(failedAt)]
    const opened = { name: this.#failureContentName(found), recipient: '' }
    const bodyBytes = Buffer.byteLength(content)
    const stored = { notification, evento, times, bodyBytes, body: '', isRecovered: true, opened }
    this.#fromNewCache.set(found, stored)
    return stored
  }

  #keepContent(stored: KnownNotification): void {
    const name = stored.opened?.name ?? ''
    const known = this.#byContent.get(name)
    if (known) known.push(stored)
    else this.#byContent.set(name, [stored])
  }

  async #read(from: number, until: number): Promise<void> {
    const types = [...arrivals, 'notification.copied'] as const
    const { store } = this.#context
    const after = await store.reader.read(() => positionBefore(toInstant(from)))
    for await (const page of readPages(store, { after, types }))
      for (const event of page) {
        if (fromInstant(event.at) > until) return
        this.#add(event)
      }
  }

  #add(event: Recorded<(typeof arrivals)[number] | 'notification.copied'>): void {
    if (event.type === 'notification.copied') {
      const first = this.#byNotification.get(idOfStream(event.stream))
      first?.times.push(fromInstant(event.at))
      return
    }
    const stored = fromEvent(event)
    const alike = this.#byEvento.get(stored.evento)
    if (!alike) return
    alike.push(stored)
    this.#unopened.get(lengthKey(stored.evento, stored.bodyBytes))?.push(stored)
    this.#byNotification.set(stored.notification, stored)
  }

  async #openSealed({ body }: KnownNotification): Promise<SealedBody | undefined> {
    return openAs(this.#context.store, 'body', body).catch((error: unknown) => {
      if (isDamage(error)) return undefined
      throw error
    })
  }

  #failureContentName({ evento, content }: Pick<LostNotification, 'evento' | 'content'>): string {
    return this.#contentName(evento, Buffer.from(content).toString('base64'))
  }

  #contentName(evento: string, bytes: string): string {
    return `${evento}\0${Buffer.from(this.#context.store.digest('content', bytes)).toString('hex')}`
  }
}

/** The portal lists failures by day: those of the other day may not have been read yet. */
function areOnOtherDays(one: number, other: number): boolean {
  return brasiliaDay(one) !== brasiliaDay(other)
}

function firstAfter(all: readonly { readonly at: number }[], at: number): number {
  let [low, high] = [0, all.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((all[middle]?.at ?? 0) > at) high = middle
    else low = middle + 1
  }
  return low
}

function fromFailure({ evento, failedAt, content }: LostNotification): KnownNotification {
  const times = failedAt === null ? [] : [fromInstant(failedAt)]
  return { notification: '', evento, times, bodyBytes: 0, body: '', isRecovered: false, content }
}

function lengthKey(evento: string, bodyBytes: number): string {
  return `${evento}\0${bodyBytes}`
}

function recipientName(recipient: SealedBody['recipient']): string {
  return recipient === undefined ? '' : `${recipient.tipo} ${recipient.id}`
}

/** The time of a recovered one is that of its failed delivery, perhaps days before its event. */
function fromEvent(event: Recorded<(typeof arrivals)[number]>): KnownNotification {
  const { id, at, data, type } = event
  const { notification, evento, bodyBytes } = data
  const cameAt = event.type === 'notification.recovered' ? event.data.failedAt : at
  return {
    notification,
    evento,
    times: cameAt === null ? [] : [fromInstant(cameAt)],
    bodyBytes,
    body: `${id}/body`,
    isRecovered: type === 'notification.recovered',
  }
}
