import type { Clock } from '../../src/runtime/clock.ts'
import { VirtualClock } from '../../src/simulation/world/virtual-clock.ts'

/** Far more than the requests that arrive at one time in normal work. */
const arrivalsMax = 3_000

/** The virtual clock of a run, which knows the next due time. */
export class TrackedClock implements Clock {
  readonly #clock = new VirtualClock()
  readonly #due = new Set<{ readonly at: number }>()
  /** Grows with each sleep, wake-up and arrival: while it grows, work is active. */
  activity = 0
  /** The number of arrivals at a time. */
  #arrivals = { at: 0, count: 0 }

  now(): number {
    return this.#clock.now()
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const sleeper = { at: this.now() + ms }
    this.#due.add(sleeper)
    this.activity += 1
    await this.#clock.sleep(ms, signal)
    this.#due.delete(sleeper)
    this.activity += 1
  }

  /** Resolves for one caller at a time, each after all effects of the one before, so the order is the same everywhere. */
  async arrive(): Promise<void> {
    const at = this.now()
    this.#arrivals = { at, count: at === this.#arrivals.at ? this.#arrivals.count + 1 : 1 }
    // Otherwise the requests would never let time pass.
    if (this.isEndless) await new Promise(() => undefined)
    await this.#clock.arrive()
    this.activity += 1
  }

  /** Whether requests repeat without a pause. Then no more of them arrive. */
  get isEndless(): boolean {
    return this.#arrivals.count > arrivalsMax
  }

  /** The time of the next wake-up; infinity without a sleeper. */
  nextDue(): number {
    return Math.min(...[...this.#due].map(({ at }) => at))
  }

  async advanceTo(at: number): Promise<void> {
    await this.#clock.advance(Math.max(0, at - this.now()))
  }
}

export function turnEventLoop(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
