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
