import Sqlite, { type Database } from 'better-sqlite3'

/** Opens a database file as another program would, works on it, and closes it. */
export function useDatabase<T>(path: string, work: (database: Database) => T): T {
  const database = new Sqlite(path)
  try {
    return work(database)
  } finally {
    database.close()
  }
}
