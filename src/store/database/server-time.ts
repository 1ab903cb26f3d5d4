import { monotonicClock, systemClock } from '../../runtime/clock.ts'
import type { PostgresSession } from './postgres-session.ts'

/** How often the time is read: with a request that is sent anyway. */
const readEveryMs = 500
/** A reading that took longer says little: the process may have stood still. */
const readingMaxMs = 1_000

/**
 * The time of a server, whatever the clock of this machine says: read now and then, and counted on with a clock that
 * nobody sets. It is never ahead of the server, and as far behind as a reading took.
 */
export class ServerTime {
  readonly #elapsedMs = monotonicClock(systemClock)
  #read: { readonly server: number; readonly at: number } | undefined

  /** In milliseconds since 1970; that of this machine until it has been read. */
  now(): number {
    return this.#read ? this.#read.server + (this.#elapsedMs() - this.#read.at) : systemClock.now()
  }

  /** Reads it in a transaction, without waiting for other answers, if the last reading is old. */
  read(session: PostgresSession): void {
    const asked = this.#elapsedMs()
    if (this.#read && asked - this.#read.at < readEveryMs) return
    session.send({ text: readTime }).then(
      ({ rows }) => {
        const at = this.#elapsedMs()
        if (this.#read && at - asked > readingMaxMs) return
        this.#read = { server: (rows[0] as { ms: number }).ms, at } // The selected column.
      },
      () => undefined,
    )
  }
}

/** Reads the time of a server, in milliseconds since 1970. */
export const readTime = 'select extract(epoch from clock_timestamp()) * 1000 as ms'
