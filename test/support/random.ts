/** Random choices that the same seed repeats. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A number from 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  /** Selects `count` elements of a list, evenly spread, in order; all if there are not more. */
  spread<T>(list: readonly T[], count: number): T[] {
    if (count >= list.length) return [...list]
    const stride = list.length / count
    const offset = this.next() * stride
    return Array.from({ length: count }, (_, i) => list[Math.floor(offset + i * stride)] as T) // Below the length.
  }
}
