import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Database, Statement as Prepared } from 'better-sqlite3'
import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import type { Clock } from '../clock.ts'
import { AverbaError } from '../errors.ts'
import type { Attempt, Connection, Statement, StatementForEach, Steps } from './connection.ts'
import type { Schema } from './schema.ts'

const inMemory = ':memory:'
/** How long opening waits for a lock, in one piece. */
const openTimeoutMs = 2_000
/** How long a transaction knocks at a lock, which holds the event loop up, and how often, with waits between. */
const knockMs = 10
const knocksMax = 250
const statementsKeptMax = 500

/**
 * Opens a SQLite file, or makes one. The driver is loaded here, on first use.
 *
 * better-sqlite3 is built to fall back to `synchronous=NORMAL` in WAL mode, which loses acknowledged
 * events on power loss. So every pragma that matters is set, and read back after a write.
 *
 * @throws {AverbaError} `STORE_UNSAFE` when a promise of durability cannot be kept, `NOT_OURS` when the
 * file is no database, `STORE_BUSY` when another process holds it
 */
export async function openSqlite(path: string, clock: Clock): Promise<Connection> {
  const { default: Sqlite } = await import('better-sqlite3')
  if (path !== inMemory && !existsSync(dirname(path))) {
    throw new AverbaError('STORE_UNSAFE', `Cannot open "${path}": its folder does not exist`)
  }
  return guarded(path, () => {
    const database = new Sqlite(path, { timeout: openTimeoutMs })
    try {
      checkOwner(database, path)
      setPragmas(database, path)
      database.pragma(`busy_timeout = ${knockMs}`)
    } catch (error) {
      database.close()
      throw error
    }
    return new SqliteConnection(path, database, clock)
  })
}

const pragmas = { synchronous: 2, foreign_keys: 1, secure_delete: 1, trusted_schema: 0, cell_size_check: 1 }

/** Marks a file as a log of averba ("aver"), in the place that SQLite keeps for it. */
const applicationId = 0x61766572

/** A database with tables of someone else is left as it is, down to its journal mode. */
function checkOwner(database: Database, path: string): void {
  const id = database.pragma('application_id', { simple: true })
  const { tables } = database.prepare('select count(*) as tables from sqlite_schema').get() as {
    tables: number
  } // As asked.
  if (id === applicationId || (id === 0 && tables === 0)) return
  throw new AverbaError('NOT_OURS', `Cannot open "${path}": it is not a log of averba`)
}

function setPragmas(database: Database, path: string): void {
  const mode = path === inMemory ? 'memory' : 'wal'
  database.pragma(`journal_mode = ${mode}`)
  for (const [name, value] of Object.entries(pragmas)) database.pragma(`${name} = ${value}`)
  database.pragma('fullfsync = 1')
  // 8 MB of log before pages move into the file: a page that changes often moves once.
  database.pragma('wal_autocheckpoint = 2000')
  database.pragma(`application_id = ${applicationId}`)
  const promised = { ...pragmas, journal_mode: mode }
  for (const [name, value] of Object.entries(promised)) {
    const actual = database.pragma(name, { simple: true })
    if (actual === value) continue
    throw new AverbaError('STORE_UNSAFE', `Cannot open "${path}": ${name} is ${actual} instead of ${value}`, {
      hint: 'The store would lose acknowledged events on power loss. Put the file on a local disk',
    })
  }
}

class SqliteConnection implements Connection {
  readonly dialect = 'sqlite'
  readonly compiler: Kysely<Schema>
  readonly listTables: CompiledQuery<{ name: string }>
  readonly foreignWrites = { sql: 'pragma data_version', parameters: [] }
  readonly #path: string
  readonly #database: Database
  readonly #clock: Clock
  readonly #statements = new Map<string, Prepared>()

  constructor(path: string, database: Database, clock: Clock) {
    this.#path = path
    this.#database = database
    this.#clock = clock
    this.compiler = new Kysely<Schema>({
      dialect: {
        createAdapter: () => new SqliteAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: kysely => new SqliteIntrospector(kysely),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      },
    })
    const list = sql<{
      name: string
    }>`select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`
    this.listTables = list.compile(this.compiler)
  }

  async transact<T>(steps: () => Steps<T>): Promise<T> {
    for (let knocks = 1; ; knocks++) {
      try {
        return this.#within('begin immediate', steps)
      } catch (error) {
        const isBusy = error instanceof AverbaError && error.code === 'STORE_BUSY'
        if (!isBusy || knocks >= knocksMax) throw error
      }
      await this.#clock.sleep(knockMs)
    }
  }

  async read<T>(steps: () => Steps<T>): Promise<T> {
    return this.#within('begin', steps)
  }

  async readOnly(query: CompiledQuery): Promise<readonly unknown[]> {
    this.#checkOpen()
    // A pragma takes effect while it is prepared: only what begins as a reading gets that far.
    const statement = /^\s*(select|with)\b/i.test(query.sql) ? this.#prepare(query.sql) : undefined
    if (!statement?.readonly || !statement.reader) {
      throw new AverbaError('INVALID_INPUT', 'Cannot run this statement: views can only be read')
    }
    return statement.all(...query.parameters)
  }

  async close(): Promise<void> {
    this.#statements.clear()
    this.#database.close()
  }

  #checkOpen(): void {
    if (!this.#database.open) throw new AverbaError('CLOSED', 'Cannot use the log: it was closed')
  }

  #within<T>(begin: string, steps: () => Steps<T>): T {
    this.#checkOpen()
    return guarded(this.#path, () => {
      this.#prepare(begin).run()
      try {
        const result = this.#run(steps())
        this.#prepare('commit').run()
        return result
      } catch (error) {
        if (this.#database.inTransaction) this.#prepare('rollback').run()
        throw error
      }
    })
  }

  #run<T>(work: Steps<T>): T {
    let step = work.next()
    while (!step.done) step = work.next(this.#answer(step.value))
    return step.value
  }

  #answer(request: Statement | StatementForEach | Attempt): readonly unknown[] {
    if ('attempt' in request) return this.#attempt(request.attempt)
    const statement = this.#prepare(request.sql)
    if ('forEach' in request) {
      for (const parameters of request.forEach) statement.run(...parameters)
      return []
    }
    if (statement.reader) return statement.all(...request.parameters)
    statement.run(...request.parameters)
    return []
  }

  /** SQLite ends the whole transaction on some errors, such as a full disk: then there is nothing to go on with. */
  #attempt(steps: () => Steps<void>): readonly unknown[] {
    this.#prepare('savepoint attempt').run()
    try {
      this.#run(steps())
      this.#prepare('release attempt').run()
      return []
    } catch (error) {
      if (!this.#database.inTransaction) throw error
      this.#prepare('rollback to attempt').run()
      this.#prepare('release attempt').run()
      return [error]
    }
  }

  #prepare(sql: string): Prepared {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.#database.prepare(sql)
    if (this.#statements.size >= statementsKeptMax) this.#statements.clear()
    this.#statements.set(sql, statement)
    return statement
  }
}

/** Says in words what SQLite says in codes. */
function guarded<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw explain(path, cause) ?? cause
  }
}

function explain(path: string, cause: unknown): AverbaError | undefined {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const cannot = `Cannot use "${path}"`
  if (code === 'SQLITE_NOTADB') {
    return new AverbaError('NOT_OURS', `${cannot}: it is not a SQLite database`, { cause })
  }
  if (code.startsWith('SQLITE_CORRUPT')) {
    return new AverbaError('CORRUPT', `${cannot}: the file is damaged`, { cause, hint: 'Restore a backup' })
  }
  if (code.startsWith('SQLITE_BUSY')) {
    const hint = 'Another process holds the file. Try again, or stop it'
    return new AverbaError('STORE_BUSY', `${cannot}: it is locked`, { cause, hint })
  }
  if (code.startsWith('SQLITE_FULL')) {
    const hint = 'Nothing was recorded. Free some space and try again'
    return new AverbaError('STORE_UNSAFE', `${cannot}: the disk is full`, { cause, hint })
  }
  if (code.startsWith('SQLITE_IOERR')) {
    const hint = 'Nothing of it was acknowledged. Check the disk, then try again'
    return new AverbaError('STORE_UNSAFE', `${cannot}: the disk failed`, { cause, hint })
  }
  if (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN')) {
    const hint = 'Check that the folder exists and can be written'
    return new AverbaError('STORE_UNSAFE', `${cannot}: it cannot be written`, { cause, hint })
  }
  return undefined
}
