import { type Clock, calledOff } from '../clock.ts'

/** Work that has a limited time. */
export interface Deadline {
  /** Whether the time is over. */
  readonly isOver: boolean
  /** Called when the time is over. */
  onOver: (() => void) | undefined
}

interface Running extends Deadline {
  isOver: boolean
  readonly dueAt: number
}

/** Deadlines that all last equally long: the first to begin is the first to end, so one timer serves all. */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  readonly #running = new Set<Running>()
  #ticking: AbortController | undefined

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  /** Begins a deadline, which has to be ended. */
  begin(): Deadline {
    const deadline: Running = { isOver: false, onOver: undefined, dueAt: this.#clock.now() + this.#ms }
    this.#running.add(deadline)
    if (!this.#ticking) void this.#tick()
    return deadline
  }

  /** Ends a deadline, whose time then no longer runs out. */
  end(deadline: Deadline): void {
    this.#running.delete(deadline as Running) // Made above.
    if (this.#running.size > 0) return
    this.#ticking?.abort(calledOff)
    this.#ticking = undefined
  }

  async #tick(): Promise<void> {
    const ticking = new AbortController()
    this.#ticking = ticking
    for (const first of this.#running) {
      // A clock that goes back must not make anybody wait longer.
      await this.#clock.sleep(
        Math.min(first.dueAt - this.#clock.now(), this.#ms),
        ticking.signal,
        'the time of a request',
      )
      if (ticking.signal.aborted) return
      if (!this.#running.delete(first)) continue
      first.isOver = true
      first.onOver?.()
    }
    this.#ticking = undefined
  }
}
