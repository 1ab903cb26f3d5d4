import type { Clock } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { isWithin } from '../../vocabulary/instant.ts'
import type { Leases } from './leases.ts'

/** For this long, a failed write says more than a small one that fits. */
const rememberedMs = 60_000

/** Whether a store can be written: a full disk may have room for one row and none for work. */
export class WriteTrial {
  readonly #clock: Clock
  #last: { readonly error: AverbaError; readonly at: number } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Hears why a write transaction failed. */
  hear(error: unknown): void {
    if (!(error instanceof AverbaError) || error.code !== 'STORE_UNSAFE') return
    this.#last = { error, at: this.#clock.now() }
  }

  /**
   * Writes a row and takes it away again, unless a write has failed within the last minute.
   *
   * @throws {AverbaError} `STORE_UNSAFE`, `STORE_BUSY`, `CLOSED` when nothing can be written, or recently could not be
   */
  async make(leases: Leases): Promise<void> {
    if (this.#last && isWithin(rememberedMs, this.#last.at, this.#clock.now())) throw this.#last.error
    await leases.tryWriting()
  }
}
