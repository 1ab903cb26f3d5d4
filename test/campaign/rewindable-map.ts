/** A map built from a log; it can be rewound to an earlier position. */
export class RewindableMap<K, V> {
  readonly #now = new Map<K, V>()
  readonly #changes: { readonly position: number; readonly key: K; readonly before: V | undefined }[] = []

  get(key: K): V | undefined {
    return this.#now.get(key)
  }

  /** Sets the value of a key from an event on. */
  set(position: number, key: K, value: V): void {
    this.#changes.push({ position, key, before: this.#now.get(key) })
    this.#now.set(key, value)
  }

  /** Undoes the changes of the events after a position. */
  rewind(position: number): void {
    for (let last = this.#changes.at(-1); last && last.position > position; last = this.#changes.at(-1)) {
      if (last.before === undefined) this.#now.delete(last.key)
      else this.#now.set(last.key, last.before)
      this.#changes.pop()
    }
  }
}
