import { existsSync, rmSync, statSync } from 'node:fs'
import { applicationId, loadSqlite } from './sqlite.ts'

/**
 * Takes away a file that holds nothing, not even a table: what an opening left of a log that was lost, or of one that was
 * never begun. It would be in the way of the backup that takes its place. Anything else stays.
 */
export async function removeStub(path: string): Promise<void> {
  if (!existsSync(path) || existsSync(`${path}-journal`)) return
  // What stands in its journal may be all that there is.
  if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  if (!(await isEmpty(path))) return
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
}

async function isEmpty(path: string): Promise<boolean> {
  const Sqlite = await loadSqlite()
  try {
    const database = new Sqlite(path, { readonly: true, fileMustExist: true })
    try {
      const id = database.pragma('application_id', { simple: true })
      const tables = database.prepare('select count(*) from sqlite_schema').pluck().get()
      return tables === 0 && (id === applicationId || id === 0)
    } finally {
      database.close()
    }
  } catch {
    // No database, or nothing that can be read: whatever it is, it is somebody's.
    return false
  }
}
