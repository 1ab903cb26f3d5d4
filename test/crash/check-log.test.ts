import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkLog } from './check-log.ts'
import { type Acknowledged, appendOf, heard, openStore } from './load.ts'
import { logName, Scratch } from './scratch.ts'

const scratch = new Scratch()
const template = scratch.folder()
const acknowledged: Acknowledged[] = []

beforeAll(async () => {
  const store = await openStore(join(template, logName), 1)
  await Promise.all(
    Array.from({ length: 300 }, async (_, n) => {
      const commandId = `c${n}`
      const appended = await store.append(
        appendOf(store, commandId, [{ stream: `token-${n % 7}`, expect: 'any' }]),
      )
      if (appended.status !== 'appended') throw new TypeError('The log of the test is not whole')
      acknowledged.push({ said: 'acknowledged', commandId, events: appended.events })
    }),
  )
  await store.close()
})

afterAll(() => scratch.remove())

/** The same log once more, after something was done to its file. Without its mark: what the file itself tells is seen. */
function given(damage: (path: string) => void): string {
  const path = join(scratch.folder(template), logName)
  rmSync(`${path}.mark`)
  damage(path)
  return path
}

const sql = (text: string) => (path: string) => {
  const database = new Sqlite(path)
  database.pragma('foreign_keys = off')
  database.exec(`drop trigger event_no_update; drop trigger event_no_delete; ${text}`)
  database.close()
}

test('a whole log is found whole', async () => {
  expect(
    await checkLog(
      given(() => undefined),
      acknowledged,
    ),
  ).toEqual({ lost: [], corrupt: [] })
})

test('an acknowledged event that is not there is lost, and so is one that is another', async () => {
  // With all that belongs to it: a log that holds a part of an event beyond its end does not open.
  const tables = ['part', 'effect', 'event'].map(table => `delete from ${table} where position = 301`)
  const gone = await checkLog(given(sql(tables.join('; '))), acknowledged)
  expect(gone.lost).toEqual(['token-5/43 at 301'])
  const path = given(() => undefined)
  const swapped = acknowledged.map((each, i) => (i === 9 ? { ...each, commandId: 'another' } : each))
  expect((await checkLog(path, swapped)).lost).toEqual(['token-2/2 at 11'])
})

test.each([
  [
    'a header',
    "update event set header = replace(header, '2030', '2031') where position = 9",
    'the leaf at 9',
  ],
  ['a leaf', 'update event set leaf = randomblob(32) where position = 9', 'the tile 1/0 is not'],
  ['a tile', 'update tile set hashes = randomblob(32)', 'the tile 1/0 is not'],
  ['a tile that is gone', 'delete from tile', 'the last tile on level 1 does not match'],
  ['a version', 'update event set version = 99 where position = 301', 'says 99'],
  ['a type', "update event set type = 'x' where position = 9", 'the header at 9 is of another event'],
  ['a receipt', "update receipt set position = 5 where command_id = 'c9'", 'the receipt of c9'],
  ['a receipt that is gone', "delete from receipt where command_id = 'c299'", 'has another answer now'],
  ['an effect that is gone', 'delete from effect where position = 9', 'the effects are not'],
  ['a part that is gone', 'delete from part where position = 9', 'the parts are not'],
  ['a claim', "update keyed_index set value = 'x' where value = 'c9'", 'the claim of c9'],
  ['a row of a view', 'update tokens set requests = requests + 1', '7 rows of tokens'],
  [
    'a view that stands still',
    "update head set views = ''; update projection set position = 9",
    'rows of tokens',
  ],
])('damage is seen: %s', async (_, damage, finding) => {
  const { corrupt } = await checkLog(given(sql(damage)), acknowledged)
  expect(corrupt.join('; ')).toContain(finding)
})

test('a command that was written twice is seen', async () => {
  const path = given(() => undefined)
  const store = await openStore(path, 2)
  const { receipt, claims, ...again } = appendOf(store, 'c9', [{ stream: 'token-x', expect: 'none' }])
  await store.append(again)
  await store.close()
  expect((await checkLog(path, acknowledged)).corrupt.join('; ')).toContain(
    'the command c9 has 2 events instead of 1',
  )
})

test('a log that does not open has lost everything', async () => {
  const missing = await checkLog(
    given(path => rmSync(`${path}.keys`)),
    acknowledged,
  )
  expect(missing.corrupt).toEqual([expect.stringContaining('KEYS_MISSING')])
  expect(missing.lost).toHaveLength(300)
})

test('pages that were overwritten are seen', async () => {
  const torn = given(path => {
    const bytes = readFileSync(path)
    bytes.fill(0, 8 * 4096, bytes.length - 4096)
    writeFileSync(path, bytes)
  })
  expect((await checkLog(torn, acknowledged)).corrupt).not.toEqual([])
})

test('a disk that takes no more is an error with a code, and what was acknowledged stays', async () => {
  const path = join(scratch.folder(), logName)
  const load = join(import.meta.dirname, 'load-store.ts')
  const options = JSON.stringify({ path, seed: 1, callers: 1, appends: 200 })
  // The limit counts blocks of 512 or 1024 bytes.
  const limited = ['-c', 'ulimit -f 800; exec "$0" "$1" "$2"', process.execPath, load, options]
  const said = heard(execFileSync('sh', limited, { encoding: 'utf8' }))
  const done = said.filter(each => each.said === 'acknowledged')
  expect(done.length).toBeGreaterThan(0)
  expect(said).toContainEqual({ said: 'failed', code: 'STORE_UNSAFE' })
  const broken = said.flatMap(each => (each.said === 'broken' ? [each.what] : []))
  expect(new Set(broken)).toEqual(new Set(['it went on failing']))
  expect(await checkLog(path, done)).toEqual({ lost: [], corrupt: [] })
})
