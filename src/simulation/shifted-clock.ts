import { type Clock, systemClock } from '../clock.ts'

/** A clock that moves with the machine's, and can be moved ahead of it. */
export class ShiftedClock implements Clock {
  #aheadMs = 0
  #moved = new AbortController()

  now(): number {
    return systemClock.now() + this.#aheadMs
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const dueAt = this.now() + ms
    // A move cuts the waiting short, and what is left of it is waited for again.
    for (let left = ms; left > 0 && !signal?.aborted; left = dueAt - this.now()) {
      const { signal: moved } = this.#moved
      await systemClock.sleep(left, signal ? AbortSignal.any([signal, moved]) : moved)
    }
  }

  /** Moves ahead; resolves when everyone who came due by it has been woken. */
  async advance(ms: number): Promise<void> {
    this.#aheadMs += ms
    const moved = this.#moved
    this.#moved = new AbortController()
    moved.abort()
    await new Promise(resolve => setImmediate(resolve))
  }
}
