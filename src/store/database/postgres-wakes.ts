import { cancelReason, systemClock } from '../../runtime/clock.ts'
import type { PostgresPool } from './postgres-pool.ts'
import { PostgresSession } from './postgres-session.ts'

/** How often others are told at most, however many commits there are. */
const tellEveryMs = 50

/**
 * Tells the other processes on a log of commits by NOTIFY. That may fail: it only makes them look before they would
 * anyway. It is no part of a commit, where it would take a lock of the whole server.
 */
export class PostgresWakes {
  readonly #pool: Pick<PostgresPool, 'connect'>
  readonly #channel: string
  readonly #writer: string
  readonly #closing = new AbortController()
  /** Whether there were commits since the last telling, and whether one is about to be sent. */
  #hasNews = false
  #isTelling = false

  /** @param channel an identifier that needs no quotes; `writer` names this process */
  constructor(pool: Pick<PostgresPool, 'connect'>, channel: string, writer: string) {
    this.#pool = pool
    this.#channel = channel
    this.#writer = writer
  }

  /** Tells of a commit: at once, or with those that follow within a moment. */
  tell(): void {
    this.#hasNews = true
    if (!this.#isTelling) void this.#tellAll()
  }

  async #tellAll(): Promise<void> {
    this.#isTelling = true
    const { signal } = this.#closing
    while (this.#hasNews && !signal.aborted) {
      this.#hasNews = false
      await this.#notify().catch(() => undefined)
      await systemClock.sleep(tellEveryMs, signal)
    }
    this.#isTelling = false
  }

  async #notify(): Promise<void> {
    const session = new PostgresSession(await this.#pool.connect())
    const telling = session.send({ text: 'select pg_notify($1, $2)', values: [this.#channel, this.#writer] })
    await telling.then(
      () => session.end(false),
      () => session.end(true),
    )
  }

  close(): void {
    this.#closing.abort(cancelReason)
  }
}
