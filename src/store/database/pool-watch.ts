import { cancelReason, systemClock } from '../../runtime/clock.ts'
import { connect, type PostgresClient, type PostgresPool } from './postgres-pool.ts'
import { PostgresSession } from './postgres-session.ts'
import { quoteSchema } from './schema.ts'

/** How often the heads of all logs are looked at, and how long to wait after a lost connection. */
const lookEveryMs = 1_000
/** How long a look, or telling others, waits for an answer: a connection may have lost its server without a word. */
const answerMaxMs = 2_000
/** A host's pool with fewer connections has none to spare for listening. */
const connectionsMin = 3

/** How often others are told at most, however many commits there are. */
const tellEveryMs = 50

/** A log of a pool, and who is woken when another process writes to it. */
export interface WatchedLog {
  readonly schema: string
  readonly channel: string
  /** Names this process in what it tells others. */
  readonly writer: string
  readonly onWake: () => void
}

const watches = new WeakMap<object, PoolWatch>()

/**
 * Learns when other processes write to the logs of one pool: with one connection that listens, and one look a second at
 * all heads, however many logs there are. What is heard may be lost, behind a pooler as well; the look is the truth.
 */
export class PoolWatch {
  readonly #pool: Pick<PostgresPool, 'connect' | 'options'>
  readonly #logs = new Map<WatchedLog, string | undefined>()
  #listening: PostgresClient | undefined
  #ending: AbortController | undefined

  private constructor(pool: Pick<PostgresPool, 'connect' | 'options'>) {
    this.#pool = pool
  }

  static of(pool: Pick<PostgresPool, 'connect' | 'options'>): PoolWatch {
    const known = watches.get(pool) ?? new PoolWatch(pool)
    watches.set(pool, known)
    return known
  }

  /** Watches a log until the returned function is called. */
  add(log: WatchedLog): () => void {
    this.#logs.set(log, undefined)
    if (this.#ending) this.#listening?.query({ text: `listen ${log.channel}` }).catch(() => undefined)
    else {
      this.#ending = new AbortController()
      void this.#listen(this.#ending.signal)
      void this.#look(this.#ending.signal)
    }
    return () => {
      this.#logs.delete(log)
      if (this.#logs.size > 0) return
      this.#ending?.abort(cancelReason)
      this.#ending = undefined
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    for (;;) {
      await systemClock.sleep(lookEveryMs, signal)
      if (signal.aborted) return
      const logs = [...this.#logs.keys()]
      // A log that is gone or locked must not hide the others.
      await this.#compare(logs).catch(async () => {
        for (const log of logs) await this.#compare([log]).catch(() => undefined)
      })
    }
  }

  /** Wakes those whose head has changed since the last look, and new ones: they may have missed something. */
  async #compare(logs: readonly WatchedLog[]): Promise<void> {
    const session = new PostgresSession(await connect(this.#pool), answerMaxMs)
    const marks = logs.map(({ schema }, i) => `select ${i} as i, ${mark} as mark from ${quoteSchema(schema)}.head`)
    session.tell({ text: `begin read only; set local statement_timeout = ${lookEveryMs}` })
    const looking = session.send({ text: marks.join(' union all ') })
    // After a look that failed, too, the connection is well.
    await session.finish('commit')
    const { rows } = await looking
    for (const { i, mark } of rows as { i: number; mark: string }[]) {
      const log = logs[i]
      if (!log || !this.#logs.has(log)) continue
      if (this.#logs.get(log) !== mark) log.onWake()
      this.#logs.set(log, mark)
    }
  }

  async #listen(signal: AbortSignal): Promise<void> {
    if ((this.#pool.options?.max ?? connectionsMin) < connectionsMin) return
    while (!signal.aborted) {
      const client = await connect(this.#pool).catch(() => undefined)
      if (client) await this.#hear(client, signal).catch(() => undefined)
      // What was missed meanwhile.
      if (client && !signal.aborted) for (const { onWake } of this.#logs.keys()) onWake()
      await systemClock.sleep(lookEveryMs, signal)
    }
  }

  /** Listens until the connection is lost. */
  async #hear(client: PostgresClient, signal: AbortSignal): Promise<void> {
    const lost = Promise.withResolvers<void>()
    const end = () => lost.resolve()
    const hear = (told: { channel: string; payload?: string | undefined }) => {
      for (const { channel, writer, onWake } of this.#logs.keys())
        if (told.channel === channel && told.payload !== writer) onWake()
    }
    client.on('error', end)
    client.on('end', end)
    client.on('notification', hear)
    signal.addEventListener('abort', end)
    try {
      if (signal.aborted) return
      this.#listening = client
      const text = [...this.#logs.keys()].map(({ channel }) => `listen ${channel}`).join('; ')
      await Promise.race([client.query({ text, query_timeout: answerMaxMs }), lost.promise])
      await lost.promise
    } finally {
      if (this.#listening === client) this.#listening = undefined
      signal.removeEventListener('abort', end)
      client.off('notification', hear)
      client.off('end', end)
      client.off('error', end)
      // No other user of the pool may hear what is left.
      client.release(true)
    }
  }
}

/** What changes when anything is written that others act on. */
const mark = "concat_ws(' ', tag, fence, views, epoch)"

/**
 * Makes a function that tells the other processes on a log of a commit by NOTIFY: at once, or with those that follow
 * within a moment. It is no part of a commit, where it would take a lock of the whole server, and may fail.
 */
export function createTeller(
  pool: Pick<PostgresPool, 'connect' | 'options'>,
  { channel, writer }: Pick<WatchedLog, 'channel' | 'writer'>,
): () => void {
  let hasNews = false
  let isTelling = false
  const notify = async () => {
    const session = new PostgresSession(await connect(pool), answerMaxMs)
    const telling = session.send({ text: 'select pg_notify($1, $2)', values: [channel, writer] })
    await telling.finally(() => session.end(session.failure !== undefined))
  }
  const tellAll = async () => {
    isTelling = true
    for (; hasNews; await systemClock.sleep(tellEveryMs)) {
      hasNews = false
      await notify().catch(() => undefined)
    }
    isTelling = false
  }
  return () => {
    hasNews = true
    if (!isTelling) void tellAll()
  }
}
