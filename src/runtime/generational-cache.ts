/**
 * A cache that keeps at least the `entriesMin` most recently used entries, and at most twice as many. It drops a whole
 * generation at a time: finding the oldest entry of a `Map` would walk past all deleted ones.
 */
export class GenerationalCache<K, V> {
  readonly #entriesMin: number
  #young = new Map<K, V>()
  #old = new Map<K, V>()

  constructor(entriesMin: number) {
    this.#entriesMin = entriesMin
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
    if (this.#young.size < this.#entriesMin) return
    this.#old = this.#young
    this.#young = new Map()
  }

  delete(key: K): void {
    this.#young.delete(key)
    this.#old.delete(key)
  }
}
