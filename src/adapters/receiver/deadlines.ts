import { type Clock, cancelReason, monotonicClock } from '../../runtime/clock.ts'

/** Work that has a limited time. */
export interface Deadline {
  /** Whether the time is over. */
  readonly isOver: boolean
  /** Called when the time is over. */
  onOver: (() => void) | undefined
}

interface RunningDeadline extends Deadline {
  isOver: boolean
  readonly dueAt: number
}

/** Deadlines that all last equally long: the first to begin is the first to end, so one timer serves all. */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  /** A clock that is set meanwhile makes nobody wait longer, and takes nobody's time. */
  readonly #elapsedMs: () => number
  readonly #running = new Set<RunningDeadline>()
  #ticking: AbortController | undefined

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
    this.#elapsedMs = monotonicClock(clock)
  }

  /** Begins a deadline, which has to be ended. */
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

  /** Ends a deadline, whose time then no longer runs out. */
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
