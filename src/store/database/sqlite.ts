import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { resolveLinks } from '../../vault/durable-file.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { requireFile } from '../../vocabulary/file-errors.ts'
import type { Connection } from './connection.ts'
import { applicationId } from './migrations.ts'
import { readFileId } from './own-files.ts'
import { lockTryMs, retryWhileBusy, SqliteConnection, wrapSqliteErrors } from './sqlite-connection.ts'
import { inMemory, openDatabase, readValue, run } from './sqlite-driver.ts'

/**
 * Opens a SQLite file, or creates it.
 *
 * What SQLite falls back to depends on how it was built. So every required pragma is set, and read back after a write.
 *
 * @throws {AverbaError} `STORE_UNSAFE` when durability cannot be guaranteed, `NOT_OURS` when the file is not a database
 * of averba, `STORE_BUSY` when another process holds it, `CORRUPT` when it was cut off
 */
export async function openSqlite(path: string): Promise<Connection> {
  requireFile(path)
  if (path !== inMemory && !existsSync(dirname(path)))
    throw new AverbaError('STORE_UNSAFE', `Cannot open "${path}": its folder does not exist`)
  // SQLite waits for no lock while it changes a new file to WAL: another process may be doing the same.
  return retryWhileBusy(() => wrapSqliteErrors(path, () => openOnce(path)))
}

function openOnce(path: string): Connection {
  if (path !== inMemory) createEmptyFile(path)
  const id = readFileId(path)
  return openDatabase(path, { timeout: lockTryMs }, database => {
    // Before anything in it changes, even its journal mode.
    if (classifyFile(database) === 'foreign')
      throw new AverbaError('NOT_OURS', `Cannot open "${path}": it is not a log of averba`, {
        hint: 'Name the file of a log, or a file that does not exist yet to create a log',
      })
    if (path !== inMemory) checkNotCutOff(database, path)
    setPragmas(database, path, id)
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

/** Reads whether a file holds a log, nothing yet, or the tables of another program. */
export function classifyFile(database: DatabaseSync): 'log' | 'empty' | 'foreign' {
  // Before the mark: another process that makes the log meanwhile marks the file first.
  const tables = readValue(database, 'select count(*) from sqlite_schema')
  const id = readValue(database, 'pragma application_id')
  if (tables === 0 && (id === 0 || id === applicationId)) return 'empty'
  return id === applicationId ? 'log' : 'foreign'
}

function checkNotCutOff(database: DatabaseSync, path: string): void {
  const pageBytes = Number(readValue(database, 'pragma page_size'))
  if (!isCutOff(path, pageBytes)) return
  throw new AverbaError('CORRUPT', `Cannot open "${path}": the file was cut off`, {
    hint: 'Keep the file as it is, and restore a backup elsewhere',
  })
}

/** Whether a file ends within a page: SQLite would read zeros. Its write-ahead log may hold the rest. */
export function isCutOff(path: string, pageBytes: number): boolean {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const wal = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  return wal === 0 && size % pageBytes !== 0
}

function setPragmas(database: DatabaseSync, path: string, id: string | undefined): void {
  const mode = path === inMemory ? 'memory' : 'wal'
  run(database, `pragma journal_mode = ${mode}`)
  for (const [name, value] of Object.entries(requiredPragmas)) run(database, `pragma ${name} = ${value}`)
  run(database, 'pragma fullfsync = 1')
  // A checkpoint every 8 MB of write-ahead log: a page that changes often is then copied only once.
  run(database, 'pragma wal_autocheckpoint = 2000')
  markAsLog(database, path, id)
  const required = { ...requiredPragmas, journal_mode: mode }
  for (const [name, value] of Object.entries(required)) {
    const actual = readValue(database, `pragma ${name}`)
    if (actual === value) continue
    throw new AverbaError('STORE_UNSAFE', `Cannot open "${path}": ${name} is ${actual} instead of ${value}`, {
      hint: 'The store would lose acknowledged events on power loss. Put the file on a local disk',
    })
  }
}

/**
 * Marks a new file. For a marked one it only tests whether it is writable: it may still be refused. What is written
 * into a file that a restore has removed would be lost: it is opened anew.
 */
function markAsLog(database: DatabaseSync, path: string, id: string | undefined): void {
  const isMarked = readValue(database, 'pragma application_id') === applicationId
  run(database, 'begin immediate')
  try {
    if (readFileId(path) !== id) throw new AverbaError('STORE_BUSY', `Cannot open "${path}": it was replaced`, { path })
    run(database, `pragma application_id = ${applicationId}`)
    if (!isMarked) run(database, 'commit')
  } finally {
    if (database.isTransaction) run(database, 'rollback')
  }
}
