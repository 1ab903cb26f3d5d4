import { isWithin, minuteMs } from '../vocabulary/instant.ts'
import type { Clock } from './clock.ts'

/** How many kinds are remembered: their names come from what was declared, not from strangers. */
const kindsMax = 1_000

/**
 * Tells each kind of thing once a minute, however often it happens: what strangers can make happen must not fill a
 * host's disk with lines.
 */
export class LogLimiter {
  readonly #clock: Clock
  readonly #told = new Map<string, { at: number; since: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Does the telling, unless it was done less than a minute ago, with how often it has happened since. */
  log(kind: string, telling: (times: number) => void): void {
    const now = this.#clock.now()
    const told = this.#told.get(kind)
    if (told && isWithin(minuteMs, told.at, now)) {
      told.since += 1
      return
    }
    if (!told && this.#told.size === kindsMax) this.#told.clear()
    this.#told.set(kind, { at: now, since: 0 })
    telling((told?.since ?? 0) + 1)
  }
}
