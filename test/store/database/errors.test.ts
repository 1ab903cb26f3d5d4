import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { toAverbaError, toSetupError } from '../../../src/store/database/postgres-errors.ts'
import { wrapSqliteErrors } from '../../../src/store/database/sqlite-connection.ts'

const errorOf = (code: string | undefined, message = 'x') => Object.assign(new Error(message), code && { code })

// What waits to be recorded, such as a paid answer, is kept after STORE_BUSY and STORE_UNSAFE.
test.each([
  ['28P01', 'STORE_UNSAFE', 'MISCONFIGURED'],
  ['42501', 'STORE_UNSAFE', 'MISCONFIGURED'],
  ['ECONNREFUSED', 'STORE_BUSY', 'STORE_BUSY'],
  ['57014', 'STORE_BUSY', 'STORE_BUSY'],
  ['53100', 'STORE_UNSAFE', 'STORE_UNSAFE'],
  ['XX001', 'CORRUPT', 'CORRUPT'],
  ['23505', undefined, 'MISCONFIGURED'],
])('an error %s of an open log is %s, and while it is opened %s', (code, open, opening) => {
  expect(toAverbaError('the log', errorOf(code))?.code).toBe(open)
  expect(toSetupError('the log', errorOf(code))).toMatchObject({ code: opening, cause: { code } })
})

test('a time limit of the driver, which has no code, is passing', () => {
  const late = errorOf(undefined, 'timeout exceeded when trying to connect')
  expect(toAverbaError('the log', late)?.code).toBe('STORE_BUSY')
  const unreadable = errorOf(undefined, 'SASL: client password must be a string')
  expect(toSetupError('the log', unreadable)).toMatchObject({ code: 'MISCONFIGURED', hint: expect.any(String) })
})

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
