import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Database, Statement as Prepared } from 'better-sqlite3'
import type { CompiledQuery } from 'kysely'
import { systemClock } from '../../runtime/clock.ts'
import { AverbaError, closedError, type ErrorCode, hasCode } from '../../vocabulary/errors.ts'
import type { CheckTables, Connection, DatabaseRequest, SearchProgress, StatementForEach, Steps } from './connection.ts'
import { malformedError, readOnlyError, unknownNameError } from './host-query.ts'
import { migrationStatements, migrations } from './migrations.ts'
import { OwnFiles } from './own-files.ts'
import { insertOf } from './rows-of-insert.ts'
import { searchFile } from './search-file.ts'
import { sqlWords, TablesRead } from './tables-read.ts'

export const inMemory = ':memory:'
/** How long one try for a lock blocks the event loop. Tries are repeated, with pauses of the same length. */
export const lockTryMs = 10
const lockTriesMax = 250

/** A SQLite database, open in this process. */
export class SqliteConnection implements Connection {
  readonly dialect = 'sqlite'
  readonly listTables = {
    sql: "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'",
    parameters: [],
  }
  readonly foreignWrites = { sql: 'pragma data_version', parameters: [] }
  readonly isShared: boolean
  readonly #path: string
  readonly #files: OwnFiles | undefined
  readonly #database: Database
  readonly #runner: SqliteRunner
  readonly #tablesRead: TablesRead

  constructor(path: string, database: Database) {
    this.#path = path
    this.isShared = path !== inMemory
    this.#files = this.isShared ? new OwnFiles(path) : undefined
    this.#database = database
    this.#runner = new SqliteRunner(database)
    this.#tablesRead = new TablesRead(database)
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
        const isBusy = hasCode(error, 'STORE_BUSY')
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
      const statement = isQuery ? this.#runner.prepareForHost(sql) : undefined
      if (statement?.readonly && statement.reader) return statement
    } catch (cause) {
      if (isMalformed(cause)) throw malformedError(cause)
      if (!isUnknownName(cause) || classifyTables(this.#database) !== 'current') throw cause
      if (check) yield* check(sqlWords(sql), 'perhaps')
      throw unknownNameError(cause)
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

const statementsKeptMax = 500
/** Rows per insert statement: more would save little. */
const rowsAtOnce = 16

/** Runs steps synchronously on one SQLite connection and keeps their prepared statements. */
export class SqliteRunner {
  readonly #database: Database
  readonly #statements = new Map<string, Prepared>()
  /** Apart from ours, which many different queries of a host would push out. */
  readonly #hostStatements = new Map<string, Prepared>()

  constructor(database: Database) {
    this.#database = database
  }

  /** Runs steps to their end. The caller opens and closes the transaction. */
  run<T>(work: Steps<T>): T {
    let step = work.next()
    while (!step.done) step = work.next(this.#execute(step.value))
    return step.value
  }

  /** Prepares one of our own statements once. */
  prepare(sql: string): Prepared {
    return this.#prepareOnce(this.#statements, sql, hideParameterValues)
  }

  /** Prepares a host's statement once, unchanged: a question mark in it may be part of a literal. */
  prepareForHost(sql: string): Prepared {
    return this.#prepareOnce(this.#hostStatements, sql, text => text)
  }

  #prepareOnce(known: Map<string, Prepared>, sql: string, rewrite: (sql: string) => string): Prepared {
    const prepared = known.get(sql)
    if (prepared) return prepared
    const statement = this.#database.prepare(rewrite(sql))
    if (known.size >= statementsKeptMax) known.clear()
    known.set(sql, statement)
    return statement
  }

  forget(): void {
    this.#statements.clear()
    this.#hostStatements.clear()
  }

  #execute(request: DatabaseRequest): readonly unknown[] {
    if ('attempt' in request) return this.#executeAttempt(request.attempt)
    if ('forEach' in request) return this.#executeForEach(request)
    if ('together' in request) return request.together.map(statement => this.#execute(statement))
    const statement = this.prepare(request.sql)
    if (statement.reader) return statement.all(...request.parameters)
    statement.run(...request.parameters)
    return []
  }

  /** Inserts many rows per statement: two thirds of the time of single inserts. */
  #executeForEach({ sql, forEach }: StatementForEach): readonly unknown[] {
    let done = 0
    const many = forEach.length >= rowsAtOnce ? insertOf(sql, rowsAtOnce) : undefined
    if (many !== undefined) {
      const statement = this.prepare(many)
      for (; done + rowsAtOnce <= forEach.length; done += rowsAtOnce)
        statement.run(forEach.slice(done, done + rowsAtOnce).flat())
    }
    if (done === forEach.length) return []
    const statement = this.prepare(sql)
    for (; done < forEach.length; done++) statement.run(...(forEach[done] ?? []))
    return []
  }

  /** On some errors, such as a full disk, SQLite rolls back the whole transaction: then this throws. */
  #executeAttempt(steps: () => Steps<void>): readonly unknown[] {
    this.prepare('savepoint attempt').run()
    try {
      this.run(steps())
      this.prepare('release attempt').run()
      return []
    } catch (error) {
      if (!this.#database.inTransaction) throw error
      this.prepare('rollback to attempt').run()
      this.prepare('release attempt').run()
      return [error]
    }
  }
}

/**
 * SQLite plans by the values of parameters and recompiles the statement for every new value, which often takes many
 * times as long as running it. A unary plus hides the value and changes nothing else. None of our own statements has a
 * question mark in a literal.
 */
function hideParameterValues(sql: string): string {
  return sql.replaceAll('?', '+?')
}

/** Turns SQLite's errors into `AverbaError`s. Pass the database to tell damage from tables of another version. */
export function wrapSqliteErrors<T>(path: string, work: () => T, database?: Database): T {
  try {
    return work()
  } catch (cause) {
    throw toAverbaError(path, cause, database) ?? cause
  }
}

/** Reports whether SQL text has wrong syntax, an unknown function, or more than one statement. */
function isMalformed(cause: unknown): boolean {
  if (cause instanceof RangeError) return true
  const isError = cause instanceof Error && 'code' in cause && cause.code === 'SQLITE_ERROR'
  return isError && !isUnknownName(cause) && !isHiddenTable(cause)
}

/** Reports whether a statement names a table or column that does not exist. */
function isUnknownName(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && /no such (table|column)|has no column named/.test(cause.message)
}

/** Reports whether a table exists that `sqlite_schema` does not list: a damaged page hides it. */
function isHiddenTable(cause: unknown): boolean {
  return cause instanceof Error && /^table \w+ already exists$/.test(cause.message)
}

/** Reports whether the log's tables are complete and of this version, of another version, or incomplete. */
function classifyTables(database: Database): 'current' | 'otherVersion' | 'incomplete' {
  try {
    if (database.prepare('select schema from head').pluck().get() !== migrations.length) return 'otherVersion'
    const existing = new Set(database.prepare("select name from sqlite_schema where type = 'table'").pluck().all())
    const wanted = migrationStatements(0, 'sqlite').flatMap(sql => /^create table (\w+)/.exec(sql)?.[1] ?? [])
    return wanted.every(name => existing.has(name)) ? 'current' : 'incomplete'
  } catch {
    return 'incomplete'
  }
}

/** SHORT_READ means that a page ends early: the file was cut off. */
const damageCodes = /^SQLITE_(CORRUPT|IOERR_(CORRUPTFS|SHORT_READ)$)/

/** After a disk error the caller does not know whether the command was recorded. */
const retryHint = 'A command that was running may still have been recorded: repeat it only with the same command id'

/** SQLite needs this much for the journal's index before it can read. */
const indexBytes = 32_768

/** Reports whether a disk is full: when the journal's index does not fit, SQLite reports only an I/O error. */
function isDiskFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < indexBytes
  } catch {
    return false // Not every runtime and platform has statfs.
  }
}

function toAverbaError(path: string, cause: unknown, database?: Database): AverbaError | undefined {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const cannot = (as: ErrorCode, why: string, hint: string) =>
    new AverbaError(as, `Cannot use "${path}": ${why}`, { cause, hint, path })
  if (code === 'SQLITE_NOTADB') {
    const hint = 'If it was a log of averba, it is damaged: keep the file unchanged and restore a backup elsewhere'
    return cannot('NOT_OURS', 'it is not a SQLite database', hint)
  }
  const isMissing = isUnknownName(cause)
  if (isMissing && database?.open && classifyTables(database) !== 'incomplete') {
    const hint = 'Restart this program with the version of averba that last opened the file'
    return cannot('NOT_OURS', 'another version of averba changed its tables', hint)
  }
  if (damageCodes.test(code) || isMissing || isHiddenTable(cause)) {
    // SQLite gives the same code when the disk cannot read a page: the file itself may be intact.
    const hint = 'Check the disk. If it is healthy, keep the file unchanged and restore a backup elsewhere'
    return cannot('CORRUPT', 'the file is damaged', hint)
  }
  if (code.startsWith('SQLITE_BUSY') || code === 'SQLITE_PROTOCOL')
    return cannot('STORE_BUSY', 'it is locked', 'Another process holds the file. Try again, or stop it')
  if (code.startsWith('SQLITE_FULL') || (code.startsWith('SQLITE_IOERR') && isDiskFull(path))) {
    const hint = `Free some space. ${retryHint}`
    return cannot('STORE_UNSAFE', 'the disk is full', hint)
  }
  if (/^SQLITE_(IOERR|CANTOPEN)/.test(code) && statSync(path, { throwIfNoEntry: false })?.isDirectory())
    return cannot('NOT_OURS', 'it is a folder', 'Name the file of a log')
  if (/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/.test(code)) {
    const hint = 'Check that this user can write the file and its folder: SQLite creates files beside it'
    return cannot('STORE_UNSAFE', 'it cannot be written', hint)
  }
  if (code.startsWith('SQLITE_IOERR')) {
    const hint = `Check the disk. ${retryHint}`
    return cannot('STORE_UNSAFE', 'the disk failed', hint)
  }
  return undefined
}
