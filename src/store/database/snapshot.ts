import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { BackupProgressInfo, DatabaseSync } from 'node:sqlite'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import { requireFile } from '../../vocabulary/file-errors.ts'
import { keyringPath } from '../../vocabulary/names.ts'
import type { Steps } from './connection.ts'
import { readTablesVersion } from './migrations.ts'
import type { MediumFault, MediumSize, Reading } from './reading.ts'
import { tableNames } from './schema.ts'
import { classifyFile, isCutOff, requiredPragmas } from './sqlite.ts'
import { lockTryMs, retryWhileBusy, SqliteRunner, wrapSqliteErrors } from './sqlite-connection.ts'
import { loadSqlite, openDatabase, readColumn, readValue, run } from './sqlite-driver.ts'

/** Pages copied at a time, while which this connection reads nothing: 2 MB, a few milliseconds. */
const copyPages = 500

/**
 * A SQLite file at one moment. Engines write meanwhile, but their WAL cannot shrink until the snapshot is closed.
 *
 * The file is opened through SQLite only: closing any other descriptor of it would drop the locks that an engine in
 * this process holds.
 */
export class Snapshot implements Reading {
  readonly dialect = 'sqlite'
  readonly name: string
  readonly #path: string
  readonly #database: DatabaseSync
  readonly #runner: SqliteRunner

  private constructor(path: string, displayName: string, database: DatabaseSync) {
    this.#path = path
    this.name = displayName
    this.#database = database
    this.#runner = new SqliteRunner(database)
  }

  /**
   * Opens a store or a backup of one. Errors use `displayName`, for a file whose present name is temporary.
   *
   * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
   */
  static async open(path: string, displayName = path): Promise<Snapshot> {
    requireFile(path)
    if (!existsSync(path)) throw notFoundError(path, displayName)
    const toSnapshot = (database: DatabaseSync) => {
      const holds = classifyFile(database)
      if (holds === 'foreign')
        throw new AverbaError('NOT_OURS', `Cannot open "${displayName}": it is not a log of averba`, {
          hint: 'Name the file of a log, or a backup of one',
        })
      if (holds === 'empty')
        throw new AverbaError('NOT_FOUND', `Cannot open "${displayName}": the file holds no log`, {
          hint: 'If a log was there, restore a backup of it with averba restore',
        })
      // A view in the place of a table could compute for ever.
      const found = readColumn(database, "select name from sqlite_schema where type = 'view'")
      const replaced = tableNames.find(name => found.includes(name))
      if (replaced !== undefined)
        throw new AverbaError('CORRUPT', `Cannot open "${displayName}": its view "${replaced}" was changed`, {
          hint: 'Find out who changed the file, and restore a backup beside it',
        })
      for (const [name, value] of Object.entries(requiredPragmas)) run(database, `pragma ${name} = ${value}`)
      const snapshot = new Snapshot(path, displayName, database)
      database.exec('begin')
      snapshot.#run(() => readTablesVersion(displayName))
      return snapshot
    }
    const options = { readOnly: true, timeout: lockTryMs }
    return retryWhileBusy(() => wrapSqliteErrors(displayName, () => openDatabase(path, options, toSnapshot)))
  }

  async read<T>(steps: () => Steps<T>): Promise<T> {
    return this.#run(steps)
  }

  #run<T>(steps: () => Steps<T>): T {
    try {
      return wrapSqliteErrors(this.name, () => this.#runner.run(steps()), this.#database)
    } catch (error) {
      throw this.#addFileName(error)
    }
  }

  /** Adds the file name to an error about a damaged event, which lacks it. */
  #addFileName(error: unknown): unknown {
    if (!hasCode(error, 'CORRUPT')) return error
    const name = `"${this.name}"`
    if (error.message.includes(name)) return error
    const { hint, message } = error
    return new AverbaError('CORRUPT', `Cannot read ${name}: ${message}`, {
      cause: error,
      path: this.name,
      ...(hint !== undefined && { hint }),
    })
  }

  #pragma(name: string): readonly Record<string, unknown>[] {
    return wrapSqliteErrors(this.name, () => this.#database.prepare(`pragma ${name}`).all())
  }

  #pragmaValue(name: string): unknown {
    return wrapSqliteErrors(this.name, () => readValue(this.#database, `pragma ${name}`))
  }

  findCutOff(): string | undefined {
    const pageBytes = Number(this.#pragmaValue('page_size'))
    return isCutOff(this.#path, pageBytes) ? 'it ends within a page: it was cut off' : undefined
  }

  async findFaults(): Promise<readonly MediumFault[]> {
    const found = this.#pragma('integrity_check(10)').map(row => String(row.integrity_check))
    const damage = found.filter(each => each !== 'ok').map(fault => ({ check: 'file' as const, fault }))
    const cutOff = this.findCutOff()
    const references = this.#pragma('foreign_key_check').map(({ table, parent }) => {
      return { check: 'references' as const, fault: `a row of "${table}" refers to a missing row of "${parent}"` }
    })
    const hidden = damage.length > 0 ? [] : this.#findHidden()
    return [
      ...damage,
      ...(cutOff === undefined ? [] : [{ check: 'file' as const, fault: cutOff }]),
      ...references,
      ...hidden,
    ]
  }

  /** averba writes no NUL. Node 22 and Deno read a text only up to one, and every check with them. */
  #findHidden(): MediumFault[] {
    return tableNames.flatMap(table => {
      const texts = this.#pragma(`table_info("${table}")`).filter(
        column => String(column.type).toLowerCase() === 'text',
      )
      const select = texts.map(({ name }) => `select 1 from "${table}" where instr("${name}", char(0)) > 0`)
      if (select.length === 0) return []
      const found = wrapSqliteErrors(this.name, () =>
        readValue(this.#database, `${select.join(' union all ')} limit 1`),
      )
      return found === undefined ? [] : [{ check: 'file', fault: `a text in "${table}" has a NUL, and bytes after it` }]
    })
  }

  async readSize(): Promise<MediumSize> {
    const wal = statSync(`${this.#path}-wal`, { throwIfNoEntry: false })
    const bytesOf = (pages: string) => Number(this.#pragmaValue(pages)) * Number(this.#pragmaValue('page_size'))
    const freeBytes = bytesOf('freelist_count')
    const heldBytes = bytesOf('page_count') - freeBytes
    return { fileBytes: statSync(this.#path).size, heldBytes, walBytes: wal?.size ?? 0, freeBytes }
  }

  async readSettings(): Promise<Record<string, unknown>> {
    const names = ['journal_mode', 'page_size', ...Object.keys(requiredPragmas)]
    return Object.fromEntries(names.map(name => [name, this.#pragmaValue(name)]))
  }

  /** Copies it page by page to an empty file. The copy has no write-ahead log. Errors use `displayName`. */
  async copyTo(
    path: string,
    displayName: string,
    onProgress: (done: number, pages: number) => void = () => undefined,
  ): Promise<void> {
    const progress = ({ totalPages, remainingPages }: BackupProgressInfo) =>
      onProgress(totalPages - remainingPages, totalPages)
    // This connection has an open transaction, so other writers do not make the copy start again.
    await loadSqlite()
      .backup(this.#database, resolve(path), { rate: copyPages, progress })
      .catch(cause =>
        wrapSqliteErrors(displayName, () => {
          throw cause
        }),
      )
    wrapSqliteErrors(displayName, () => {
      openDatabase(path, {}, copy => {
        run(copy, 'pragma journal_mode = delete')
        copy.close()
      })
    })
  }

  async close(): Promise<void> {
    this.#runner.forget()
    if (this.#database.isOpen) this.#database.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** A missing file. A keyring at its place shows that a log was lost. */
function notFoundError(path: string, displayName: string): AverbaError {
  const hint = existsSync(keyringPath(path))
    ? 'Its keyring is there: restore a backup with averba restore, or move the keyring away to start a new log'
    : 'Name the file of a log, or a backup of one'
  return new AverbaError('NOT_FOUND', `Cannot open "${displayName}": it does not exist`, { hint })
}
