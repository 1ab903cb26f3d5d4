/** A bound on what is under way at once. Those that wait for a place get it in the order of asking. */
export class Semaphore {
  readonly max: number
  #taken = 0
  readonly #waiting: (() => void)[] = []

  constructor(max: number) {
    this.max = max
  }

  /** How many have a place, and how many wait for one. */
  get count(): number {
    return this.#taken + this.#waiting.length
  }

  /** Does the work at once, or gives `undefined` when no place is left. */
  tryWithin<T>(work: () => Promise<T>): Promise<T> | undefined {
    if (this.#taken >= this.max) return undefined
    this.#taken += 1
    return this.#leaveAfter(work)
  }

  /** Does the work once there is a place. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    const atOnce = this.tryWithin(work)
    if (atOnce) return atOnce
    await new Promise<void>(resolve => this.#waiting.push(resolve))
    return this.#leaveAfter(work)
  }

  async #leaveAfter<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } finally {
      // The place is handed over: a newcomer cannot slip in.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#taken -= 1
    }
  }
}
