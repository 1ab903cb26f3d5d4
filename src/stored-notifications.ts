import type { Area } from './area.ts'
import { fromInstant, giveWay, toInstant } from './clock.ts'
import type { Received, Recovered } from './machines/notification.ts'
import type { Instant, Recorded } from './message.ts'
import { openUnlessArchived, type SealedBody } from './notification.ts'

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

interface Stored {
  readonly notification: string
  readonly evento: string
  /** When it came; not a number where nobody knows. */
  readonly at: number
  readonly bodyBytes: number
  readonly body: string
}

/** The notifications that were stored about the time of some failures, to be found by their content. */
export class StoredNotifications {
  readonly #area: Area
  /** Those whose content nobody has looked at, by event and length: there may be very many. */
  readonly #unopened = new Map<string, Stored[]>()
  readonly #byContent = new Map<string, { notification: string; at: number }[]>()

  private constructor(area: Area) {
    this.#area = area
  }

  /** Reads those from the log that may be one of these. */
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

  /** The notification with the event and content of a failure, stored about then, or one of those about to be stored. */
  async find(sought: Sought, others: readonly Found[] = []): Promise<string | undefined> {
    const { evento, failedAt, content } = sought
    if (failedAt === null) return undefined
    const at = fromInstant(failedAt)
    const isThen = (each: { at: number }) => Math.abs(each.at - at) <= windowMs
    await this.#open(shapeOf(evento, Buffer.byteLength(content)), isThen)
    const known = this.#byContent.get(this.#nameOf(sought))?.find(isThen)
    if (known) return known.notification
    return others.find(each => isAlike(each, sought) && isThen({ at: timeOf(each) }))?.notification
  }

  /** Adds one that has been stored. */
  add(stored: Found): void {
    if (stored.failedAt !== null) this.#keep(this.#nameOf(stored), stored.notification, timeOf(stored))
  }

  /** Looks at the contents of those of an event and a length that came then, each once. */
  async #open(shape: string, isThen: (each: Stored) => boolean): Promise<void> {
    const unopened = this.#unopened.get(shape) ?? []
    if (unopened.length === 0) return
    const rest: Stored[] = []
    for (const each of unopened) {
      if (!isThen(each)) {
        rest.push(each)
        continue
      }
      const bytes = await this.#bytesOf(each)
      // What was moved out or erased cannot be compared, and so is nobody's copy.
      if (bytes !== undefined) this.#keep(this.#contentName(each.evento, bytes), each.notification, each.at)
    }
    this.#unopened.set(shape, rest)
  }

  #keep(name: string, notification: string, at: number): void {
    const known = this.#byContent.get(name)
    if (known) known.push({ notification, at })
    else this.#byContent.set(name, [{ notification, at }])
  }

  async #read(from: number, until: number): Promise<void> {
    const types = ['notification.received', 'notification.recovered']
    let after = await this.#positionBefore(toInstant(from))
    for (;;) {
      const page = await this.#area.store.read({ after, types })
      for (const event of page) {
        if (fromInstant(event.at) > until) return
        const stored = toStored(event)
        this.#unopened.get(shapeOf(stored.evento, stored.bodyBytes))?.push(stored)
      }
      const last = page.at(-1)
      if (!last) return
      after = last.position
      await giveWay()
    }
  }

  /** The last position before an instant: times never go back along the log. */
  async #positionBefore(at: Instant): Promise<number> {
    const { store } = this.#area
    const [last] = await store.read({ backward: true, limit: 1 })
    let low = 0
    let high = last?.position ?? 0
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const event = await store.readAt(middle)
      if (event && event.at < at) low = middle
      else high = middle - 1
    }
    return low
  }

  async #bytesOf({ body }: Stored): Promise<string | undefined> {
    const sealed = await openUnlessArchived(this.#area)(body)
    return sealed === undefined ? undefined : (sealed as SealedBody).bytes // As `sealedBody` made it.
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

function isAlike(one: Sought, other: Sought): boolean {
  return one.evento === other.evento && one.content === other.content
}

/** Not a number where nobody knows when it failed. */
function timeOf({ failedAt }: Sought): number {
  return failedAt === null ? Number.NaN : fromInstant(failedAt)
}

/** What was recovered came when its delivery failed, and may be in the log days after that. */
function toStored({ id, at, data }: Recorded): Stored {
  const { notification, evento, bodyBytes, failedAt } = data as unknown as Received & Partial<Recovered> // As the machine writes them.
  const cameAt = failedAt === undefined ? at : failedAt
  return {
    notification,
    evento,
    at: cameAt === null ? Number.NaN : fromInstant(cameAt),
    bodyBytes,
    body: `${id}/body`,
  }
}
