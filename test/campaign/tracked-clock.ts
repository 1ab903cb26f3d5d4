import type { Clock } from '../../src/runtime/clock.ts'
import { VirtualClock } from '../../src/simulation/world/virtual-clock.ts'

/** Far more than arrive at one time for a reason. */
const arrivalsMax = 3_000

/** The virtual clock of a run, which knows what comes due next. */
export class TrackedClock implements Clock {
  readonly #clock = new VirtualClock()
  readonly #due = new Set<{ readonly at: number }>()
  /** Grows whenever anybody sleeps or wakes: while it grows, somebody is at work. */
  activity = 0
  /** How many arrived at a time. */
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

  /** Resolves for one after the other, each when all before has had its effect: on no runtime does their order differ. */
  async arrive(): Promise<void> {
    const at = this.now()
    this.#arrivals = { at, count: at === this.#arrivals.at ? this.#arrivals.count + 1 : 1 }
    // Or time would stand still for as long as the requests go on.
    if (this.isEndless) await new Promise(() => undefined)
    await this.#clock.arrive()
    this.activity += 1
  }

  /** Whether requests went on and on without a pause: none arrives any more. */
  get isEndless(): boolean {
    return this.#arrivals.count > arrivalsMax
  }

  /** When the next sleeper wakes; `undefined` when nobody sleeps. */
  nextDue(): number | undefined {
    let first: number | undefined
    for (const { at } of this.#due) if (first === undefined || at < first) first = at
    return first
  }

  /** Moves to a time that is not behind it. */
  async advanceTo(at: number): Promise<void> {
    await this.#clock.advance(Math.max(0, at - this.now()))
  }
}

/** Lets everything happen that nothing but memory is needed for. */
export function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
