/** Serializes work on the same key. A caller joins the queues of all its keys at once, which prevents deadlocks. */
export class KeyedLock {
  readonly #last = new Map<string, Promise<void>>()

  /** Runs the work when all earlier work on any of these keys has ended. */
  async run<T>(keys: Iterable<string>, work: () => Promise<T>): Promise<T> {
    const own = new Set(keys)
    const earlier = [...own].flatMap(key => this.#last.get(key) ?? [])
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    for (const key of own) this.#last.set(key, ended)
    try {
      if (earlier.length > 0) await Promise.all(earlier)
      return await work()
    } finally {
      for (const key of own) if (this.#last.get(key) === ended) this.#last.delete(key)
      end()
    }
  }
}

/** Limits how much work runs at once. Waiting callers run in the order in which they came. */
export class Semaphore {
  readonly max: number
  #taken = 0
  readonly #waiting: (() => void)[] = []

  constructor(max: number) {
    this.max = max
  }

  /** How many callers are running or waiting. */
  get count(): number {
    return this.#taken + this.#waiting.length
  }

  /** Runs the work now, or returns `undefined` when the limit is reached. */
  tryWithin<T>(work: () => Promise<T>): Promise<T> | undefined {
    if (this.#taken >= this.max) return undefined
    this.#taken += 1
    return this.#leaveAfter(work)
  }

  /** Runs the work as soon as the limit allows. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    const started = this.tryWithin(work)
    if (started) return started
    await new Promise<void>(resolve => this.#waiting.push(resolve))
    return this.#leaveAfter(work)
  }

  async #leaveAfter<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } finally {
      // The place passes to the next waiting caller, so that no newcomer takes it.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#taken -= 1
    }
  }
}
