import { openDatabase, run } from '../src/store/database/sqlite-driver.ts'

/** Copies an open log for better-sqlite3: a second SQLite in a process drops the locks of the first on the same file. */
export function copyLog(path: string): string {
  const copy = `${path}.copy`
  openDatabase(path, { readOnly: true }, database => {
    run(database, `vacuum into '${copy}'`)
    database.close()
  })
  return copy
}
