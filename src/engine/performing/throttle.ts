import type { Clock } from '../../runtime/clock.ts'
import { Semaphore } from '../../runtime/locks.ts'

/** How much of a service one process may use. */
export interface ServiceLimits {
  /** Calls that begin per second, on average; unlimited when absent. Up to this many may begin at once. */
  readonly requestsPerSecond?: number
  /** Calls in progress at the same time. */
  readonly requestsAtOnceMax?: number
}

const requestsAtOnceDefault = 8

/** Limits calls to one service, in order: a semaphore for calls in progress, a token bucket for new ones. */
export class Throttle {
  readonly #clock: Clock
  readonly #semaphore: Semaphore
  readonly #perSecond: number
  #tokens: number
  #filledAt: number
  /** The first call waits for its token; the others wait for that call. */
  #lastInQueue: Promise<unknown> = Promise.resolve()

  constructor(
    clock: Clock,
    { requestsPerSecond = Number.POSITIVE_INFINITY, requestsAtOnceMax = requestsAtOnceDefault }: ServiceLimits,
  ) {
    this.#clock = clock
    this.#semaphore = new Semaphore(requestsAtOnceMax)
    this.#perSecond = requestsPerSecond
    this.#tokens = this.#capacity
    this.#filledAt = clock.now()
  }

  get atOnceMax(): number {
    return this.#semaphore.max
  }

  /** Runs the work when its turn comes; false if the signal came first. Work that made no call gives its token back. */
  run(work: () => Promise<boolean>, signal: AbortSignal): Promise<boolean> {
    return this.#semaphore.within(async () => {
      const turn = this.#lastInQueue.then(() => this.#takeToken(signal))
      this.#lastInQueue = turn
      if (!(await turn)) return false
      if (!(await work())) this.#tokens = Math.min(this.#capacity, this.#tokens + 1)
      return true
    })
  }

  get #capacity(): number {
    return Math.max(1, this.#perSecond)
  }

  async #takeToken(signal: AbortSignal): Promise<boolean> {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return !signal.aborted
    for (;;) {
      if (signal.aborted) return false
      const now = this.#clock.now()
      // If the system clock was set back, no tokens are added.
      const elapsedMs = Math.max(0, now - this.#filledAt)
      this.#tokens = Math.min(this.#capacity, this.#tokens + (elapsedMs * this.#perSecond) / 1_000)
      this.#filledAt = now
      if (this.#tokens >= 1) {
        this.#tokens -= 1
        return true
      }
      const waitMs = Math.ceil(((1 - this.#tokens) * 1_000) / this.#perSecond)
      await this.#clock.sleep(waitMs, signal, 'the turn of a call')
    }
  }
}
