/** Those who hear of something, in the order in which they came. */
export class Listeners<T> {
  readonly #all: ((told: T) => void)[] = []

  add(listener: (told: T) => void): void {
    this.#all.push(listener)
  }

  notify(told: T): void {
    for (const listener of this.#all) listener(told)
  }
}
