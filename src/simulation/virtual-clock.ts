import { type Clock, fromInstant } from '../clock.ts'
import type { Instant } from '../message.ts'

interface Sleeper {
  readonly dueAt: number
  readonly wake: () => void
}

const startsAt: Instant = '2026-11-20T12:00:00.000Z'

/** A clock that moves only when told to: a month passes in milliseconds. */
export class VirtualClock implements Clock {
  #now: number
  readonly #sleepers = new Set<Sleeper>()

  constructor(start: Instant = startsAt) {
    this.#now = fromInstant(start)
  }

  now(): number {
    return this.#now
  }

  /** How many sleep now. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const sleeper: Sleeper = {
        dueAt: this.#now + ms,
        wake: () => {
          this.#sleepers.delete(sleeper)
          signal?.removeEventListener('abort', sleeper.wake)
          resolve()
        },
      }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', sleeper.wake)
    })
  }

  /** Moves forward, waking every sleeper at its own time. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    for (;;) {
      const [next] = [...this.#sleepers].filter(each => each.dueAt <= end).sort((a, b) => a.dueAt - b.dueAt)
      if (!next) break
      this.#now = Math.max(this.#now, next.dueAt)
      next.wake()
      await new Promise(resolve => setImmediate(resolve))
    }
    this.#now = end
  }
}
