import { randomUUID } from 'node:crypto'
import type { CompiledQuery } from 'kysely'
import { cancelReason, systemClock, waitAtMost, withinTime } from '../../runtime/clock.ts'
import { afterTurn } from '../../runtime/event-loop.ts'
import { KeyedLock, Semaphore } from '../../runtime/locks.ts'
import { AverbaError, closedError } from '../../vocabulary/errors.ts'
import {
  type CheckTables,
  type Connection,
  first,
  HeadMovedError,
  type SearchProgress,
  type Steps,
} from './connection.ts'
import { createTeller, PoolWatch } from './pool-watch.ts'
import { toAverbaError, toQueryError } from './postgres-errors.ts'
import { connect, hostColumnTypes, hostQueriesOf, type PostgresPool } from './postgres-pool.ts'
import { PostgresSession, transactionSettings } from './postgres-session.ts'
import { isReplaced } from './replaced-table.ts'
import { quoteSchema, raiseFence } from './schema.ts'
import { ServerTime } from './server-time.ts'

/** How many transactions read at the same time at most, and how long a reading waits for those under way. */
const readingAtOnceMax = 4
const changingAtOnceMax = 3
const gatherMs = 50

interface WaitingReading {
  readonly run: (session: PostgresSession) => Promise<void>
  readonly reject: (error: unknown) => void
}

/** The server cuts longer names off. */
const identifierMax = 63
/** How transactions begin, and how long a process that stands still may keep one open. */
const beginnings = {
  read: { mode: 'repeatable read read only', idleMs: 30_000, more: '' },
  // It may hold the lock of the log. Another user of the session may have turned durability off.
  write: {
    mode: 'read committed read write',
    idleMs: 1_000,
    more: `; select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`,
  },
} as const
/** How long a statement may take, with the wait for the lock of the log. */
const statementMaxMs = 30_000
/** How often the server is asked what became of a commit whose answer was lost, until it says so. */
const doubtPauseMs = 500
/** How long a process that closes waits to remove its mark, and then for the end of its connections. */
const forgetMaxMs = 2_000
const endMaxMs = 2_000

/**
 * A schema of a PostgreSQL database. Write transactions exclude each other by the row lock of the log's head. Nothing
 * is left in a session, so it works behind a pooler that gives each transaction another one.
 */
export class PostgresConnection implements Connection {
  readonly dialect = 'postgres'
  readonly isShared = true
  readonly listTables = {
    sql: 'select tablename as name from pg_tables where schemaname = current_schema()',
    parameters: [],
  }
  readonly #pool: Pick<PostgresPool, 'connect' | 'options'>
  readonly schema: string
  readonly #name: string
  readonly #closePool: () => Promise<void>
  /** Whether the log is known to have its head. Without it, a lock on the schema's name takes its place. */
  #hasHead = false
  /** Names this process in its marks. Not of the host's entropy: two processes with one seed must not share them. */
  readonly #writer = randomUUID()
  readonly #writing = new KeyedLock()
  /** Appends need connections too. */
  readonly #changing = new Semaphore(changingAtOnceMax)
  readonly hostQueries: Semaphore
  readonly #time = new ServerTime()
  readonly #readings: WaitingReading[] = []
  #readingAtOnce = 0
  readonly #channel: string
  readonly #tell: () => void
  #stopWatching: (() => void) | undefined
  #marks = 0
  /** The mark is being removed, or was: it says nothing of a commit any more. */
  #isForgotten = false
  readonly #closed = new AbortController()

  /** @param schema a name that `quoteSchema` allows */
  constructor(pool: Pick<PostgresPool, 'connect' | 'options'>, schema: string, closePool: () => Promise<void>) {
    this.#pool = pool
    this.hostQueries = hostQueriesOf(pool)
    this.#closePool = closePool
    this.schema = schema
    this.#channel = `averba_${schema}`.slice(0, identifierMax)
    this.#tell = createTeller(pool, { channel: this.#channel, writer: this.#writer })
    this.#name = `the schema "${schema}" in PostgreSQL`
  }

  readonly serverTime = () => this.#time.now()

  watch(onWake: () => void): void {
    const log = { schema: this.schema, channel: this.#channel, writer: this.#writer, onWake }
    if (!this.#isClosed) this.#stopWatching ??= PoolWatch.of(this.#pool).add(log)
  }

  /** The transactions of a process wait for each other here, and for those of others at the lock. */
  transact<T>(steps: () => Steps<T>, locks?: 'rows'): Promise<T> {
    return locks
      ? this.#changing.within(() => this.#change(steps))
      : this.#writing.run(['write'], () => this.#transact(steps))
  }

  async #change<T>(steps: () => Steps<T>): Promise<T> {
    const session = await this.#open()
    try {
      const begun = session.send({ text: this.#begin('write') })
      this.#time.read(session)
      const result = await session.run(steps())
      if (session.failure !== undefined) throw session.failure
      const { command } = await session.send({ text: 'commit' })
      await begun
      if (command !== 'COMMIT') throw session.failure
      session.end(false)
      this.#tell()
      return result
    } catch (cause) {
      throw await this.#abandon(session, cause)
    }
  }

  async #transact<T>(steps: () => Steps<T>): Promise<T> {
    const session = await this.#open()
    const mark = this.#hasHead ? `${++this.#marks}` : undefined
    // Nothing is awaited before the commit: what fails in between fails it.
    const begun = session.send({ text: this.#begin('write') })
    let result: T
    try {
      this.#time.read(session)
      session.tell({ text: mark === undefined ? lockSchema : lockHead })
      if (mark !== undefined) session.tell({ text: writeMark, values: [this.#writer, mark] })
      result = await session.run(steps())
      // What the driver could not send does not fail the commit at the server.
      if (session.failure !== undefined) throw session.failure
    } catch (cause) {
      throw toMoved(this.#name, await this.#abandon(session, cause))
    }
    await this.#commit(session, mark, begun)
    this.#tell()
    if (!this.#hasHead) this.#hasHead = (await this.read(() => findHead())) !== undefined
    return result
  }

  /** Readings of one turn of the event loop share a snapshot, and their requests the way to the server. */
  read<T>(steps: () => Steps<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (session: PostgresSession) =>
        session.run(steps()).then(resolve, (error: unknown) => {
          // What it found wrong itself concerns no other.
          if (session.failure === undefined) reject(error)
          else throw error
        })
      this.#readings.push({ run, reject })
      this.#readSoon()
    })
  }

  /** While some are under way, others gather, but wait for no slow one. */
  #readSoon(): void {
    if (this.#readings.length > 1) return
    const [oldest] = this.#readings
    if (this.#readingAtOnce === 0) this.#readWaiting()
    else void systemClock.sleep(gatherMs).then(() => this.#readings[0] === oldest && this.#readWaiting())
  }

  #readWaiting(): void {
    if (this.#readingAtOnce === readingAtOnceMax) return
    this.#readingAtOnce += 1
    afterTurn(async () => {
      while (this.#readings.length > 0) await this.#readAll(this.#readings.splice(0))
      this.#readingAtOnce -= 1
    })
  }

  /** When the server refuses a request, all fail: the transaction is over then. */
  async #readAll(readings: readonly WaitingReading[]): Promise<void> {
    let session: PostgresSession | undefined
    try {
      session = await this.#open()
      const opened = session
      opened.tell({ text: this.#begin('read') })
      this.#time.read(opened)
      // The session is given back when none uses it any more.
      const ended = await Promise.allSettled(readings.map(({ run }) => run(opened)))
      for (const each of ended) if (each.status === 'rejected') throw each.reason
    } catch (cause) {
      const error = session ? await this.#abandon(session, cause) : cause
      for (const { reject } of readings) reject(error)
      return
    }
    void session.finish('commit')
  }

  async readOnly(query: CompiledQuery, check?: CheckTables): Promise<readonly unknown[]> {
    const { sql, parameters } = query
    const session = await this.#open()
    let found: readonly unknown[] | undefined
    try {
      const begun = session.send({ text: this.#begin('read') })
      // The extended protocol takes one statement only.
      const how = { values: [...parameters], types: hostColumnTypes }
      const ask = (text: string) =>
        session.send({ ...how, text, queryMode: 'extended' }).catch(cause => {
          throw toQueryError(cause) ?? cause
        })
      let tables: string[] = []
      if (check) {
        const [, { rows: plan }] = await Promise.all([begun, ask(`explain (verbose, format json) ${sql}`)])
        tables = tablesIn(plan, this.schema)
        await session.run(check(tables))
      }
      await begun
      const asked = ask(sql)
      const looked = session.send({ text: findReplaced, values: [tables] })
      const { rows } = await asked
      found = (await looked).rows.length > 0 ? undefined : rows
      void session.finish('commit')
    } catch (cause) {
      const error = await this.#abandon(session, cause)
      throw cause instanceof AverbaError ? cause : error
    }
    // A table was replaced meanwhile.
    return found ?? this.readOnly(query, check)
  }

  /** PostgreSQL has no journal to empty: its own is for its replicas and archives. */
  async emptyJournal(): Promise<boolean> {
    return true
  }

  /** Frees the rows that were deleted. Their bytes stay until others take their place, and in the server's journal. */
  async rewrite(): Promise<boolean> {
    const session = await this.#open()
    try {
      for (const table of ['part', 'owner_key', 'keyed_index', 'secret'])
        await session.send({ text: `vacuum ${quoteSchema(this.schema)}.${table}`, query_timeout: 0 })
      session.end(false)
      return true
    } catch (cause) {
      throw await this.#abandon(session, cause)
    }
  }

  /** The files of a server cannot be searched from outside. */
  async searchFile(): Promise<SearchProgress> {
    return { bytes: 0, found: 0 }
  }

  async close(): Promise<void> {
    if (this.#isClosed || this.#isForgotten) return
    if (this.#marks > 0) await this.#forgetMark()
    this.#closed.abort(cancelReason)
    this.#stopWatching?.()
    await waitAtMost(systemClock, endMaxMs, this.#closePool())
  }

  /** Removes the row of this process. What fails here, or takes long, costs a row. */
  async #forgetMark(): Promise<void> {
    this.#isForgotten = true
    const forget = () => this.#change(() => forgetMark(this.#writer))
    await withinTime(systemClock, forgetMaxMs, forget).catch(() => undefined)
  }

  get #isClosed(): boolean {
    return this.#closed.signal.aborted
  }

  async #open(): Promise<PostgresSession> {
    if (this.#isClosed) throw closedError()
    try {
      return new PostgresSession(await connect(this.#pool), undefined, this.#closed.signal)
    } catch (cause) {
      throw toAverbaError(this.#name, cause) ?? unreachableError(this.#name, cause)
    }
  }

  #begin(what: 'read' | 'write'): string {
    const { mode, idleMs, more } = beginnings[what]
    return `begin isolation level ${mode}; ${transactionSettings(this.schema)};
      set local idle_in_transaction_session_timeout = ${idleMs}; set local statement_timeout = ${statementMaxMs}${more}`
  }

  /** Rolls back, and returns the error that says why. */
  async #abandon(session: PostgresSession, cause: unknown): Promise<unknown> {
    // Steps that throw by themselves have no failure of the session.
    const reason = session.failure ?? cause
    await session.finish('rollback')
    return toAverbaError(this.#name, reason) ?? reason
  }

  async #commit(session: PostgresSession, mark: string | undefined, begun: Promise<unknown>): Promise<void> {
    let command: string
    try {
      command = (await session.send({ text: 'commit' })).command
      // Outside of a transaction, too, the server says that it committed.
      await begun.catch(() => {
        command = 'NONE'
      })
    } catch (cause) {
      session.end(true)
      if (await this.#hasCommitted(mark, cause)) return
      throw lostTransactionError(this.#name, cause)
    }
    session.end(false)
    if (command === 'COMMIT') return
    throw toMoved(this.#name, toAverbaError(this.#name, session.failure) ?? session.failure)
  }

  /**
   * Looks for the mark that a transaction of this process wrote last. It held the lock of the log until it ended, so
   * behind that lock it has ended, or has not begun: what arrives at the server later meets another fence.
   *
   * @throws {AverbaError} `STORE_UNSAFE` when the log is closed while the server is not reached
   */
  async #hasCommitted(mark: string | undefined, cause: unknown): Promise<boolean> {
    // While a log is being created, all is done again by whoever opens it next.
    if (mark === undefined) return false
    for (;;) {
      const session = await this.#open().catch(() => undefined)
      if (session) {
        try {
          const begun = session.send({ text: this.#begin('write') })
          const locked = session.send({ text: lockHead })
          const { rows } = await session.send({ text: readMark, values: [this.#writer] })
          const isThere = (rows[0] as { mark: string } | undefined)?.mark === mark // The selected column.
          if (!isThere && this.#isForgotten) throw doubtError(this.#name, cause)
          if (!isThere) await session.send({ text: raiseFence })
          await Promise.all([begun, locked])
          await session.send({ text: 'commit' })
          session.end(false)
          return isThere
        } catch (failed) {
          await this.#abandon(session, failed)
        }
      }
      if (this.#isClosed) throw doubtError(this.#name, cause)
      await systemClock.sleep(doubtPauseMs)
    }
  }
}

const lockHead = 'select 1 from head for update'
const writeMark = `insert into writer (name, mark) values ($1, $2) on conflict (name) do update set mark = excluded.mark`
const readMark = 'select mark from writer where name = $1'
/** Once there is a head, all lock it. */
const lockSchema = `do $$ begin
  perform pg_advisory_xact_lock(hashtextextended('averba ' || current_schema(), 0));
  if to_regclass('head') is not null then perform 1 from head for update; end if;
end $$`

/** A division by zero in a transaction of ours: only the guard of the head makes one. */
const guardCode = '22012'

function toMoved(name: string, error: unknown): unknown {
  return error instanceof Error && 'code' in error && error.code === guardCode ? new HeadMovedError(name) : error
}

function* findHead(): Steps<string | undefined> {
  const found = yield* first<{ head: string | null }>({
    sql: `select to_regclass('head')::text as head`,
    parameters: [],
  })
  return found?.head ?? undefined
}

function* forgetMark(writer: string): Steps<void> {
  yield { sql: 'delete from writer where name = ?', parameters: [writer] }
}

const findReplaced = `select from unnest($1::text[]) name where ${isReplaced('name')}`

/** Finds the tables that a query plan reads: those of another schema with its name. */
function tablesIn(plan: unknown, own: string): string[] {
  if (typeof plan !== 'object' || plan === null) return []
  const { 'Relation Name': table, Schema: schema }: { 'Relation Name'?: string; Schema?: string } = plan
  const found = table === undefined ? [] : [schema === own ? table : `${schema}.${table}`]
  return [...found, ...Object.values(plan).flatMap(each => tablesIn(each, own))]
}

/** Whatever the driver says when it gives no connection: a wrong password, a certificate, a time limit. */
function unreachableError(name: string, cause: unknown): AverbaError {
  const hint = 'Check the address, the user and the server: the cause says more'
  return new AverbaError('STORE_BUSY', `Cannot use ${name}: the server gave no connection`, { cause, hint })
}

function lostTransactionError(name: string, cause: unknown): AverbaError {
  const hint = 'The connection was lost before the commit: nothing was recorded. Try again'
  return new AverbaError('STORE_BUSY', `Cannot use ${name}: the transaction was rolled back`, { cause, hint })
}

function doubtError(name: string, cause: unknown): AverbaError {
  const cannot = `Cannot use ${name}: a commit was not answered, and the log was closed before the server said more`
  const hint = 'A command that was running may have been recorded: repeat it only with the same command id'
  return new AverbaError('STORE_UNSAFE', cannot, { cause, hint })
}
