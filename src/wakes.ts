import { type Clock, calledOff } from './clock.ts'

/** Wakes those who rest until there may be something new, each at the latest after a while. */
export class Wakes {
  readonly #clock: Clock
  readonly #pollMs: number
  /** How often it was said that there may be something new, and who rests until it is said again. */
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

  /** Rests until there may be something that came after so many wakes. Nothing of it is left behind: a process may only ever rest. */
  async rest(count: number, over: AbortSignal): Promise<void> {
    if (over.aborted || this.#count !== count) return
    const awake = new AbortController()
    const wake = () => awake.abort(calledOff)
    this.#resting.add(wake)
    over.addEventListener('abort', wake)
    await this.#clock.sleep(this.#pollMs, awake.signal, 'run: a look at the log')
    over.removeEventListener('abort', wake)
    this.#resting.delete(wake)
  }
}
