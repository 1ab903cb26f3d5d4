import type { Clock } from '../../runtime/clock.ts'
import { Semaphore } from '../../runtime/semaphore.ts'

/** How much of a service one process uses at most. */
export interface ServiceLimits {
  /** Calls that begin within a second, on average; no bound when absent. Up to this many may begin at once. */
  readonly requestsPerSecond?: number
  /** Calls that are under way at the same time. */
  readonly requestsAtOnceMax?: number
}

/** How many calls to one service may be under way at the same time by default. */
const requestsAtOnceDefault = 8

/**
 * Lets calls to one service through, in the order in which they come: a bound on how many are under way, and a bucket
 * of tokens that fills with the clock on how many begin.
 */
export class Throttle {
  readonly #clock: Clock
  readonly #places: Semaphore
  readonly #perSecond: number
  #tokens: number
  #filledAt: number
  /** The call whose turn it is waits for its token; the others wait for that call. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(
    clock: Clock,
    {
      requestsPerSecond = Number.POSITIVE_INFINITY,
      requestsAtOnceMax = requestsAtOnceDefault,
    }: ServiceLimits,
  ) {
    this.#clock = clock
    this.#places = new Semaphore(requestsAtOnceMax)
    this.#perSecond = requestsPerSecond
    this.#tokens = this.#capacity
    this.#filledAt = clock.now()
  }

  /** How many calls may be under way at the same time. */
  get atOnceMax(): number {
    return this.#places.max
  }

  /**
   * Does the work when its turn has come; false when the signal ended the waiting. Work that says that it made no call
   * gives back its token.
   */
  pass(work: () => Promise<boolean>, signal: AbortSignal): Promise<boolean> {
    return this.#places.within(async () => {
      const turn = this.#turn.then(() => this.#takeToken(signal))
      this.#turn = turn
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
      // The system's clock may go back: then no tokens were added.
      const passedMs = Math.max(0, now - this.#filledAt)
      this.#tokens = Math.min(this.#capacity, this.#tokens + (passedMs * this.#perSecond) / 1_000)
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
