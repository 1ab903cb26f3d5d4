import { type Clock, systemClock } from '../../runtime/clock.ts'
import { whenQuiet } from '../../runtime/event-loop.ts'

interface Sleeper {
  readonly dueAt: number
  /** Interrupts the sleep; what is left of it is slept after that. */
  moved: AbortController
}

/** A clock that moves with the system's, and can be moved ahead of it. */
export class ShiftedClock implements Clock {
  #aheadMs = 0
  readonly #sleepers = new Set<Sleeper>()

  now(): number {
    return systemClock.now() + this.#aheadMs
  }

  /** How many sleepers there are. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const sleeper: Sleeper = { dueAt: this.now() + ms, moved: new AbortController() }
    this.#sleepers.add(sleeper)
    for (let left = ms; left > 0 && !signal?.aborted; left = sleeper.dueAt - this.now()) {
      sleeper.moved = new AbortController()
      const moved = sleeper.moved.signal
      await systemClock.sleep(left, signal ? AbortSignal.any([signal, moved]) : moved)
    }
    this.#sleepers.delete(sleeper)
  }

  /**
   * Moves ahead by `ms`, from one sleeper that comes due to the next, each woken at its own time. Resolves when all of
   * this has happened, and what followed from it: whatever waits for this clock then sleeps beyond it. What waits for
   * the system's time, such as an answer over a socket, is not waited for.
   */
  async advance(ms: number): Promise<void> {
    let left = ms
    await whenQuiet() // What has just begun may be about to sleep.
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

  /** The sleeper that is due first. */
  #next(): Sleeper | undefined {
    let first: Sleeper | undefined
    for (const each of this.#sleepers) if (!first || each.dueAt < first.dueAt) first = each
    return first
  }
}
