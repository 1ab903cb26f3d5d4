import Database from 'better-sqlite3'
import { expect, test, vi } from 'vitest'
import { migrationsFrom } from '../../../src/store/database/migrations.ts'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'

test('a file in which another process makes its log while it is opened is not taken for a strange one', async () => {
  const path = temporaryStore()
  const prepare = vi.spyOn(Database.prototype, 'prepare')
  prepare.mockImplementationOnce(function (this: Database.Database, sql: string) {
    const other = new Database(path)
    other.exec(migrationsFrom(0, 'sqlite').join(';'))
    other.close()
    return this.prepare(sql)
  })
  const connection = await openSqlite(path)
  expect(prepare).toHaveBeenCalled()
  await connection.close()
  prepare.mockRestore()
})
