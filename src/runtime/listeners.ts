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
