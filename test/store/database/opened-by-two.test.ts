import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { migrationsFrom } from '../../../src/store/database/migrations.ts'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'

test('a file in which another process makes its log while it is opened is not taken for a strange one', async () => {
  const path = temporaryStore()
  const real = DatabaseSync.prototype.prepare
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  let isMade = false
  prepare.mockImplementation(function (this: DatabaseSync, sql: string) {
    if (!isMade && sql.includes('sqlite_schema')) {
      isMade = true
      const other = new Sqlite(path)
      other.exec(migrationsFrom(0, 'sqlite').join(';'))
      other.close()
    }
    return real.call(this, sql)
  })
  const connection = await openSqlite(path)
  expect(isMade).toBe(true)
  await connection.close()
  prepare.mockRestore()
})
