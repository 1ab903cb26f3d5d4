import { existsSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { AverbaError } from '../../vocabulary/errors.ts'
import { keyringPath } from '../../vocabulary/names.ts'
import { first, type Steps } from './connection.ts'
import { migrations } from './migrations.ts'
import { applicationId, loadSqlite, promisedPragmas } from './sqlite.ts'
import { guarded } from './sqlite-errors.ts'
import { SqliteRunner } from './sqlite-runner.ts'

const openTimeoutMs = 2_000
/** How many pages are copied in one go: 2 MB take a few milliseconds, and then the event loop turns. */
const copyPages = 500

/**
 * A store as it stood at one moment, on a connection that cannot write to it. Engines go on meanwhile; until it
 * is closed, their write-ahead log cannot be cut back.
 *
 * The file is opened through SQLite only: closing any other descriptor of it would drop the locks that an engine
 * in this process holds.
 */
export class Snapshot {
  readonly path: string
  readonly #named: string
  readonly #database: Database
  readonly #runner: SqliteRunner

  private constructor(path: string, named: string, database: Database) {
    this.path = path
    this.#named = named
    this.#database = database
    this.#runner = new SqliteRunner(database)
  }

  /**
   * Opens a store or a backup of one. Errors call it `named`, for a file that has its present name only for a while.
   *
   * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
   */
  static async open(path: string, named = path): Promise<Snapshot> {
    const Sqlite = await loadSqlite()
    if (!existsSync(path)) throw notThere(path, named)
    return guarded(named, () => {
      const database = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: openTimeoutMs })
      try {
        const id = database.pragma('application_id', { simple: true })
        // First of all: of a file that is cut off within its head, this says that it is damaged.
        const tables = database.prepare('select count(*) from sqlite_schema').pluck().get()
        if (id !== applicationId)
          throw new AverbaError('NOT_OURS', `Cannot open "${named}": it is not a log of averba`, {
            hint: 'Name the file of a log, or a backup of one',
          })
        if (tables === 0) {
          throw new AverbaError('NOT_FOUND', `Cannot open "${named}": the file holds no log`, {
            hint: 'Restore a backup where a log was: averba restore',
          })
        }
        for (const [name, value] of Object.entries(promisedPragmas)) database.pragma(`${name} = ${value}`)
        const snapshot = new Snapshot(path, named, database)
        database.exec('begin')
        snapshot.run(() => checkSchema(named))
        return snapshot
      } catch (error) {
        database.close()
        throw error
      }
    })
  }

  /** Runs steps on the snapshot. Tables that it makes are temporary. */
  run<T>(steps: () => Steps<T>): T {
    try {
      return guarded(this.#named, () => this.#runner.run(steps()), this.#database)
    } catch (error) {
      throw this.#naming(error)
    }
  }

  /** Names the file in an error about a damaged event, which does not know it. */
  #naming(error: unknown): unknown {
    if (!(error instanceof AverbaError) || error.code !== 'CORRUPT') return error
    const name = `"${this.#named}"`
    if (error.message.includes(name)) return error
    const { hint, message } = error
    return new AverbaError('CORRUPT', `Cannot read ${name}: ${message}`, {
      cause: error,
      path: this.#named,
      ...(hint !== undefined && { hint }),
    })
  }

  /** Asks SQLite about the file. */
  pragma(question: string): readonly Record<string, unknown>[] {
    return guarded(this.#named, () => this.#database.pragma(question) as Record<string, unknown>[]) // Rows, by column.
  }

  /**
   * Copies it page by page to a file that is empty; the copy is a single file, without a write-ahead log. Errors call
   * the copy by its later name.
   */
  async copyTo(
    path: string,
    named: string,
    onProgress: (done: number, pages: number) => void = () => undefined,
  ): Promise<void> {
    try {
      // A transaction is open on this connection, so that other writers do not make the copy start again.
      await this.#database.backup(path, {
        progress({ totalPages, remainingPages }) {
          onProgress(totalPages - remainingPages, totalPages)
          return copyPages
        },
      })
    } catch (cause) {
      guarded(named, () => {
        throw cause
      })
    }
    const Sqlite = await loadSqlite()
    guarded(named, () => {
      const copy = new Sqlite(path, { fileMustExist: true })
      try {
        copy.pragma('journal_mode = delete')
      } finally {
        copy.close()
      }
    })
  }

  close(): void {
    this.#runner.forget()
    this.#database.close()
  }
}

/** A keyring without its store: a log that was lost. */
function notThere(path: string, named: string): AverbaError {
  const hint = existsSync(keyringPath(path))
    ? 'Its keyring is there: restore a backup with averba restore, or move the keyring away to begin a new log'
    : 'Name the file of a log, or a backup of one'
  return new AverbaError('NOT_FOUND', `Cannot open "${named}": it is not there`, { hint })
}

function* checkSchema(path: string): Steps<void> {
  const head = yield* first<{ schema: number }>({ sql: 'select schema from head', parameters: [] })
  const { length: newest } = migrations
  if (head && head.schema <= newest) return
  const cannot = `Cannot open "${path}": its tables are of version ${head?.schema ?? 'unknown'}, and this is ${newest}`
  throw new AverbaError('NOT_OURS', cannot, { hint: 'Update averba' })
}
