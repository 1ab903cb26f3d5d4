import { type Clock, systemClock } from '../../runtime/clock.ts'
import { whenQuiet } from '../../runtime/event-loop.ts'

interface RealSleeper {
  readonly dueAt: number
  /** Interrupts the sleep so that it is computed anew. */
  moved: AbortController
}

/** A clock that moves with the system clock, and can be moved ahead of it. */
export class ShiftedClock implements Clock {
  #aheadMs: number
  readonly #sleepers = new Set<RealSleeper>()

  constructor(aheadMs = 0) {
    this.#aheadMs = aheadMs
  }

  /** How far it is ahead of the system clock. */
  get aheadMs(): number {
    return this.#aheadMs
  }

  now(): number {
    return systemClock.now() + this.#aheadMs
  }

  get sleeping(): number {
    return this.#sleepers.size
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const sleeper: RealSleeper = { dueAt: this.now() + ms, moved: new AbortController() }
    this.#sleepers.add(sleeper)
    for (let left = ms; left > 0 && !signal?.aborted; left = sleeper.dueAt - this.now()) {
      sleeper.moved = new AbortController()
      const moved = sleeper.moved.signal
      await systemClock.sleep(left, signal ? AbortSignal.any([signal, moved]) : moved)
    }
    this.#sleepers.delete(sleeper)
  }

  /**
   * Moves ahead by `ms` and wakes each sleeper at its own time. Resolves when the woken work has run: all remaining
   * sleepers are due later. It does not wait for work that takes real time, such as an answer over a socket.
   */
  async advance(ms: number): Promise<void> {
    let left = ms
    await whenQuiet() // Work that has just begun may be about to sleep.
    for (let next = this.#next(); next; next = this.#next()) {
      const stepMs = Math.max(0, next.dueAt - this.now())
      if (stepMs > left) break
      this.#aheadMs += stepMs
      left -= stepMs
      next.moved.abort()
      await whenQuiet()
    }
    this.#aheadMs += left
    for (const { moved } of this.#sleepers) moved.abort()
    await whenQuiet()
  }

  #next(): RealSleeper | undefined {
    return [...this.#sleepers].toSorted((a, b) => a.dueAt - b.dueAt)[0]
  }
}
