import { isWithin, minuteMs } from '../vocabulary/instant.ts'
import type { Clock } from './clock.ts'

const kindsMax = 1_000

/** Logs each kind of line at most once a minute: requests from strangers must not fill the host's disk. */
export class LogLimiter {
  readonly #clock: Clock
  readonly #logged = new Map<string, { at: number; suppressed: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `write` with the number of occurrences since the last line, unless that was less than a minute ago. */
  log(kind: string, write: (times: number) => void): void {
    const now = this.#clock.now()
    const last = this.#logged.get(kind)
    if (last && isWithin(minuteMs, last.at, now)) {
      last.suppressed += 1
      return
    }
    if (!last && this.#logged.size === kindsMax) this.#logged.clear()
    this.#logged.set(kind, { at: now, suppressed: 0 })
    write((last?.suppressed ?? 0) + 1)
  }
}
