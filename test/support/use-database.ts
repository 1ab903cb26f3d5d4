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
