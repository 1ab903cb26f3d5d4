import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { wrapSqliteErrors } from '../../../src/store/database/sqlite-errors.ts'

test.each([
  // A file system without any room, whatever is on the machine.
  ['/proc/log.sqlite', 'the disk is full'],
  [join(tmpdir(), 'log.sqlite'), 'the disk failed'],
])('where SQLite only says that %s failed, it is told whether there is room: %s', (path, why) => {
  const fails = () => {
    throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_SHMSIZE' })
  }
  const told = { code: 'STORE_UNSAFE', message: `Cannot use "${path}": ${why}` }
  expect(() => wrapSqliteErrors(path, fails)).toThrow(expect.objectContaining(told))
})
