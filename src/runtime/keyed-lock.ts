/**
 * Lets work on the same name go one after the other, and other work at the same time. A caller joins the queues of all
 * its names at once, so that no two can wait for each other.
 */
export class KeyedLock {
  readonly #last = new Map<string, Promise<void>>()

  /** Does the work when all earlier work on any of these names has ended. */
  async run<T>(names: Iterable<string>, work: () => Promise<T>): Promise<T> {
    const own = new Set(names)
    const earlier = [...own].flatMap(name => this.#last.get(name) ?? [])
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    for (const name of own) this.#last.set(name, ended)
    try {
      if (earlier.length > 0) await Promise.all(earlier)
      return await work()
    } finally {
      for (const name of own) if (this.#last.get(name) === ended) this.#last.delete(name)
      end()
    }
  }
}
