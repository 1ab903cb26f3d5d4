import { type Clock, calledOff } from '../clock.ts'

/** Work that has only so much time. */
export interface Deadline {
  /** The time is over. */
  readonly isOver: boolean
  /** Called when it is. */
  onOver: (() => void) | undefined
}

interface Running extends Deadline {
  isOver: boolean
  readonly dueAt: number
}

/** Deadlines that are all as long: what began first is over first, so that one timer serves for all of them. */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  readonly #running = new Set<Running>()
  #ticking: AbortController | undefined

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  /** Begins one, which has to be ended. */
  begin(): Deadline {
    const deadline: Running = { isOver: false, onOver: undefined, dueAt: this.#clock.now() + this.#ms }
    this.#running.add(deadline)
    if (!this.#ticking) void this.#tick()
    return deadline
  }

  /** Ends one: its time is not over any more. */
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
      // A clock that goes back makes nobody wait longer.
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
