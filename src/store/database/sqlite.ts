import { closeSync, existsSync, openSync, statSync } from 'node:fs'
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
import { systemClock } from '../../runtime/clock.ts'
import { resolveLinks } from '../../vault/durable-file.ts'
import { AverbaError, closedError } from '../../vocabulary/errors.ts'
import type { CheckTables, Connection, SearchProgress, Steps } from './connection.ts'
import { OwnFiles } from './own-files.ts'
import type { Schema } from './schema.ts'
import { searchFile } from './search-file.ts'
import { classifyTables, isUnknownName, wrapSqliteErrors } from './sqlite-errors.ts'
import { SqliteRunner } from './sqlite-runner.ts'
import { readOnlyError, sqlWords, TablesRead } from './tables-read.ts'

const inMemory = ':memory:'
/** How long opening waits for a lock, blocking the event loop. */
const openTimeoutMs = 2_000
/** How long one try for a lock blocks the event loop. Tries are repeated, with pauses of the same length. */
const lockTryMs = 10
const lockTriesMax = 250

/** Loads the SQLite driver on first use. */
export async function loadSqlite(): Promise<typeof import('better-sqlite3')> {
  return (await import('better-sqlite3')).default
}

/**
 * Opens a SQLite file, or creates it.
 *
 * better-sqlite3 is built to fall back to `synchronous=NORMAL` in WAL mode, which loses acknowledged events on power
 * loss. So every required pragma is set, and read back after a write.
 *
 * @throws {AverbaError} `STORE_UNSAFE` when durability cannot be guaranteed, `NOT_OURS` when the file is not a database
 * of averba, `STORE_BUSY` when another process holds it, `CORRUPT` when it was cut off
 */
export async function openSqlite(path: string): Promise<Connection> {
  const Sqlite = await loadSqlite()
  if (path !== inMemory && !existsSync(dirname(path))) {
    throw new AverbaError('STORE_UNSAFE', `Cannot open "${path}": its folder does not exist`)
  }
  return wrapSqliteErrors(path, () => {
    if (path !== inMemory) createEmptyFile(path)
    const database = new Sqlite(path, { timeout: openTimeoutMs })
    try {
      checkOwner(database, path)
      if (path !== inMemory) checkNotCutOff(database, path)
      setPragmas(database, path)
      database.pragma(`busy_timeout = ${lockTryMs}`)
    } catch (error) {
      database.close()
      throw error
    }
    return new SqliteConnection(path, database)
  })
}

/**
 * Creates an empty file of mode 0600 unless one exists: SQLite would follow the umask. Journals inherit the mode. An
 * existing file is not opened: closing it would drop the locks that an engine in this process holds on it.
 */
function createEmptyFile(path: string): void {
  try {
    closeSync(openSync(resolveLinks(path), 'wx', 0o600))
  } catch {
    // It exists, or SQLite reports better why it cannot be created.
  }
}

/** The pragmas of every connection except `journal_mode`. */
export const requiredPragmas = {
  synchronous: 2,
  foreign_keys: 1,
  secure_delete: 1,
  trusted_schema: 0,
  cell_size_check: 1,
}

/** The `application_id` of a log of averba: "aver" in ASCII. */
export const applicationId = 0x61766572

/** Refuses the database of another program before anything in it changes, even its journal mode. */
function checkOwner(database: Database, path: string): void {
  const id = database.pragma('application_id', { simple: true })
  const { tables } = database.prepare('select count(*) as tables from sqlite_schema').get() as {
    tables: number
  } // The one column of the query.
  if (id === applicationId || (id === 0 && tables === 0)) return
  throw new AverbaError('NOT_OURS', `Cannot open "${path}": it is not a log of averba`, {
    hint: 'Name the file of a log, or a file that does not exist yet to create a log',
  })
}

function checkNotCutOff(database: Database, path: string): void {
  const pageBytes = Number(database.pragma('page_size', { simple: true }))
  if (!isCutOff(path, pageBytes)) return
  throw new AverbaError('CORRUPT', `Cannot open "${path}": the file was cut off`, {
    hint: 'Keep the file as it is, and restore a backup elsewhere',
  })
}

/**
 * Reports whether a file ends within a page: SQLite would read zeros for the missing rest. A file with a write-ahead
 * log passes, because that log may hold the rest.
 */
export function isCutOff(path: string, pageBytes: number): boolean {
  const { size } = statSync(path)
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  return wal === 0 && size % pageBytes !== 0
}

function setPragmas(database: Database, path: string): void {
  const mode = path === inMemory ? 'memory' : 'wal'
  database.pragma(`journal_mode = ${mode}`)
  for (const [name, value] of Object.entries(requiredPragmas)) database.pragma(`${name} = ${value}`)
  database.pragma('fullfsync = 1')
  // A checkpoint every 8 MB of write-ahead log: a page that changes often is then copied only once.
  database.pragma('wal_autocheckpoint = 2000')
  markAsLog(database)
  const required = { ...requiredPragmas, journal_mode: mode }
  for (const [name, value] of Object.entries(required)) {
    const actual = database.pragma(name, { simple: true })
    if (actual === value) continue
    throw new AverbaError('STORE_UNSAFE', `Cannot open "${path}": ${name} is ${actual} instead of ${value}`, {
      hint: 'The store would lose acknowledged events on power loss. Put the file on a local disk',
    })
  }
}

/**
 * Marks a new file as a log of averba. For a marked file this only tests whether it is writable, and rolls back: the
 * file may still be refused because of its keyring, and must not change then.
 */
function markAsLog(database: Database): void {
  const isMarked = database.pragma('application_id', { simple: true }) === applicationId
  database.exec('begin immediate')
  try {
    database.pragma(`application_id = ${applicationId}`)
    if (!isMarked) database.exec('commit')
  } finally {
    if (database.inTransaction) database.exec('rollback')
  }
}

/** For a host's SQL: a question mark in it may be part of a literal. */
const unchanged = (sql: string) => sql

class SqliteConnection implements Connection {
  readonly dialect = 'sqlite'
  readonly compiler: Kysely<Schema>
  readonly listTables: CompiledQuery<{ name: string }>
  readonly foreignWrites = { sql: 'pragma data_version', parameters: [] }
  readonly #path: string
  readonly #files: OwnFiles | undefined
  readonly #database: Database
  readonly #runner: SqliteRunner
  readonly #tablesRead: TablesRead

  constructor(path: string, database: Database) {
    this.#path = path
    this.#files = path === inMemory ? undefined : new OwnFiles(path)
    this.#database = database
    this.#runner = new SqliteRunner(database)
    this.#tablesRead = new TablesRead(database)
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
    // Only a failed try for the lock is repeated, never the steps: they may throw `STORE_BUSY` themselves.
    let hasLock = false
    const lockedSteps = () => {
      hasLock = true
      return steps()
    }
    for (let tries = 1; ; tries++) {
      try {
        this.#checkOpen()
        this.#files?.check()
        return this.#runTransaction('begin immediate', lockedSteps)
      } catch (error) {
        const isBusy = error instanceof AverbaError && error.code === 'STORE_BUSY'
        if (hasLock || !isBusy || tries >= lockTriesMax) throw error
      }
      // Real time, even when a simulated clock drives this process: the other process holds the lock in real time.
      await systemClock.sleep(lockTryMs)
    }
  }

  async read<T>(steps: () => Steps<T>): Promise<T> {
    return this.#runTransaction('begin', steps)
  }

  async readOnly(query: CompiledQuery, check?: CheckTables): Promise<readonly unknown[]> {
    return this.#runTransaction('begin', () => this.#read(query, check))
  }

  *#read(query: CompiledQuery, check?: CheckTables): Steps<readonly unknown[]> {
    const statement = yield* this.#prepareQuery(query, check)
    if (check) yield* check(this.#tablesRead.find(query))
    return statement.all(...query.parameters)
  }

  /** An unknown name is the host's mistake, unless the tables are damaged or of another version. */
  *#prepareQuery({ sql }: CompiledQuery, check?: CheckTables): Steps<Prepared> {
    // SQLite runs some pragmas while it prepares them, so only queries are prepared.
    const isQuery = /^\s*(select|with)\b/i.test(sql)
    try {
      const statement = isQuery ? this.#runner.prepare(sql, unchanged) : undefined
      if (statement?.readonly && statement.reader) return statement
    } catch (cause) {
      if (!isUnknownName(cause) || classifyTables(this.#database) !== 'current') throw cause
      if (check) yield* check(sqlWords(sql), 'perhaps')
      const cannot = 'Cannot run this statement: it names a view or column that does not exist'
      const hint = 'averba doctor lists the views. The type Views has their columns'
      throw new AverbaError('INVALID_INPUT', cannot, { cause, hint })
    }
    throw readOnlyError('Cannot run this statement')
  }

  async emptyJournal(): Promise<boolean> {
    this.#checkOpen()
    return wrapSqliteErrors(this.#path, () => {
      const [row] = this.#database.pragma('wal_checkpoint(truncate)') as { busy: number }[] // SQLite's answer.
      return row?.busy === 0
    })
  }

  async rewrite(): Promise<void> {
    this.#checkOpen()
    wrapSqliteErrors(this.#path, () => this.#database.exec('vacuum'), this.#database)
  }

  async searchFile(pieces: readonly Uint8Array[]): Promise<SearchProgress> {
    return this.#path === inMemory ? { bytes: 0, found: 0 } : searchFile(this.#path, pieces)
  }

  async close(): Promise<void> {
    this.#runner.forget()
    this.#database.close()
  }

  #checkOpen(): void {
    if (!this.#database.open) throw closedError()
  }

  #runTransaction<T>(begin: string, steps: () => Steps<T>): T {
    this.#checkOpen()
    return wrapSqliteErrors(
      this.#path,
      () => {
        this.#runner.prepare(begin).run()
        try {
          const result = this.#runner.run(steps())
          this.#runner.prepare('commit').run()
          return result
        } catch (error) {
          if (this.#database.inTransaction) this.#runner.prepare('rollback').run()
          throw error
        }
      },
      this.#database,
    )
  }
}
