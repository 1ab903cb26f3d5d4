import { type Clock, cancelReason } from './clock.ts'

/** The longest rest: a clock may be set, and then something is due earlier than was known. */
const restMaxMs = 10 * 60_000

/** Wakes waiting loops when there may be something new. */
export class WakeSignal {
  readonly #clock: Clock
  #count = 0
  readonly #resting = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get count(): number {
    return this.#count
  }

  /** Wakes all waiting loops: there may be something new. */
  wake(): void {
    this.#count += 1
    for (const wake of this.#resting) wake()
  }

  /** Waits for a wake after the `count`-th, a time, the signal, or ten minutes. Leaves no listener. */
  async rest(count: number, until: number, over: AbortSignal, what: string): Promise<void> {
    const ms = Math.min(until - this.#clock.now(), restMaxMs)
    if (over.aborted || this.#count !== count || ms <= 0) return
    const awake = new AbortController()
    const wake = () => awake.abort(cancelReason)
    this.#resting.add(wake)
    over.addEventListener('abort', wake)
    await this.#clock.sleep(ms, awake.signal, what)
    over.removeEventListener('abort', wake)
    this.#resting.delete(wake)
  }
}
