import { existsSync, rmSync, statSync } from 'node:fs'
import { applicationId, loadSqlite } from '../database/sqlite.ts'

/**
 * Removes a file that holds nothing, not even a table: opening a lost log, or one that was never begun, leaves such a
 * file, and it would be in the way of the backup. Anything else stays.
 */
export async function removeStub(path: string): Promise<void> {
  if (!existsSync(path) || existsSync(`${path}-journal`)) return
  // Its journal may hold all that there is.
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
    // Not a database, or unreadable: whatever it is, it is not ours to remove.
    return false
  }
}
