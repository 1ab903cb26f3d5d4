import { type Clock, cancelReason } from './clock.ts'

/** Wakes those that rest until there may be something new, each after a while at the latest. */
export class WakeSignal {
  readonly #clock: Clock
  readonly #pollMs: number
  /** How many wakes there were, and what to call at the next one. */
  #count = 0
  readonly #resting = new Set<() => void>()

  constructor(clock: Clock, pollMs: number) {
    this.#clock = clock
    this.#pollMs = pollMs
  }

  get count(): number {
    return this.#count
  }

  /** Says that there may be something new. */
  wake(): void {
    this.#count += 1
    for (const wake of this.#resting) wake()
  }

  /**
   * Rests until a wake after the `count`-th, a while at most. Its listeners are removed: a process that is always idle
   * must not gather them.
   */
  async rest(count: number, over: AbortSignal): Promise<void> {
    if (over.aborted || this.#count !== count) return
    const awake = new AbortController()
    const wake = () => awake.abort(cancelReason)
    this.#resting.add(wake)
    over.addEventListener('abort', wake)
    await this.#clock.sleep(this.#pollMs, awake.signal, 'run: a look at the log')
    over.removeEventListener('abort', wake)
    this.#resting.delete(wake)
  }
}
