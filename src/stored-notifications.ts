import type { Area } from './area.ts'
import { fromInstant, giveWay, toInstant } from './clock.ts'
import type { Received, Recovered } from './machines/notification.ts'
import type { Instant, Recorded } from './message.ts'
import { isDamage, openUnlessArchived, type SealedBody } from './notification.ts'
import { positionBefore } from './store/position-before.ts'

/**
 * How far apart the portal's time of a failure and ours of its content may be: what is a copy comes within ten
 * minutes, and two clocks differ.
 */
const windowMs = 15 * 60_000

/** What a failure record tells of the notification that was lost. */
export interface Sought {
  readonly evento: string
  readonly failedAt: Instant | null
  readonly content: string
}

/** One that is about to be stored. */
export interface Found extends Sought {
  readonly notification: string
}

/** What is about to be recorded: what goes into the inbox, and which notifications failures are linked to. */
export interface Pending {
  readonly recovered: readonly Found[]
  readonly linked: readonly string[]
}

interface Stored {
  readonly notification: string
  readonly evento: string
  /** When it came; NaN where nobody knows. */
  readonly at: number
  readonly bodyBytes: number
  readonly body: string
  /** Without a recipient: it stands for everyone the content was for. */
  readonly isRecovered: boolean
  /** How often it was delivered, copies included: each stands for one failure at most. */
  deliveries: number
}

/** One whose content is known. */
interface Known extends Pick<Stored, 'notification' | 'at' | 'isRecovered'> {
  /** The notification that it was read from: later copies are counted there. */
  readonly stored?: Stored
  readonly recipient?: string
}

/** The notifications that were stored about the time of some failures, to be found by their content. */
export class StoredNotifications {
  readonly #area: Area
  /** Those whose content has not been opened yet, by event and length: there may be very many. */
  readonly #unopened = new Map<string, Stored[]>()
  readonly #byContent = new Map<string, Known[]>()
  readonly #byNotification = new Map<string, Stored>()
  /** How many failures each is linked to. */
  readonly #links = new Map<string, number>()

  private constructor(area: Area) {
    this.#area = area
  }

  /** Reads from the log those that may be one of these. */
  static async around(area: Area, all: readonly Sought[]): Promise<StoredNotifications> {
    const found = new StoredNotifications(area)
    const times: number[] = []
    for (const { evento, failedAt, content } of all) {
      if (failedAt === null) continue
      times.push(fromInstant(failedAt))
      found.#unopened.set(shapeOf(evento, Buffer.byteLength(content)), [])
    }
    if (times.length === 0) return found
    const [first, last] = times.reduce(
      ([low, high], at) => [Math.min(low, at), Math.max(high, at)],
      [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
    )
    await found.#read(first - windowMs, last + windowMs)
    return found
  }

  /**
   * The notification that a failure is about: the one with its event and content that was stored about then, or is
   * about to be. A failure says nothing of its recipient. So where the same content went to several recipients, or came
   * less often than it failed, one of them may have got nothing: then none is given.
   */
  async find(sought: Sought, pending: Pending): Promise<string | undefined> {
    const { evento, failedAt, content } = sought
    if (failedAt === null) return undefined
    const at = fromInstant(failedAt)
    const isThen = (each: { at: number }) => Math.abs(each.at - at) <= windowMs
    await this.#open(shapeOf(evento, Buffer.byteLength(content)), isThen)
    const known = (this.#byContent.get(this.#nameOf(sought)) ?? []).filter(isThen)
    const recovered =
      known.find(each => each.isRecovered) ??
      pending.recovered.find(each => isAlike(each, sought) && isThen({ at: timeOf(each) }))
    if (recovered) return recovered.notification
    if (new Set(known.map(each => each.recipient)).size > 1) return undefined
    const isLeft = ({ notification, stored }: Known) => {
      const pendingLinks = pending.linked.filter(each => each === notification).length
      return (this.#links.get(notification) ?? 0) + pendingLinks < (stored?.deliveries ?? 0)
    }
    return known.find(isLeft)?.notification
  }

  /** Notes that a failure is linked to a notification. */
  link(notification: string): void {
    this.#links.set(notification, (this.#links.get(notification) ?? 0) + 1)
  }

  /** Notes that what was pending has been recorded. */
  keep({ recovered, linked }: Pending): void {
    for (const each of linked) this.link(each)
    for (const each of recovered) {
      const { notification } = each
      const known = { notification, at: timeOf(each), isRecovered: true }
      if (each.failedAt !== null) this.#keep(this.#nameOf(each), known)
    }
  }

  /** Opens the contents of those of an event and a length that came then, each once. */
  async #open(shape: string, isThen: (each: Stored) => boolean): Promise<void> {
    const unopened = this.#unopened.get(shape) ?? []
    if (unopened.length === 0) return
    const rest: Stored[] = []
    for (const each of unopened) {
      if (!isThen(each)) {
        rest.push(each)
        continue
      }
      const sealed = await this.#sealedOf(each)
      // What was moved out, erased or damaged cannot be compared, and so counts as no copy.
      if (sealed === undefined) continue
      const { notification, at, isRecovered } = each
      const known = { notification, at, isRecovered, stored: each, recipient: nameOf(sealed.recipient) }
      this.#keep(this.#contentName(each.evento, sealed.bytes), known)
    }
    this.#unopened.set(shape, rest)
  }

  #keep(name: string, stored: Known): void {
    const known = this.#byContent.get(name)
    if (known) known.push(stored)
    else this.#byContent.set(name, [stored])
  }

  async #read(from: number, until: number): Promise<void> {
    const types = ['notification.received', 'notification.recovered', 'notification.copied']
    const { store } = this.#area
    let after = await store.reader.read(() => positionBefore(toInstant(from)))
    for (;;) {
      const page = await store.read({ after, types })
      for (const event of page) {
        if (fromInstant(event.at) > until) return
        this.#add(event)
      }
      const last = page.at(-1)
      if (!last) return
      after = last.position
      await giveWay()
    }
  }

  #add(event: Recorded): void {
    if (event.type === 'notification.copied') {
      const first = this.#byNotification.get(event.stream.slice('notification-'.length))
      if (first) first.deliveries += 1
      return
    }
    const stored = toStored(event)
    const alike = this.#unopened.get(shapeOf(stored.evento, stored.bodyBytes))
    if (!alike) return
    alike.push(stored)
    this.#byNotification.set(stored.notification, stored)
  }

  async #sealedOf({ body }: Stored): Promise<SealedBody | undefined> {
    const sealed = await openUnlessArchived(this.#area)(body).catch((error: unknown) => {
      if (isDamage(error)) return undefined
      throw error
    })
    return sealed as SealedBody | undefined // As `sealedBody` made it.
  }

  #nameOf({ evento, content }: Sought): string {
    return this.#contentName(evento, Buffer.from(content).toString('base64'))
  }

  #contentName(evento: string, bytes: string): string {
    return `${evento}\0${Buffer.from(this.#area.store.digest('content', bytes)).toString('hex')}`
  }
}

function shapeOf(evento: string, bodyBytes: number): string {
  return `${evento}\0${bodyBytes}`
}

function nameOf(recipient: SealedBody['recipient']): string {
  return recipient === undefined ? '' : `${recipient.tipo} ${recipient.id}`
}

function isAlike(one: Sought, other: Sought): boolean {
  return one.evento === other.evento && one.content === other.content
}

/** NaN where nobody knows when it failed. */
function timeOf({ failedAt }: Sought): number {
  return failedAt === null ? Number.NaN : fromInstant(failedAt)
}

/** A recovered one counts from when its delivery failed; it may be in the log days later. */
function toStored({ id, at, data, type }: Recorded): Stored {
  // As the machine writes them.
  const { notification, evento, bodyBytes, failedAt } = data as unknown as Received & Partial<Recovered>
  const cameAt = failedAt === undefined ? at : failedAt
  return {
    notification,
    evento,
    at: cameAt === null ? Number.NaN : fromInstant(cameAt),
    bodyBytes,
    body: `${id}/body`,
    isRecovered: type === 'notification.recovered',
    deliveries: 1,
  }
}
