import { expect, test } from 'vitest'
import { AverbaError, recordable } from '../src/errors.ts'

test.each([
  ['Cannot use "/var/lib/acme/log.sqlite": the disk is full', 'Cannot use "…": the disk is full'],
  ['Cannot use "C:\\acme\\log.sqlite": it is locked', 'Cannot use "…": it is locked'],
  [
    'Cannot open the keyring "\\\\acme\\keys": it is not there',
    'Cannot open the keyring "…": it is not there',
  ],
  [
    'Cannot open "validation-1/1/claims": its key is gone',
    'Cannot open "validation-1/1/claims": its key is gone',
  ],
  ['Cannot get the passphrase: the function that gives it failed', undefined],
])('of "%s" nothing is recorded that says where a file stands', (message, recorded = message) => {
  expect(recordable(new AverbaError('STORE_UNSAFE', message))).toBe(recorded)
})
