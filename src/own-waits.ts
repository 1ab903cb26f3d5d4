/** How many are remembered: more are as if they had never been put off here. */
const waitsMax = 10_000

/**
 * Until when this process itself put calls off, by a stopwatch. Where the clocks of two processes are far apart, each
 * takes every time that the other one wrote for past, or for one of a clock that was put right since: both would try at
 * every look.
 */
export class OwnWaits {
  readonly #elapsedMs: () => number
  readonly #waits = new Map<string, { readonly from: number; readonly until: number }>()

  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs
  }

  /** Notes that a call is put off. */
  note(id: string, waitMs: number): void {
    const from = this.#elapsedMs()
    if (this.#waits.size === waitsMax) this.#waits.clear()
    this.#waits.set(id, { from, until: from + waitMs })
  }

  /** Reports whether a call may be tried by this process. */
  isOver(id: string): boolean {
    const wait = this.#waits.get(id)
    if (!wait) return true
    const now = this.#elapsedMs()
    if (now < wait.until && now >= wait.from) return false
    this.#waits.delete(id)
    return true
  }
}
