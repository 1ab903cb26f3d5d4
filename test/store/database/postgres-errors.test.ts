import { expect, test } from 'vitest'
import { toAverbaError, toSetupError } from '../../../src/store/database/postgres-errors.ts'

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
