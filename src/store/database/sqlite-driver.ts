import { resolve } from 'node:path'
import type { DatabaseSync, DatabaseSyncOptions } from 'node:sqlite'
import { AverbaError } from '../../vocabulary/errors.ts'
import { requireNode } from '../../vocabulary/node-version.ts'

// SQLite as Node and Deno bring it.

export const inMemory = ':memory:'

/** Kibibytes of pages that a connection keeps: SQLite's own default is an eighth of it. */
const cacheKib = 16_000

/** Opens a file, and closes it when `use` fails. Loads SQLite on first use. */
export function openDatabase<T>(path: string, options: DatabaseSyncOptions, use: (database: DatabaseSync) => T): T {
  requireNode()
  const { DatabaseSync } = loadSqlite()
  // As an absolute path: SQLite takes a name that begins with "file:" for an address with options.
  const database = new DatabaseSync(path === inMemory ? path : resolve(path), options)
  try {
    run(database, `pragma cache_size = -${cacheKib}`)
    return use(database)
  } catch (error) {
    database.close()
    throw error
  }
}

/**
 * Not imported: test runners and bundlers that do not know the module would look for a package.
 *
 * @throws {AverbaError} `MISCONFIGURED` when this process runs without it
 */
export function loadSqlite(): typeof import('node:sqlite') {
  const sqlite: typeof import('node:sqlite') | undefined = process.getBuiltinModule('node:sqlite')
  if (sqlite) return sqlite
  const hint = 'Start it without --no-experimental-sqlite'
  throw new AverbaError('MISCONFIGURED', 'averba needs node:sqlite, and this process runs without it', { hint })
}

/** What is used of a prepared statement: parameters come from compiled queries, which do not name their types. */
export interface Prepared {
  readonly sourceSQL: string
  all(...parameters: unknown[]): Record<string, unknown>[]
  run(...parameters: unknown[]): unknown
}

/** Prepares a statement. Node 22 binds empty bytes that came from SQLite as null: it gets others in their place. */
export function prepare(database: DatabaseSync, sql: string): Prepared {
  const statement = prepareLists(database, sql)
  const columns = statement.columns().map(({ name }) => name)
  losesEmptyBytes ??= findsEmptyBytesLost()
  const bound = (parameters: unknown[]) => (losesEmptyBytes ? parameters.map(withOwnBytes) : parameters)
  return {
    sourceSQL: statement.sourceSQL,
    all: (...parameters) => statement.all(...bound(parameters)).map(row => toObject(columns, row)),
    run: (...parameters) => statement.run(...bound(parameters)),
  }
}

function toObject(columns: readonly string[], row: { readonly [column: number]: unknown }): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (const [i, name] of columns.entries()) object[name] = row[i]
  return object
}

/** A statement whose rows are lists: SQLite's own objects have no prototype, and take twice the time. */
interface PreparedLists {
  readonly sourceSQL: string
  columns(): readonly { readonly name: string }[]
  all(...parameters: unknown[]): readonly { readonly [column: number]: unknown }[]
  run(...parameters: unknown[]): unknown
}

function prepareLists(database: DatabaseSync, sql: string): PreparedLists {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement
}

let losesEmptyBytes: boolean | undefined

/** Tries it, since a later Node 22 may have it mended. */
function findsEmptyBytesLost(): boolean {
  const { DatabaseSync } = loadSqlite()
  using database = new DatabaseSync(inMemory)
  const [empty] = readColumn(database, "select x''")
  const [row] = prepareLists(database, 'select typeof(?)').all(empty)
  return row?.[0] !== 'blob'
}

const withOwnBytes = (value: unknown) =>
  ArrayBuffer.isView(value) && value.byteLength === 0 ? new Uint8Array(0) : value

/** Runs one statement. On Deno the errors of `exec` have no code of SQLite. */
export function run(database: DatabaseSync, sql: string): void {
  database.prepare(sql).run()
}

/** Reads the first column of a query or pragma. */
export function readColumn(database: DatabaseSync, sql: string): unknown[] {
  return prepareLists(database, sql)
    .all()
    .map(row => row[0])
}

/** Reads the first column of the first row. */
export function readValue(database: DatabaseSync, sql: string): unknown {
  return readColumn(database, sql)[0]
}

/** SQLite's result codes that averba tells apart. @see https://sqlite.org/rescode.html */
export const sqliteCodes = {
  error: 1,
  perm: 3,
  busy: 5,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  protocol: 15,
  tooBig: 18,
  mismatch: 20,
  auth: 23,
  range: 25,
  notDatabase: 26,
} as const

/** The file ended early, or the file system says that it is damaged. */
const shortRead = 522
const corruptFile = 8458

/** Deno gives no number when it cannot open a file or make a backup. */
const messages = [
  [/^unable to open database file/, sqliteCodes.cannotOpen],
  [/^database or disk is full/, sqliteCodes.full],
  [/^file is not a database/, sqliteCodes.notDatabase],
  [/^database is locked/, sqliteCodes.busy],
  [/^disk I\/O error/, sqliteCodes.ioError],
] as const

/** The primary result code of an error of SQLite; `undefined` for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR')) return undefined
  const extended = 'errcode' in error ? error.errcode : undefined
  if (typeof extended !== 'number') return messages.find(([pattern]) => pattern.test(error.message))?.[1]
  return extended === shortRead || extended === corruptFile ? sqliteCodes.corrupt : extended & 0xff
}
