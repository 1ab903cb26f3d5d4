import { type Clock, monotonicClock } from '../../runtime/clock.ts'
import type { ClaimCandidate } from '../../store/ledger/ledger.ts'
import type { PendingEffect } from '../../vocabulary/message.ts'

/** More calls than this are treated as never postponed here. */
const rememberedMax = 10_000

/**
 * Until when this process has postponed calls, by a monotonic clock. Otherwise two processes with clocks far apart
 * would ignore each other's due times and both try at every look.
 */
export class LocalBackoff {
  readonly #clock: Clock
  readonly #elapsedMs: () => number
  readonly #waits = new Map<string, LocalWait>()

  constructor(clock: Clock) {
    this.#clock = clock
    this.#elapsedMs = monotonicClock(clock)
  }

  postpone({ id, attempts }: Pick<PendingEffect, 'id' | 'attempts'>, waitMs: number): void {
    const from = this.#elapsedMs()
    if (this.#waits.size === rememberedMax) this.#waits.clear()
    this.#waits.set(id, { attempts, from, until: from + waitMs, dueAt: this.#clock.now() + waitMs })
  }

  /** Whether this process postponed a call, which no operator has released nor another process begun since. */
  isPostponed({ pending: { id, attempts }, wasStarted }: ClaimCandidate): boolean {
    const wait = this.#waits.get(id)
    if (!wait || wasStarted) return false
    const now = this.#elapsedMs()
    // The clock may have been behind when it gave the due time, and corrected since.
    const isOver = now >= wait.until || now < wait.from || this.#clock.now() >= wait.dueAt
    if (!isOver && attempts > wait.attempts) return true
    this.#waits.delete(id)
    return false
  }
}

interface LocalWait {
  readonly attempts: number
  readonly from: number
  readonly until: number
  readonly dueAt: number
}
