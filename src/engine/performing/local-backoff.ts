import { type Clock, monotonicClock } from '../../runtime/clock.ts'
import type { ClaimCandidate } from '../../store/ledger/ledger.ts'
import type { PendingEffect } from '../../vocabulary/message.ts'

/** How many are remembered: more are as if they had never been put off here. */
const waitsMax = 10_000

/**
 * Until when this process itself put calls off, by a stopwatch. Where the clocks of two processes are far apart, each
 * takes every time that the other one wrote for past, or for one of a clock that was put right since: both would try at
 * every look.
 */
export class LocalBackoff {
  readonly #clock: Clock
  readonly #elapsedMs: () => number
  readonly #waits = new Map<string, LocalWait>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#elapsedMs = monotonicClock(clock)
  }

  /** Notes that a call is put off after an attempt. */
  note({ id, attempts }: Pick<PendingEffect, 'id' | 'attempts'>, waitMs: number): void {
    const from = this.#elapsedMs()
    if (this.#waits.size === waitsMax) this.#waits.clear()
    this.#waits.set(id, { attempts, from, until: from + waitMs, dueAt: this.#clock.now() + waitMs })
  }

  /**
   * Reports whether a call has to wait for this process's own sake: not one whose attempts are counted anew, since an
   * operator has let it go, nor one that another process has begun since.
   */
  holds({ pending: { id, attempts }, wasStarted }: ClaimCandidate): boolean {
    const wait = this.#waits.get(id)
    if (!wait || wasStarted) return false
    const now = this.#elapsedMs()
    // A clock that was behind when it gave the time may have been put right.
    const isOver = now >= wait.until || now < wait.from || this.#clock.now() >= wait.dueAt
    if (!isOver && attempts > wait.attempts) return true
    this.#waits.delete(id)
    return false
  }
}

/** A wait: after how many attempts, by the stopwatch, and by the clock. */
interface LocalWait {
  readonly attempts: number
  readonly from: number
  readonly until: number
  readonly dueAt: number
}
