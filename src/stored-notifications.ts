import type { Area } from './area.ts'
import { fromInstant, toInstant } from './clock.ts'
import type { Received, Recovered } from './machines/notification.ts'
import type { Instant, Recorded } from './message.ts'
import { openUnlessArchived, type SealedBody } from './notification.ts'

/**
 * How far apart the portal's time of a failure and ours of its content may be: what is a copy comes within ten
 * minutes, and two clocks differ.
 */
const windowMs = 15 * 60_000

interface Stored {
  readonly notification: string
  readonly evento: string
  /** When it came; not a number where nobody knows. */
  readonly at: number
  readonly bodyBytes: number
  readonly body: string
  digest?: string | undefined
}

/** The notifications that were stored about the time of some failures, to be found by their content. */
export class StoredNotifications {
  readonly #area: Area
  readonly #stored: Stored[] = []

  private constructor(area: Area) {
    this.#area = area
  }

  /** Reads them from the log, between the first and the last of the failures. */
  static async around(area: Area, failures: readonly (Instant | null)[]): Promise<StoredNotifications> {
    const found = new StoredNotifications(area)
    const times = failures.filter(at => at !== null).map(fromInstant)
    if (times.length > 0) await found.#read(Math.min(...times) - windowMs, Math.max(...times) + windowMs)
    return found
  }

  /** The notification with the event and content of a failure, stored about then. */
  async find(evento: string, failedAt: Instant | null, content: string): Promise<string | undefined> {
    if (failedAt === null) return undefined
    const bytes = Buffer.from(content)
    const digest = this.#digest(bytes.toString('base64'))
    for (const each of this.#stored) {
      const isThen = Math.abs(each.at - fromInstant(failedAt)) <= windowMs
      if (each.evento !== evento || !isThen || each.bodyBytes !== bytes.length) continue
      each.digest ??= await this.#digestOf(each)
      if (each.digest === digest) return each.notification
    }
    return undefined
  }

  /** Adds one that is about to be stored. */
  add(notification: string, evento: string, failedAt: Instant | null, content: string): void {
    if (failedAt === null) return
    const body = Buffer.from(content)
    const digest = this.#digest(body.toString('base64'))
    const at = fromInstant(failedAt)
    this.#stored.push({ notification, evento, at, bodyBytes: body.length, body: '', digest })
  }

  async #read(from: number, until: number): Promise<void> {
    const types = ['notification.received', 'notification.recovered']
    let after = await this.#positionBefore(toInstant(from))
    for (;;) {
      const page = await this.#area.store.read({ after, types })
      for (const event of page) {
        if (fromInstant(event.at) > until) return
        this.#stored.push(toStored(event))
      }
      const last = page.at(-1)
      if (!last) return
      after = last.position
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

  /** What was moved out or erased cannot be compared, and so is nobody's copy. */
  async #digestOf({ body }: Stored): Promise<string> {
    const sealed = await openUnlessArchived(this.#area)(body)
    return sealed === undefined ? '' : this.#digest((sealed as SealedBody).bytes) // As `sealedBody` made it.
  }

  #digest(text: string): string {
    return Buffer.from(this.#area.store.digest('content', text)).toString('hex')
  }
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
