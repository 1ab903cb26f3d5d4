import type { Clock } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { isWithin } from '../../vocabulary/instant.ts'
import type { Leases } from './leases.ts'

/** For this long a failed write counts more than a test row that succeeds: a nearly full disk may accept one row. */
const rememberedMs = 60_000

/** Tests whether a store is writable. */
export class WriteTrial {
  readonly #clock: Clock
  #lastFailure: { readonly error: AverbaError; readonly at: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Remembers the error of a failed write transaction. */
  recordFailure(error: unknown): void {
    if (!(error instanceof AverbaError) || error.code !== 'STORE_UNSAFE') return
    this.#lastFailure = { error, at: this.#clock.now() }
  }

  /**
   * Writes and deletes a test row, unless a write has failed within the last minute.
   *
   * @throws {AverbaError} `STORE_UNSAFE`, `STORE_BUSY`, `CLOSED` when the store is not writable, or was not recently
   */
  async run(leases: Leases): Promise<void> {
    if (this.#lastFailure && isWithin(rememberedMs, this.#lastFailure.at, this.#clock.now()))
      throw this.#lastFailure.error
    await leases.tryWriting()
  }
}
