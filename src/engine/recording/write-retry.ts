import type { Clock } from '../../runtime/clock.ts'
import { EpochMissingError, KeyringUnreadableError } from '../../vault/keyring.ts'
import { AverbaError, type ErrorCode } from '../../vocabulary/errors.ts'

/** How long to wait before knocking again: at first, and at most. */
const [waitMinMs, waitMaxMs] = [1_000, 60_000]

/** What became of one try. */
type TryResult<T> = { readonly done: T } | { readonly cannot: AverbaError }

/** What tells and ends the waiting for a store that cannot be written. */
export interface WriteRetryOptions {
  readonly closing: AbortSignal
  readonly onTrouble: (what: string, error: unknown) => void
}

/**
 * Holds the result of a call while the store cannot be written: it could not be asked for again, and may have been paid
 * for. One knocks for all that wait, so that a full disk is not tried once for each of them.
 */
export class WriteRetry {
  readonly #clock: Clock
  readonly #waiting: WriteRetryOptions
  /** By what keeps them out: ends when the one that knocks was let in, or the log is closing. */
  readonly #knocked = new Map<ErrorCode, Promise<void>>()

  constructor(clock: Clock, waiting: WriteRetryOptions) {
    this.#clock = clock
    this.#waiting = waiting
  }

  /** Does the work until the store takes it; tries a last time when the log is closing. */
  async retryUntilWritable<T>(work: () => Promise<T>): Promise<T> {
    let attempt = await this.#try(work)
    if ('cannot' in attempt)
      this.#waiting.onTrouble(
        'what a call came to cannot be recorded: it waits until the store takes it',
        attempt.cannot,
      )
    while ('cannot' in attempt) {
      const { code } = attempt.cannot
      const knocked = this.#knocked.get(code)
      if (knocked) {
        await knocked
        attempt = await this.#try(work)
      } else {
        const knocking = this.#knock(work, code)
        const over = knocking.then(
          () => undefined,
          () => undefined,
        )
        this.#knocked.set(code, over)
        attempt = await knocking.finally(() => this.#knocked.delete(code))
      }
    }
    return attempt.done
  }

  /** Tries until it is let in, or something else keeps it out. */
  async #knock<T>(work: () => Promise<T>, code: ErrorCode): Promise<TryResult<T>> {
    for (let waitMs = waitMinMs; ; waitMs = Math.min(waitMs * 2, waitMaxMs)) {
      await this.#clock.sleep(waitMs, this.#waiting.closing, 'a disk that takes what a call came to')
      const attempt = await this.#try(work)
      if ('done' in attempt || attempt.cannot.code !== code) return attempt
    }
  }

  async #try<T>(work: () => Promise<T>): Promise<TryResult<T>> {
    const { closing, onTrouble } = this.#waiting
    const wasClosing = closing.aborted
    try {
      return { done: await work() }
    } catch (error) {
      if (!isPassing(error)) throw error
      if (!wasClosing) return { cannot: error }
      onTrouble('what a call came to could not be recorded before the end', error)
      throw error
    }
  }
}

/** Whether a store may take later what it does not take now: its disk is full or held, its keyring away or behind. */
function isPassing(error: unknown): error is AverbaError {
  if (error instanceof KeyringUnreadableError || (error instanceof EpochMissingError && error.isNewer))
    return true
  return error instanceof AverbaError && (error.code === 'STORE_UNSAFE' || error.code === 'STORE_BUSY')
}
