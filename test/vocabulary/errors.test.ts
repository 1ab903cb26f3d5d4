import { expect, test } from 'vitest'
import { AverbaError, recordableMessage } from '../../src/vocabulary/errors.ts'

test.each(['/var/lib/acme/log.sqlite', 'C:\\acme\\log.sqlite', 'data/log.sqlite', '/srv/a "new" disk/log.sqlite'])(
  'the path %s is in the message but not in the recorded text',
  path => {
    const message = `Cannot use "${path}": the disk is full`
    const error = new AverbaError('STORE_UNSAFE', message, { path })
    expect([error.message, recordableMessage(error)]).toEqual([message, 'Cannot use "…": the disk is full'])
  },
)

test('a message without a path is recorded unchanged', () => {
  const message = 'Cannot open "validation-1/1/claims": its header names another record key'
  expect(recordableMessage(new AverbaError('KEYS_MISMATCH', message))).toBe(message)
})
