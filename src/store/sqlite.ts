import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Database, Statement } from 'better-sqlite3'
import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  sql,
} from 'kysely'
import { AverbaError } from '../errors.ts'
import type { Connection, Steps } from './connection.ts'
import type { Schema } from './schema.ts'

const inMemory = ':memory:'
const busyTimeoutMs = 2_000
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
export async function openSqlite(path: string): Promise<Connection> {
  const { default: Sqlite } = await import('better-sqlite3')
  if (path !== inMemory && !existsSync(dirname(path))) {
    throw new AverbaError('STORE_UNSAFE', `Cannot open "${path}": its folder does not exist`)
  }
  return guarded(path, () => {
    const database = new Sqlite(path, { timeout: busyTimeoutMs })
    try {
      checkOwner(database, path)
      setPragmas(database, path)
    } catch (error) {
      database.close()
      throw error
    }
    return new SqliteConnection(path, database)
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
  readonly #path: string
  readonly #database: Database
  readonly #statements = new Map<string, Statement>()

  constructor(path: string, database: Database) {
    this.#path = path
    this.#database = database
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
    return this.#within('begin immediate', steps)
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
      this.#database.exec(begin)
      try {
        const result = this.#run(steps())
        this.#database.exec('commit')
        return result
      } catch (error) {
        if (this.#database.inTransaction) this.#database.exec('rollback')
        throw error
      }
    })
  }

  #run<T>(work: Steps<T>): T {
    let step = work.next()
    while (!step.done) {
      const statement = this.#prepare(step.value.sql)
      const parameters = step.value.parameters
      let found: unknown[] = []
      if (statement.reader) found = statement.all(...parameters)
      else statement.run(...parameters)
      step = work.next(found)
    }
    return step.value
  }

  #prepare(sql: string): Statement {
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
  if (code.startsWith('SQLITE_READONLY') || code.startsWith('SQLITE_CANTOPEN')) {
    const hint = 'Check that the folder exists and can be written'
    return new AverbaError('STORE_UNSAFE', `${cannot}: it cannot be written`, { cause, hint })
  }
  return undefined
}
