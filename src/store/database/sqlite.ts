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
import { endOfLinks } from '../../vault/durable-file.ts'
import { AverbaError, closed } from '../../vocabulary/errors.ts'
import type { CheckTables, Connection, SearchProgress, Steps } from './connection.ts'
import { OwnFiles } from './own-files.ts'
import type { Schema } from './schema.ts'
import { searchFile } from './search-file.ts'
import { guarded, isNamingNone, tablesOf } from './sqlite-errors.ts'
import { SqliteRunner } from './sqlite-runner.ts'
import { onlyRead, TablesRead, wordsOf } from './tables-read.ts'

const inMemory = ':memory:'
/** How long opening waits for a lock, in one piece. */
const openTimeoutMs = 2_000
/** How long one try for a lock holds up the event loop; tries are repeated, with waits in between. */
const knockMs = 10
const knocksMax = 250

/** The driver, loaded on first use. */
export async function loadSqlite(): Promise<typeof import('better-sqlite3')> {
  return (await import('better-sqlite3')).default
}

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
  const Sqlite = await loadSqlite()
  if (path !== inMemory && !existsSync(dirname(path))) {
    throw new AverbaError('STORE_UNSAFE', `Cannot open "${path}": its folder does not exist`)
  }
  return guarded(path, () => {
    if (path !== inMemory) makeFile(path)
    const database = new Sqlite(path, { timeout: openTimeoutMs })
    try {
      checkOwner(database, path)
      if (path !== inMemory) checkWhole(database, path)
      setPragmas(database, path)
      database.pragma(`busy_timeout = ${knockMs}`)
    } catch (error) {
      database.close()
      throw error
    }
    return new SqliteConnection(path, database)
  })
}

/**
 * Makes an empty file readable for its owner only, where there is none: SQLite would follow the umask. Its journals
 * inherit the mode. An existing file is not touched: closing it would drop the locks of an engine in this process.
 */
function makeFile(path: string): void {
  try {
    closeSync(openSync(endOfLinks(path), 'wx', 0o600))
  } catch {
    // It exists; if not, SQLite explains better why it cannot be made.
  }
}

/** The pragmas of every connection, beside the journal's. */
export const promisedPragmas = {
  synchronous: 2,
  foreign_keys: 1,
  secure_delete: 1,
  trusted_schema: 0,
  cell_size_check: 1,
}

/** Marks a file as a log of averba ("aver"), in the place that SQLite keeps for it. */
export const applicationId = 0x61766572

/** Leaves a database with foreign tables as it is, down to its journal mode. */
function checkOwner(database: Database, path: string): void {
  const id = database.pragma('application_id', { simple: true })
  const { tables } = database.prepare('select count(*) as tables from sqlite_schema').get() as {
    tables: number
  } // As asked.
  if (id === applicationId || (id === 0 && tables === 0)) return
  throw new AverbaError('NOT_OURS', `Cannot open "${path}": it is not a log of averba`, {
    hint: 'Name the file of the log, or, for a new one, a file that is not there yet',
  })
}

function checkWhole(database: Database, path: string): void {
  const pageBytes = Number(database.pragma('page_size', { simple: true }))
  if (!isCutOff(path, pageBytes)) return
  throw new AverbaError('CORRUPT', `Cannot open "${path}": the file was cut off`, {
    hint: 'Keep the file as it is, and restore a backup elsewhere',
  })
}

/**
 * Reports whether a file ends within a page: SQLite reads zeros for the missing rest. A write-ahead log beside it may
 * hold that rest.
 */
export function isCutOff(path: string, pageBytes: number): boolean {
  const { size } = statSync(path)
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  return wal === 0 && size % pageBytes !== 0
}

function setPragmas(database: Database, path: string): void {
  const mode = path === inMemory ? 'memory' : 'wal'
  database.pragma(`journal_mode = ${mode}`)
  for (const [name, value] of Object.entries(promisedPragmas)) database.pragma(`${name} = ${value}`)
  database.pragma('fullfsync = 1')
  // 8 MB of log before pages move into the file: a page that changes often moves only once.
  database.pragma('wal_autocheckpoint = 2000')
  mark(database)
  const promised = { ...promisedPragmas, journal_mode: mode }
  for (const [name, value] of Object.entries(promised)) {
    const actual = database.pragma(name, { simple: true })
    if (actual === value) continue
    throw new AverbaError('STORE_UNSAFE', `Cannot open "${path}": ${name} is ${actual} instead of ${value}`, {
      hint: 'The store would lose acknowledged events on power loss. Put the file on a local disk',
    })
  }
}

/**
 * Marks a new file as ours. On one that is marked this only finds out whether it can be written: it may be refused
 * later, by its keyring, and is left as it is then.
 */
function mark(database: Database): void {
  const isMarked = database.pragma('application_id', { simple: true }) === applicationId
  database.exec('begin immediate')
  try {
    database.pragma(`application_id = ${applicationId}`)
    if (!isMarked) database.exec('commit')
  } finally {
    if (database.inTransaction) database.exec('rollback')
  }
}

/** A host's text may have a question mark anywhere, so it is not changed. */
const asItIs = (sql: string) => sql

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
    // Once the lock is held, an error of the steps is theirs, whatever its code.
    let hasBegun = false
    const begun = () => {
      hasBegun = true
      return steps()
    }
    for (let knocks = 1; ; knocks++) {
      try {
        this.#checkOpen()
        this.#files?.check()
        return this.#within('begin immediate', begun)
      } catch (error) {
        const isBusy = error instanceof AverbaError && error.code === 'STORE_BUSY'
        if (hasBegun || !isBusy || knocks >= knocksMax) throw error
      }
      // Another process holds its lock in real time, whatever clock drives this one.
      await systemClock.sleep(knockMs)
    }
  }

  async read<T>(steps: () => Steps<T>): Promise<T> {
    return this.#within('begin', steps)
  }

  async readOnly(query: CompiledQuery, check?: CheckTables): Promise<readonly unknown[]> {
    return this.#within('begin', () => this.#read(query, check))
  }

  *#read(query: CompiledQuery, check?: CheckTables): Steps<readonly unknown[]> {
    const statement = yield* this.#prepareReading(query, check)
    if (check) yield* check(this.#tablesRead.of(query))
    return statement.all(...query.parameters)
  }

  /**
   * A host that names something no view has is wrong, and the file is not, unless the name is a view's of another
   * version.
   */
  *#prepareReading({ sql }: CompiledQuery, check?: CheckTables): Steps<Prepared> {
    // A pragma takes effect while it is prepared: only what begins like a query gets that far.
    const isReading = /^\s*(select|with)\b/i.test(sql)
    try {
      const statement = isReading ? this.#runner.prepare(sql, asItIs) : undefined
      if (statement?.readonly && statement.reader) return statement
    } catch (cause) {
      if (!isNamingNone(cause) || tablesOf(this.#database) !== 'ours') throw cause
      if (check) yield* check(wordsOf(sql), 'perhaps')
      const cannot = 'Cannot run this statement: it names no view or column'
      const hint = 'averba doctor lists the views; their columns are those of the type Views'
      throw new AverbaError('INVALID_INPUT', cannot, { cause, hint })
    }
    throw onlyRead('Cannot run this statement')
  }

  async emptyJournal(): Promise<boolean> {
    this.#checkOpen()
    return guarded(this.#path, () => {
      const [row] = this.#database.pragma('wal_checkpoint(truncate)') as { busy: number }[] // As SQLite answers.
      return row?.busy === 0
    })
  }

  async rewrite(): Promise<void> {
    this.#checkOpen()
    guarded(this.#path, () => this.#database.exec('vacuum'), this.#database)
  }

  async searchFile(pieces: readonly Uint8Array[]): Promise<SearchProgress> {
    return this.#path === inMemory ? { bytes: 0, found: 0 } : searchFile(this.#path, pieces)
  }

  async close(): Promise<void> {
    this.#runner.forget()
    this.#database.close()
  }

  #checkOpen(): void {
    if (!this.#database.open) throw closed()
  }

  #within<T>(begin: string, steps: () => Steps<T>): T {
    this.#checkOpen()
    return guarded(
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
