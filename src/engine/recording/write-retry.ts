import type { Clock } from '../../runtime/clock.ts'
import { EpochMissingError, KeyringUnreadableError } from '../../vault/keyring.ts'
import { AverbaError, type ErrorCode } from '../../vocabulary/errors.ts'

const [waitMinMs, waitMaxMs] = [1_000, 60_000]

type TryResult<T> = { readonly done: T } | { readonly failure: AverbaError }

/** How waiting for an unwritable store is reported and ended. */
export interface WriteRetryOptions {
  readonly closing: AbortSignal
  readonly onTrouble: (what: string, error: unknown) => void
}

/**
 * Holds the result of a call while the store cannot be written: the call cannot be repeated, and may have been paid
 * for. One caller retries for all waiting ones, so that a full disk is not tried once for each.
 */
export class WriteRetry {
  readonly #clock: Clock
  readonly #options: WriteRetryOptions
  /** By error code: settles when the retrying caller has succeeded, or the log is closing. */
  readonly #retrying = new Map<ErrorCode, Promise<void>>()

  constructor(clock: Clock, options: WriteRetryOptions) {
    this.#clock = clock
    this.#options = options
  }

  /** Repeats the work until it can be written. Tries a last time when the log is closing. */
  async retryUntilWritable<T>(work: () => Promise<T>): Promise<T> {
    let attempt = await this.#try(work)
    if ('failure' in attempt)
      this.#options.onTrouble(
        'the result of a call cannot be recorded: it waits until the store can be written',
        attempt.failure,
      )
    while ('failure' in attempt) {
      const { code } = attempt.failure
      const ongoing = this.#retrying.get(code)
      if (ongoing) {
        await ongoing
        attempt = await this.#try(work)
      } else {
        const retrying = this.#retry(work, code)
        const over = retrying.then(
          () => undefined,
          () => undefined,
        )
        this.#retrying.set(code, over)
        attempt = await retrying.finally(() => this.#retrying.delete(code))
      }
    }
    return attempt.done
  }

  /** Retries until it succeeds or fails with another code. */
  async #retry<T>(work: () => Promise<T>, code: ErrorCode): Promise<TryResult<T>> {
    for (let waitMs = waitMinMs; ; waitMs = Math.min(waitMs * 2, waitMaxMs)) {
      await this.#clock.sleep(waitMs, this.#options.closing, 'a store that can be written')
      const attempt = await this.#try(work)
      if ('done' in attempt || attempt.failure.code !== code) return attempt
    }
  }

  async #try<T>(work: () => Promise<T>): Promise<TryResult<T>> {
    const { closing, onTrouble } = this.#options
    const wasClosing = closing.aborted
    try {
      return { done: await work() }
    } catch (error) {
      if (!isTemporary(error)) throw error
      if (!wasClosing) return { failure: error }
      onTrouble('the result of a call could not be recorded before closing', error)
      throw error
    }
  }
}

/** Whether the failure is temporary: the disk is full or locked, or the keyring is missing or behind. */
function isTemporary(error: unknown): error is AverbaError {
  if (error instanceof KeyringUnreadableError || (error instanceof EpochMissingError && error.isNewer)) return true
  return error instanceof AverbaError && (error.code === 'STORE_UNSAFE' || error.code === 'STORE_BUSY')
}
