import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'
import { AverbaError, httpStatuses, recordableMessage } from '../../src/vocabulary/errors.ts'

const paths = ['/var/lib/acme/log.sqlite', 'C:\\acme\\log.sqlite', 'data/log.sqlite', '/srv/a "new" disk/log.sqlite']
test.each(paths)('the path %s is in the message but not in the recorded text', path => {
  const message = `Cannot use "${path}": the disk is full`
  const error = new AverbaError('STORE_UNSAFE', message, { path })
  expect([error.message, recordableMessage(error)]).toEqual([message, 'Cannot use "…": the disk is full'])
})

test('a message without a path is recorded unchanged', () => {
  const message = 'Cannot open "validation-1/1/claims": its header names another record key'
  expect(recordableMessage(new AverbaError('KEYS_MISMATCH', message))).toBe(message)
})

test('docs/start.md has the HTTP status of every code', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/start.md'), 'utf8')
  const rows = [...page.matchAll(/^\| (\d{3}) \| (.*) \|$/gm)]
  const shown = rows.flatMap(([, status, codes = '']) =>
    [...codes.matchAll(/`(\w+)`/g)].map(([, code = '']) => [code, Number(status)]),
  )
  const others = Object.entries(httpStatuses).filter(([, status]) => status === 500)
  expect(Object.fromEntries([...shown, ...others])).toEqual(httpStatuses)
  expect(shown.length).toBe(Object.keys(httpStatuses).length - others.length)
})
