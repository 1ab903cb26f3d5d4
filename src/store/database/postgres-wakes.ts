import { cancelReason, systemClock } from '../../runtime/clock.ts'
import type { PostgresClient, PostgresPool } from './postgres-pool.ts'
import { PostgresSession } from './postgres-session.ts'

/** How often others are told at most, however many commits there are. */
const tellEveryMs = 50
/** How long to wait before listening again after the connection was lost. */
const listenAgainMs = 1_000
/** A host's pool with fewer connections has none to spare. */
const connectionsMin = 3

/**
 * Tells the other processes on a log of commits by NOTIFY, and hears from them. That may fail, or be lost behind a
 * pooler: it only makes them look before they would anyway. NOTIFY is no part of a commit, where it would take a lock
 * of the whole server.
 */
export class PostgresWakes {
  readonly #pool: Pick<PostgresPool, 'connect' | 'options'>
  readonly #channel: string
  readonly #writer: string
  readonly #closing = new AbortController()
  /** Whether there were commits since the last telling, and whether one is about to be sent. */
  #hasNews = false
  #isTelling = false

  /** @param channel an identifier that needs no quotes; `writer` names this process */
  constructor(pool: Pick<PostgresPool, 'connect' | 'options'>, channel: string, writer: string) {
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

  /** Listens on a connection of its own until it is closed. */
  async listen(onWake: () => void): Promise<void> {
    if ((this.#pool.options?.max ?? connectionsMin) < connectionsMin) return
    const { signal } = this.#closing
    while (!signal.aborted) {
      const client = await this.#pool.connect().catch(() => undefined)
      if (signal.aborted) return client?.release(true)
      if (client) await this.#hear(client, onWake).catch(() => undefined)
      // What was missed meanwhile.
      if (client && !signal.aborted) onWake()
      await systemClock.sleep(listenAgainMs, signal)
    }
  }

  async #hear(client: PostgresClient, onWake: () => void): Promise<void> {
    const { signal } = this.#closing
    const lost = Promise.withResolvers<void>()
    const end = () => lost.resolve()
    const hear = ({ payload }: { payload?: string | undefined }) => payload !== this.#writer && onWake()
    client.on('error', end)
    client.on('end', end)
    client.on('notification', hear)
    signal.addEventListener('abort', end)
    try {
      await client.query({ text: `listen ${this.#channel}` })
      await lost.promise
    } finally {
      signal.removeEventListener('abort', end)
      client.off('notification', hear)
      client.off('end', end)
      client.off('error', end)
      // No other user of the pool may hear what is left.
      client.release(true)
    }
  }

  close(): void {
    this.#closing.abort(cancelReason)
  }
}
