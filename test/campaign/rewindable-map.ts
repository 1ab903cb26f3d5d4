/** A map of what a log says that goes back to what it held when the log ended at an earlier position. */
export class RewindableMap<K, V> {
  readonly #now = new Map<K, V>()
  readonly #changes: { readonly position: number; readonly key: K; readonly before: V | undefined }[] = []

  get(key: K): V | undefined {
    return this.#now.get(key)
  }

  /** Sets what a key stands for from an event on. */
  set(position: number, key: K, value: V): void {
    this.#changes.push({ position, key, before: this.#now.get(key) })
    this.#now.set(key, value)
  }

  /** Takes back what the events after a position have set. */
  rewind(position: number): void {
    for (let last = this.#changes.at(-1); last && last.position > position; last = this.#changes.at(-1)) {
      if (last.before === undefined) this.#now.delete(last.key)
      else this.#now.set(last.key, last.before)
      this.#changes.pop()
    }
  }
}
