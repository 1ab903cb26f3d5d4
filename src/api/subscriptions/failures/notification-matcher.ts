import { arrivals } from '../../../machines/notification.ts'
import { yieldToEventLoop } from '../../../runtime/event-loop.ts'
import { positionBefore } from '../../../store/log/read.ts'
import { brasiliaDay } from '../../../vocabulary/brasilia.ts'
import { fromInstant, toInstant } from '../../../vocabulary/instant.ts'
import type { Instant, PartAddress } from '../../../vocabulary/message.ts'
import { idOfStream, streamOf } from '../../../vocabulary/names.ts'
import { type ApiContext, readEvents } from '../../api-context.ts'
import { openAs, type Recorded, unlessDamaged } from '../../events.ts'
import { bodyAddress, copyWindowMs } from '../../notifications/notification.ts'

/** How long after a delivery a failure is its own. A later one is of a copy, or the clocks differ. */
export const failureDelayMaxMs = 15_000
/** After how many opened contents the matcher yields to the event loop: very many may have one length. */
const openedPerTurn = 50

export interface LostNotification {
  readonly evento: string
  readonly failedAt: Instant | null
  readonly content: string
}

export interface LinkedFailure extends LostNotification {
  readonly notification: string
}

interface KnownNotification {
  readonly notification: string
  readonly evento: string
  /** When it was delivered, copies included: each matches one failure at most. Empty when unknown. */
  readonly times: number[]
  readonly body: PartAddress
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
  /** The notifications whose content may be that of a lost one, by event and length. */
  readonly #alike = new Map<string, KnownNotification[]>()
  /** All stored and all failed notifications, by event. */
  readonly #byEvento = new Map<string, KnownNotification[]>()
  /** The same, sorted by each of their times. */
  readonly #inOrder = new Map<string, { readonly at: number; readonly stored: KnownNotification }[]>()
  readonly #byNotification = new Map<string, KnownNotification>()
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
    linked: readonly LinkedFailure[],
  ): Promise<NotificationMatcher> {
    const found = new NotificationMatcher(context)
    const times: number[] = []
    for (const each of lost) {
      if (each.failedAt === null) continue
      times.push(fromInstant(each.failedAt))
      found.#alike.set(shapeOf(each), [])
      found.#byEvento.set(each.evento, [])
    }
    if (times.length === 0) return found
    for (const each of all) found.#byEvento.get(each.evento)?.push(fromFailure(each))
    times.sort((one, other) => one - other)
    const [first = 0, last = first] = [times.at(0), times.at(-1)]
    // The original of a copy may be one more window earlier.
    await found.#read(first - 2 * copyWindowMs, last + copyWindowMs)
    for (const each of linked) await found.#addLinked(each)
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
   * Links a failure to its notification: one with its event and content, stored around that time or added before.
   * Returns `undefined` when the notification may be lost, since a failure does not name its recipient:
   *
   * - the same content went to several recipients, or failed more often than it was stored;
   * - another content was sent between the stored notification and the failure: the failure is of a second sending.
   */
  async link(failure: LostNotification): Promise<string | undefined> {
    const { failedAt } = failure
    if (failedAt === null) return undefined
    const at = fromInstant(failedAt)
    const name = this.#failureName(failure)
    const [then, known]: [KnownNotification[], KnownNotification[]] = [[], []]
    for (const each of this.#alike.get(shapeOf(failure)) ?? []) {
      if (!each.times.some(time => Math.abs(time - at) <= copyWindowMs)) continue
      // A destroyed or damaged body cannot be compared: it matches no failure.
      const opened = each.opened === undefined ? await this.#open(each) : each.opened
      if (opened?.name !== name) continue
      then.push(each)
      if (await this.#isAbout(each, at)) known.push(each)
    }
    const isSure = new Set(then.map(each => each.opened?.recipient)).size === 1
    const found =
      known.find(each => each.isRecovered) ??
      (isSure ? known.find(each => this.#linksOf(each) < each.times.length) : undefined)
    if (found) this.#links.set(found.notification, this.#linksOf(found) + 1)
    return found?.notification
  }

  /** Adds a notification that is being recovered from a failure: it matches later failures. */
  add(recovered: LinkedFailure): void {
    this.#alike.get(shapeOf(recovered))?.push(fromFailure(recovered, recovered.notification))
  }

  /** Whether the failed delivery at that time may be one of the notification, or a copy of it. */
  async #isAbout(stored: KnownNotification, at: number): Promise<boolean> {
    for (const time of stored.times) {
      const apartMs = Math.abs(time - at)
      if (apartMs <= failureDelayMaxMs) return true
      // The portal lists failures by day: those of the other day may not have been read yet.
      if (apartMs > copyWindowMs || brasiliaDay(time) !== brasiliaDay(at)) continue
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
      const opened = await this.#open(each)
      if (opened?.name === stored.opened?.name) continue
      const recipients = [opened?.recipient ?? '', stored.opened?.recipient ?? '']
      if (recipients.includes('') || recipients[0] === recipients[1]) return true
    }
    return false
  }

  #linksOf({ notification }: Pick<KnownNotification, 'notification'>): number {
    return this.#links.get(notification) ?? 0
  }

  /** Notes a linked failure. Its notification may be a recovered one that is later in the log than what was read. */
  async #addLinked(linked: LinkedFailure): Promise<void> {
    const { notification } = linked
    this.#links.set(notification, this.#linksOf(linked) + 1)
    if (this.#byNotification.has(notification) || !this.#alike.has(shapeOf(linked))) return
    const [event] = await this.#context.store.read({ stream: streamOf('notification', notification), limit: 1 })
    if (event?.type === 'notification.recovered') this.#add(event)
  }

  async #open(stored: KnownNotification): Promise<OpenedNotification | null> {
    const { evento, content, body } = stored
    if (stored.opened !== undefined) return stored.opened
    if (content !== undefined) {
      stored.opened = { name: this.#failureName({ evento, content }), recipient: '' }
      return stored.opened
    }
    this.#opened += 1
    if (this.#opened % openedPerTurn === 0) await yieldToEventLoop()
    // The damage checks report it, and it must not stop the recovery.
    const sealed = await unlessDamaged(openAs(this.#context.store, 'body', body), undefined)
    const { bytes = '', recipient: to } = sealed ?? {}
    const recipient = to === undefined ? '' : `${to.tipo} ${to.id}`
    stored.opened = sealed ? { name: this.#contentName(evento, bytes), recipient } : null
    return stored.opened
  }

  async #read(from: number, until: number): Promise<void> {
    const types = [...arrivals, 'notification.copied'] as const
    const { store } = this.#context
    const after = await store.database.read(() => positionBefore(store.headers, toInstant(from)))
    for await (const event of readEvents(store, { after, types })) {
      if (fromInstant(event.at) > until) return
      if (event.type !== 'notification.copied') this.#add(event)
      else this.#byNotification.get(idOfStream(event.stream))?.times.push(fromInstant(event.at))
    }
  }

  #add(event: Recorded<(typeof arrivals)[number]>): void {
    const { notification, evento, bodyBytes } = event.data
    const alike = this.#byEvento.get(evento)
    if (!alike) return
    const stored = fromEvent(event)
    alike.push(stored)
    this.#alike.get(shapeKey(evento, bodyBytes))?.push(stored)
    this.#byNotification.set(notification, stored)
  }

  #failureName({ evento, content }: Pick<LostNotification, 'evento' | 'content'>): string {
    return this.#contentName(evento, Buffer.from(content).toString('base64'))
  }

  #contentName(evento: string, bytes: string): string {
    return `${evento}\0${this.#context.store.digestHex('content', bytes)}`
  }
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

function fromFailure({ evento, failedAt, content }: LostNotification, notification = ''): KnownNotification {
  const times = failedAt === null ? [] : [fromInstant(failedAt)]
  return { notification, evento, times, body: '', isRecovered: notification !== '', content }
}

/** The time of a recovered one is that of its failed delivery, perhaps days before its event. */
function fromEvent(event: Recorded<(typeof arrivals)[number]>): KnownNotification {
  const { notification, evento } = event.data
  const isRecovered = event.type === 'notification.recovered'
  const cameAt = isRecovered ? event.data.failedAt : event.at
  const times = cameAt === null ? [] : [fromInstant(cameAt)]
  return { notification, evento, times, body: bodyAddress(event), isRecovered }
}

function shapeOf({ evento, content }: LostNotification): string {
  return shapeKey(evento, Buffer.byteLength(content))
}

function shapeKey(evento: string, bodyBytes: number): string {
  return `${evento}\0${bodyBytes}`
}
