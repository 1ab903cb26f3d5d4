import { type Clock, waitAtMost } from './clock.ts'

/** The work that a process has begun, so that it can wait for it before it ends. */
export class WorkInProgress {
  readonly #running = new Set<Promise<unknown>>()
  /** Work that was waited for until a time limit: it is not waited for again. */
  readonly #waitedFor = new WeakSet<Promise<unknown>>()

  /** Remembers work until it ends. */
  track<T>(work: Promise<T>): Promise<T> {
    const tracked = work.finally(() => this.#running.delete(tracked))
    this.#running.add(tracked)
    return tracked
  }

  /** Takes what is in progress now. The returned function keeps `waitForAll` from waiting for it again. */
  note(): () => void {
    const noted = [...this.#running]
    return () => {
      for (const each of noted) this.#waitedFor.add(each)
    }
  }

  /** Waits for all work, also for what begins meanwhile, up to a limit. */
  async waitForAll(clock: Clock, limitMs: number, what: string): Promise<void> {
    const ended = async () => {
      const left = () => [...this.#running].filter(each => !this.#waitedFor.has(each))
      while (left().length > 0) await Promise.allSettled(left())
    }
    await waitAtMost(clock, limitMs, ended(), what)
  }
}
