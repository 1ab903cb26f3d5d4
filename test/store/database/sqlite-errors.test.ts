import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { wrapSqliteErrors } from '../../../src/store/database/sqlite-connection.ts'

test.each([
  // /proc never has free space.
  ['/proc/log.sqlite', 'the disk is full'],
  [join(tmpdir(), 'log.sqlite'), 'the disk failed'],
])('an I/O error on %s tells a full disk from a failed one: %s', (path, why) => {
  const fails = () => {
    throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 4874 })
  }
  const error = { code: 'STORE_UNSAFE', message: `Cannot use "${path}": ${why}` }
  expect(() => wrapSqliteErrors(path, fails)).toThrow(expect.objectContaining(error))
})
