import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { CompiledQuery } from 'kysely'
import { systemClock } from '../../runtime/clock.ts'
import { AverbaError, closedError, type ErrorCode, hasCode } from '../../vocabulary/errors.ts'
import type { CheckTables, Connection, DatabaseRequest, SearchProgress, StatementForEach, Steps } from './connection.ts'
import {
  largeNumberError,
  malformedError,
  parameterCountError,
  parameterError,
  readOnlyError,
  unknownNameError,
} from './host-query.ts'
import { migrationStatements, migrations } from './migrations.ts'
import { OwnFiles } from './own-files.ts'
import { searchFile } from './search-file.ts'
import {
  inMemory,
  type Prepared,
  prepare,
  readColumn,
  readValue,
  run,
  sqliteCode,
  sqliteCodes,
} from './sqlite-driver.ts'
import { sqlWords, TablesRead } from './tables-read.ts'

/** How long one try for a lock blocks the event loop. Tries are repeated, with pauses of the same length. */
export const lockTryMs = 10
const lockTriesMax = 250

/** Repeats work that another process holds up, until it `hasLock`. */
export async function retryWhileBusy<T>(work: () => T, hasLock = () => false): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return work()
    } catch (error) {
      if (!hasCode(error, 'STORE_BUSY') || hasLock() || tries >= lockTriesMax) throw error
    }
    // Real time, even when a simulated clock drives this process: the other process holds the lock in real time.
    await systemClock.sleep(lockTryMs)
  }
}

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
  readonly #database: DatabaseSync
  readonly #runner: SqliteRunner
  readonly #tablesRead: TablesRead

  constructor(path: string, database: DatabaseSync) {
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
    const attempt = () => {
      this.#checkOpen()
      this.#files?.check()
      return this.#runTransaction('begin immediate', lockedSteps)
    }
    return retryWhileBusy(attempt, () => hasLock)
  }

  async read<T>(steps: () => Steps<T>): Promise<T> {
    return this.#runTransaction('begin', steps)
  }

  async readOnly(query: CompiledQuery, check?: CheckTables): Promise<readonly unknown[]> {
    return this.#runTransaction('begin', () => this.#read(query, check))
  }

  *#read(query: CompiledQuery, check?: CheckTables): Steps<readonly unknown[]> {
    if (!query.parameters.every(isSqliteValue)) throw parameterError()
    const statement = yield* this.#prepareQuery(query, check)
    const { tables, isWriting, parametersUsed } = this.#tablesRead.find(query.sql, this.#runner.schemaVersion)
    if (isWriting) throw readOnlyError('Cannot run this statement')
    if (check) yield* check(tables)
    if (query.parameters.length < parametersUsed) throw parameterCountError()
    try {
      return statement.all(...query.parameters)
    } catch (cause) {
      if (sqliteCode(cause) === sqliteCodes.range) throw parameterCountError(cause)
      if (isTooLarge(cause)) throw largeNumberError(cause)
      throw isMalformed(cause) ? malformedError(cause) : cause
    }
  }

  /** An unknown name is the host's mistake, unless the tables are damaged or of another version. */
  *#prepareQuery({ sql }: CompiledQuery, check?: CheckTables): Steps<Prepared> {
    // SQLite runs some pragmas while it prepares them, so only queries are prepared.
    if (!/^\s*(select|with)\b/i.test(withoutComments(sql))) throw readOnlyError('Cannot run this statement')
    try {
      return this.#runner.prepareForHost(sql)
    } catch (cause) {
      if (isMalformed(cause)) throw malformedError(cause)
      if (!isUnknownName(cause) || classifyTables(this.#database) !== 'current') throw cause
      if (check) yield* check(sqlWords(sql), 'perhaps')
      throw unknownNameError(cause)
    }
  }

  async emptyJournal(): Promise<boolean> {
    this.#checkOpen()
    // The first column of its answer says whether a reader is in the way.
    return wrapSqliteErrors(this.#path, () => readValue(this.#database, 'pragma wal_checkpoint(truncate)') === 0)
  }

  async rewrite(): Promise<boolean> {
    const attempt = () => {
      this.#checkOpen()
      wrapSqliteErrors(this.#path, () => run(this.#database, 'vacuum'), this.#database)
    }
    try {
      await retryWhileBusy(attempt)
      return true
    } catch (error) {
      // Deno permits the second database that this takes only with all permissions.
      if (error instanceof Error && error.message.startsWith('too many attached databases')) return false
      throw error
    }
  }

  async searchFile(pieces: readonly Uint8Array[]): Promise<SearchProgress> {
    return this.#path === inMemory ? { bytes: 0, found: 0 } : searchFile(this.#path, pieces)
  }

  async close(): Promise<void> {
    this.#runner.forget()
    if (this.#database.isOpen) this.#database.close()
  }

  #checkOpen(): void {
    if (!this.#database.isOpen) throw closedError()
  }

  #runTransaction<T>(begin: string, steps: () => Steps<T>): T {
    this.#checkOpen()
    return wrapSqliteErrors(
      this.#path,
      () => {
        this.#runner.prepare(begin).run()
        try {
          this.#runner.forgetIfChanged()
          const result = this.#runner.run(steps())
          this.#runner.prepare('commit').run()
          return result
        } catch (error) {
          if (this.#database.isTransaction) this.#runner.prepare('rollback').run()
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
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, Prepared>()
  /** Apart from ours, which many different queries of a host would push out. */
  readonly #hostStatements = new Map<string, Prepared>()
  #readVersion: StatementSync | undefined
  #schemaVersion: unknown

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** Changes with every table, as of the last `forgetIfChanged`. */
  get schemaVersion(): unknown {
    return this.#schemaVersion
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

  /**
   * Prepares a host's statement once, unchanged: a question mark in it may be part of a literal. SQLite would leave out
   * what follows the first statement.
   *
   * @throws {RangeError} when another statement follows
   */
  prepareForHost(sql: string): Prepared {
    const statement = this.#prepareOnce(this.#hostStatements, sql, text => text)
    if (/[^\s;]/.test(withoutComments(sql.slice(statement.sourceSQL.length))))
      throw new RangeError('The text has more than one statement')
    return statement
  }

  #prepareOnce(known: Map<string, Prepared>, sql: string, rewrite: (sql: string) => string): Prepared {
    const prepared = known.get(sql)
    if (prepared) return prepared
    const statement = prepare(this.#database, rewrite(sql))
    if (known.size >= statementsKeptMax) known.clear()
    if (/^(create|alter|drop)\b/i.test(sql)) this.forget()
    else known.set(sql, statement)
    return statement
  }

  /**
   * Forgets all statements when a table has changed. SQLite prepares them anew by itself, but their rows would be read
   * by the columns of the former table.
   */
  forgetIfChanged(): void {
    this.#readVersion ??= this.#database.prepare('pragma schema_version')
    const version = this.#readVersion.get()?.schema_version
    if (version === this.#schemaVersion) return
    this.forget()
    // A statement that is prepared before SQLite has read the change is one of the former tables.
    readColumn(this.#database, 'select 1 from sqlite_schema limit 1')
    this.#schemaVersion = version
  }

  forget(): void {
    // What is prepared after a change that is undone has to be forgotten too.
    this.#schemaVersion = undefined
    this.#statements.clear()
    this.#hostStatements.clear()
  }

  #execute(request: DatabaseRequest): readonly unknown[] {
    if ('attempt' in request) return this.#executeAttempt(request.attempt)
    if ('forEach' in request) return this.#executeForEach(request)
    if ('together' in request) return request.together.map(statement => this.#execute(statement))
    return this.prepare(request.sql).all(...request.parameters)
  }

  /** Inserts many rows per statement: two thirds of the time of single inserts. */
  #executeForEach({ sql, forEach }: StatementForEach): readonly unknown[] {
    let done = 0
    const many = forEach.length >= rowsAtOnce ? insertOf(sql, rowsAtOnce) : undefined
    if (many !== undefined) {
      const statement = this.prepare(many)
      for (; done + rowsAtOnce <= forEach.length; done += rowsAtOnce)
        statement.run(...forEach.slice(done, done + rowsAtOnce).flat())
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
      if (!this.#database.isTransaction) throw error
      this.prepare('rollback to attempt').run()
      this.prepare('release attempt').run()
      return [error]
    }
  }
}

const insertedRow = /(?<=values )\([^()]+\)/

const texts = new Map<string, string>()

/** Writes an insert of one row as one of so many rows; `undefined` for another statement. */
function insertOf(sql: string, rows: number): string | undefined {
  const key = `${rows} ${sql}`
  let text = texts.get(key)
  if (text === undefined && insertedRow.test(sql)) {
    text = sql.replace(insertedRow, row => Array(rows).fill(row).join(', '))
    texts.set(key, text)
  }
  return text
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
export function wrapSqliteErrors<T>(path: string, work: () => T, database?: DatabaseSync): T {
  try {
    return work()
  } catch (cause) {
    throw toAverbaError(path, cause, database) ?? cause
  }
}

/** Right up to the first literal of the text, which may look like a comment. */
function withoutComments(sql: string): string {
  return sql.replace(/--[^\n]*|\/\*.*?(?:\*\/|$)/gs, ' ')
}

/** Codes of a query that SQLite cannot read, or whose values it cannot work with. */
const malformedCodes: ReadonlySet<number> = new Set([sqliteCodes.error, sqliteCodes.tooBig, sqliteCodes.mismatch])

/** Reports whether SQL text has wrong syntax, an unknown function or more statements, or fails by its values. */
function isMalformed(cause: unknown): boolean {
  if (cause instanceof RangeError) return true
  return malformedCodes.has(sqliteCode(cause) ?? 0) && !isUnknownName(cause) && !isHiddenTable(cause)
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
function classifyTables(database: DatabaseSync): 'current' | 'otherVersion' | 'incomplete' {
  try {
    if (readValue(database, 'select schema from head') !== migrations.length) return 'otherVersion'
    const existing = new Set(readColumn(database, "select name from sqlite_schema where type = 'table'"))
    const wanted = migrationStatements(0, 'sqlite').flatMap(sql => /^create table (\w+)/.exec(sql)?.[1] ?? [])
    return wanted.every(name => existing.has(name)) ? 'current' : 'incomplete'
  } catch {
    return 'incomplete'
  }
}

/** Reports whether a number in the database is one that JavaScript cannot hold. */
function isTooLarge(cause: unknown): boolean {
  return cause instanceof RangeError && cause.message.startsWith('Value is too large to be represented')
}

/** Reports whether a host's parameter is one that SQLite knows: some others would be bound as NULL. */
function isSqliteValue(value: unknown): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value
  return value === null || ['string', 'number'].includes(typeof value) || ArrayBuffer.isView(value)
}

/** Codes of a file that this process may not write. */
const notPermitted: ReadonlySet<number> = new Set([
  sqliteCodes.readOnly,
  sqliteCodes.cannotOpen,
  sqliteCodes.perm,
  sqliteCodes.auth,
])

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

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}

function toAverbaError(path: string, cause: unknown, database?: DatabaseSync): AverbaError | undefined {
  const code = sqliteCode(cause)
  const cannot = (as: ErrorCode, why: string, hint: string) =>
    new AverbaError(as, `Cannot use "${path}": ${why}`, { cause, hint, path })
  if (code === sqliteCodes.notDatabase) {
    const hint = 'If it was a log of averba, it is damaged: keep the file unchanged and restore a backup elsewhere'
    return cannot('NOT_OURS', 'it is not a SQLite database', hint)
  }
  const isMissing = isUnknownName(cause)
  if (isMissing && database?.isOpen && classifyTables(database) !== 'incomplete') {
    const hint = 'Restart this program with the version of averba that last opened the file'
    return cannot('NOT_OURS', 'another version of averba changed its tables', hint)
  }
  // averba writes no number that JavaScript cannot hold.
  if (code === sqliteCodes.corrupt || isMissing || isHiddenTable(cause) || isTooLarge(cause)) {
    // SQLite gives the same code when the disk cannot read a page: the file itself may be intact.
    const hint = 'Check the disk. If it is healthy, keep the file unchanged and restore a backup elsewhere'
    return cannot('CORRUPT', 'the file is damaged', hint)
  }
  if (code === sqliteCodes.busy || code === sqliteCodes.protocol)
    return cannot('STORE_BUSY', 'it is locked', 'Another process holds the file. Try again, or stop it')
  if (code === sqliteCodes.full || (code === sqliteCodes.ioError && isDiskFull(path))) {
    const hint = `Free some space. ${retryHint}`
    return cannot('STORE_UNSAFE', 'the disk is full', hint)
  }
  if ((code === sqliteCodes.ioError || code === sqliteCodes.cannotOpen) && isFolder(path))
    return cannot('NOT_OURS', 'it is a folder', 'Name the file of a log')
  if (code !== undefined && notPermitted.has(code)) {
    const hint = 'Check that this process may write the file and its folder: SQLite creates files beside it'
    return cannot('STORE_UNSAFE', 'it cannot be written', hint)
  }
  if (code === sqliteCodes.ioError) {
    const hint = `Check the disk. ${retryHint}`
    return cannot('STORE_UNSAFE', 'the disk failed', hint)
  }
  return undefined
}
