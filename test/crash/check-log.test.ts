import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { tamper } from '../support/use-database.ts'
import { checkLog } from './check-log.ts'
import { type AcknowledgedMessage, createAppend, openStore, parseMessages } from './load.ts'
import { logName, Scratch } from './scratch.ts'

const scratch = new Scratch()
const template = scratch.folder()
const acknowledged: AcknowledgedMessage[] = []

beforeAll(async () => {
  const store = await openStore(join(template, logName), 1)
  const append = async (_: unknown, n: number) => {
    const commandId = `c${n}`
    const appended = await store.append(createAppend(store, commandId, [{ stream: `token-${n % 7}`, expect: 'any' }]))
    if (appended.status !== 'appended') throw new TypeError('Cannot create the log of the test')
    acknowledged.push({ type: 'acknowledged', commandId, events: appended.events })
  }
  await Promise.all(Array.from({ length: 300 }, append))
  await store.close()
})

afterAll(() => scratch.remove())

/** Copies the log and damages the copy. The high-water mark is removed, so that the file itself must show the damage. */
function damagedCopy(damage: (path: string) => void = () => undefined): string {
  const path = join(scratch.folder(template), logName)
  rmSync(`${path}.mark`)
  damage(path)
  return path
}

const checkDamaged = (sql: string) =>
  checkLog(
    damagedCopy(path => tamper(path, sql)),
    acknowledged,
  )

test('an undamaged log has no findings', async () => {
  expect(await checkLog(damagedCopy(), acknowledged)).toEqual({ lost: [], corrupt: [] })
})

test('a missing or different acknowledged event is reported as lost', async () => {
  const tables = ['part', 'effect', 'event'].map(table => `delete from ${table} where position = 301`)
  const deleted = await checkDamaged(tables.join('; '))
  expect(deleted.corrupt).toEqual([])
  expect(deleted.lost).toHaveLength(acknowledged.length)
  const swapped = acknowledged.map((each, i) => (i === 9 ? { ...each, commandId: 'another' } : each))
  expect((await checkLog(damagedCopy(), swapped)).lost).toEqual(['token-2/2 at 11'])
})

test.each([
  ['a header', "update event set header = replace(header, '2030', '2031') where position = 9", 'the leaf at 9'],
  ['a subtree', 'update subtree set hash = randomblob(32)', 'was changed, or written to without its keys'],
  ['a receipt', "update receipt set position = 5 where command_id = 'c9'", 'the receipt of c9'],
  ['a missing receipt', "delete from receipt where command_id = 'c299'", 'has another answer now'],
  ['a missing part', 'delete from part where position = 9', 'the part of c7 differs'],
  ['an index entry', "update keyed_index set value = 'x' where value = 'c9'", 'an entry was changed or moved'],
  ['a row of a view', 'update tokens set requests = requests + 1', '7 rows of tokens'],
  ['a stopped view', "update head set views = ''; update projection set position = 9", 'rows of tokens'],
])('damage is found: %s', async (_, damage, finding) => {
  expect((await checkDamaged(damage)).corrupt.join('; ')).toContain(finding)
})

test('a command that was written twice is found', async () => {
  const path = damagedCopy()
  const store = await openStore(path, 2)
  const { receipt, indexEntries, ...again } = createAppend(store, 'c9', [{ stream: 'token-x', expect: 'none' }])
  await store.append(again)
  await store.close()
  expect((await checkLog(path, acknowledged)).corrupt.join('; ')).toContain('the command c9 has 2 events instead of 1')
})

test('a log that does not open counts as completely lost', async () => {
  const path = damagedCopy(path => rmSync(`${path}.keys`))
  const missing = await checkLog(path, acknowledged)
  expect(missing.corrupt).toEqual([expect.stringContaining('KEYS_MISSING')])
  expect(missing.lost).toHaveLength(300)
})

test('a full disk is an error with a code, and acknowledged events are kept', async () => {
  const path = join(scratch.folder(), logName)
  const load = join(import.meta.dirname, 'load-store.ts')
  const options = JSON.stringify({ path, seed: 1, callers: 1, appends: 200 })
  // The limit counts blocks of 512 or 1024 bytes.
  const limited = ['-c', 'ulimit -f 800; exec "$0" "$1" "$2"', process.execPath, load, options]
  const messages = parseMessages(execFileSync('sh', limited, { encoding: 'utf8' }))
  const done = messages.filter(each => each.type === 'acknowledged')
  expect(done.length).toBeGreaterThan(0)
  expect(messages).toContainEqual({ type: 'failed', code: 'STORE_UNSAFE' })
  const broken = messages.flatMap(each => (each.type === 'broken' ? [each.what] : []))
  expect(new Set(broken)).toEqual(new Set(['it failed repeatedly']))
  expect(await checkLog(path, done)).toEqual({ lost: [], corrupt: [] })
})
