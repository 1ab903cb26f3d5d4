import { type Clock, cancelReason } from './clock.ts'

/** Callbacks, called in the order in which they were added. */
export class Listeners<T> {
  readonly #all: ((value: T) => void)[] = []

  add(listener: (value: T) => void): void {
    this.#all.push(listener)
  }

  notify(value: T): void {
    for (const listener of this.#all) listener(value)
  }
}

/** Wakes waiting loops when there may be something new, and at the latest after the poll interval. */
export class WakeSignal {
  readonly #clock: Clock
  readonly #pollMs: number
  #count = 0
  readonly #resting = new Set<() => void>()

  constructor(clock: Clock, pollMs: number) {
    this.#clock = clock
    this.#pollMs = pollMs
  }

  get count(): number {
    return this.#count
  }

  /** Wakes all waiting loops: there may be something new. */
  wake(): void {
    this.#count += 1
    for (const wake of this.#resting) wake()
  }

  /**
   * Waits until a wake after the `count`-th, at most for the poll interval. Removes its listeners, since an idle
   * process calls this forever.
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
