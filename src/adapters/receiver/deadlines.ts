import { type Clock, cancelReason, monotonicClock } from '../../runtime/clock.ts'

/** A time limit for one piece of work. */
export interface Deadline {
  readonly isOver: boolean
  onOver: (() => void) | undefined
}

interface RunningDeadline extends Deadline {
  isOver: boolean
  readonly dueAt: number
}

/** Deadlines of equal length: the first to begin is the first to end, so one timer serves all. */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  /** Setting the system clock neither extends nor shortens a deadline. */
  readonly #elapsedMs: () => number
  readonly #running = new Set<RunningDeadline>()
  #ticking: AbortController | undefined

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
    this.#elapsedMs = monotonicClock(clock)
  }

  /** Starts a deadline. The caller has to end it. */
  begin(): Deadline {
    const deadline: RunningDeadline = {
      isOver: false,
      onOver: undefined,
      dueAt: this.#elapsedMs() + this.#ms,
    }
    this.#running.add(deadline)
    if (!this.#ticking) void this.#tick()
    return deadline
  }

  end(deadline: Deadline): void {
    this.#running.delete(deadline as RunningDeadline) // Made above.
    if (this.#running.size > 0) return
    this.#ticking?.abort(cancelReason)
    this.#ticking = undefined
  }

  async #tick(): Promise<void> {
    const ticking = new AbortController()
    this.#ticking = ticking
    for (const first of this.#running) {
      const leftMs = Math.min(first.dueAt - this.#elapsedMs(), this.#ms)
      await this.#clock.sleep(leftMs, ticking.signal, 'the time of a request')
      if (ticking.signal.aborted) return
      if (!this.#running.delete(first)) continue
      first.isOver = true
      first.onOver?.()
    }
    this.#ticking = undefined
  }
}
