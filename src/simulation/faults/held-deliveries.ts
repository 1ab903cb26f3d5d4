import type { Clock } from '../../runtime/clock.ts'

/** How long a delivery waits for the next one by default: well below the portal's 3500 ms. */
const defaultHoldMs = 1_000

/** Holds deliveries until the next one to the same receiver has been sent. */
export class HeldDeliveries {
  readonly #clock: Clock
  /** Releases a held delivery, by the host of its receiver. */
  readonly #waiting = new Map<string, AbortController>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  isWaiting(request: Request): boolean {
    return this.#waiting.has(receiverHost(request))
  }

  /** Sends a delivery after the next one, or after `ms`. */
  async hold<T>(request: Request, ms = defaultHoldMs, send: () => Promise<T>): Promise<T> {
    const host = receiverHost(request)
    const released = new AbortController()
    this.#waiting.set(host, released)
    await this.#clock.sleep(ms, released.signal, 'the fault reorder')
    if (this.#waiting.get(host) === released) this.#waiting.delete(host)
    return send()
  }

  /** Sends a delivery at once, and then releases the one that waits for it. */
  async overtake<T>(request: Request, send: () => Promise<T>): Promise<T> {
    const host = receiverHost(request)
    const held = this.#waiting.get(host)
    // The pair is complete: the next delivery may be held again.
    this.#waiting.delete(host)
    try {
      return await send()
    } finally {
      held?.abort()
    }
  }

  releaseAll(): void {
    for (const released of this.#waiting.values()) released.abort()
  }
}

function receiverHost(request: Request): string {
  return new URL(request.url).host
}
