import type { DatabaseSyncOptions } from 'node:sqlite'
import { Sqlite } from './sqlite.ts'

/** Opens a database file as another program would, works on it, and closes it. */
export function useDatabase<T>(path: string, work: (database: Sqlite) => T, options?: DatabaseSyncOptions): T {
  const database = new Sqlite(path, options)
  try {
    return work(database)
  } finally {
    database.close()
  }
}

/** Changes events as the file's owner could: without the guards of the log, which are put back afterwards. */
export function withoutGuards<T>(database: Sqlite, work: () => T): T {
  const select = "select name, sql from sqlite_schema where type = 'trigger'"
  const guards = database.rows<{ name: string; sql: string }>(select)
  for (const { name } of guards) database.exec(`drop trigger "${name}"`)
  const result = work()
  for (const { sql } of guards) database.exec(sql)
  return result
}

/** Edits a closed log as the file's owner could: without its guards, and whatever refers to what. */
export function tamper(path: string, sql: string): void {
  useDatabase(path, database => {
    database.pragma('foreign_keys = off')
    withoutGuards(database, () => database.exec(sql))
  })
}
