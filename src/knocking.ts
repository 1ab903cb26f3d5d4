import type { Clock } from './clock.ts'
import { AverbaError, type ErrorCode } from './errors.ts'

/** How long to wait before knocking again: at first, and at most. */
const [waitMinMs, waitMaxMs] = [1_000, 60_000]

/** What tells and ends the waiting for a store that cannot be written. */
export interface Waiting {
  readonly closing: AbortSignal
  readonly onTrouble: (what: string, error: unknown) => void
}

/**
 * Holds the result of a call while the store cannot be written: it could not be asked for again, and may have been paid
 * for. One knocks for all that wait, so that a full disk is not tried once for each of them.
 */
export class Knocking {
  readonly #clock: Clock
  readonly #waiting: Waiting
  /** Ends when the one that knocks was let in, or the log is closing. */
  #knocked: Promise<void> | undefined

  constructor(clock: Clock, waiting: Waiting) {
    this.#clock = clock
    this.#waiting = waiting
  }

  /** Does the work until the store takes it; tries a last time when the log is closing. */
  async untilTaken<T>(work: () => Promise<T>): Promise<T> {
    let attempt = await this.#try(work)
    if ('cannot' in attempt)
      this.#waiting.onTrouble(
        'what a call came to cannot be recorded: it waits until the store takes it',
        attempt.cannot,
      )
    while ('cannot' in attempt) {
      if (this.#knocked) {
        await this.#knocked
        attempt = await this.#try(work)
      } else {
        const knocking = this.#knock(work)
        this.#knocked = knocking.then(
          () => undefined,
          () => undefined,
        )
        attempt = await knocking.finally(() => {
          this.#knocked = undefined
        })
      }
    }
    return attempt.done
  }

  async #knock<T>(work: () => Promise<T>): Promise<{ done: T }> {
    for (let waitMs = waitMinMs; ; waitMs = Math.min(waitMs * 2, waitMaxMs)) {
      await this.#clock.sleep(waitMs, this.#waiting.closing, 'a disk that takes what a call came to')
      const attempt = await this.#try(work)
      if ('done' in attempt) return attempt
    }
  }

  async #try<T>(work: () => Promise<T>): Promise<{ done: T } | { cannot: unknown }> {
    const { closing, onTrouble } = this.#waiting
    const wasClosing = closing.aborted
    try {
      return { done: await work() }
    } catch (error) {
      if (!isUnwritable(error)) throw error
      if (!wasClosing) return { cannot: error }
      onTrouble('what a call came to could not be recorded before the end', error)
      throw error
    }
  }
}

/** A disk that is full or held, and keys that cannot be had, such as from a key service that is away. */
const passing: ReadonlySet<ErrorCode> = new Set([
  'STORE_UNSAFE',
  'STORE_BUSY',
  'KEYS_MISSING',
  'KEYS_MISMATCH',
])

/** Whether a store may take later what it does not take now. */
function isUnwritable(error: unknown): boolean {
  return error instanceof AverbaError && passing.has(error.code)
}
