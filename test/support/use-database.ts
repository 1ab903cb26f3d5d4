import Sqlite, { type Database, type Options } from 'better-sqlite3'

/** Opens a database file as another program would, works on it, and closes it. */
export function useDatabase<T>(path: string, work: (database: Database) => T, options?: Options): T {
  const database = new Sqlite(path, options)
  try {
    return work(database)
  } finally {
    database.close()
  }
}

/** Changes events as the file's owner could: without the guards of the log, which are put back afterwards. */
export function withoutGuards<T>(database: Database, work: () => T): T {
  const select = "select name, sql from sqlite_schema where type = 'trigger'"
  const guards = database.prepare<[], { name: string; sql: string }>(select).all()
  for (const { name } of guards) database.exec(`drop trigger "${name}"`)
  const result = work()
  for (const { sql } of guards) database.exec(sql)
  return result
}
