/**
 * A map that forgets what was neither set nor asked for in a while: it holds at least `kept` of the newest entries, and
 * at most twice as many. Entries go a generation at a time: to look for the oldest one of a `Map`, the places of all
 * that were deleted before it are passed by.
 */
export class GenerationalCache<K, V> {
  readonly #kept: number
  #young = new Map<K, V>()
  #old = new Map<K, V>()

  constructor(kept: number) {
    this.#kept = kept
  }

  get(key: K): V | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.set(key, old)
    return old
  }

  set(key: K, value: V): void {
    this.#young.set(key, value)
    if (this.#young.size < this.#kept) return
    this.#old = this.#young
    this.#young = new Map()
  }

  delete(key: K): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
}
