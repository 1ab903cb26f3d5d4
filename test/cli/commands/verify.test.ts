import { copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { type Verdict, verifyLog } from '../../../src/index.ts'
import { averba, averbaJson, failedWith, printed } from '../../support/command-line.ts'
import { changeBundle, exportOther, exportSample, forgeries } from '../../support/exported-logs.ts'
import { copyStore } from '../../support/sample-store.ts'
import { temporaryFolder, temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine } from '../../support/world.ts'

let [store, bundle, key] = ['', '', '']
beforeAll(async () => {
  ;({ store, bundle, key } = await exportSample())
})

test('a bundle is verified by averba: self-consistent alone, held with a kept checkpoint', async () => {
  const alone = await averba('verify', bundle)
  expect(alone).toMatchObject(printed('level        self-consistent', 3))
  expect(alone.out).toContain('That its key belongs to its owner')
  const held = await averba('verify', bundle, '--key', key, '--mark', `${store}.mark`, '--json')
  expect(held.code).toBe(0)
  const verdict: Verdict = JSON.parse(held.out)
  expect(verdict).toMatchObject({ level: 'held', faults: [], erasedParts: 0 })
  expect(verdict.unproven.join(' ')).not.toContain('That its key is')
  expect((await verifyLog({ store })).root).toBe(verdict.root)
})

test('a replay says how much it repeated, and one of nothing has not succeeded', async () => {
  expect(await averba('replay', store)).toMatchObject(printed('All results are equal'))
  const nothing = printed('Nothing was repeated: look at --until and --against.', 1)
  expect(await averba('replay', store, '--until', '0')).toMatchObject(nothing)
})

test.each(forgeries)('a bundle is broken with %s', async (_, file, change) => {
  const { level, faults } = await verifyLog({ store: changeBundle(bundle, file, change) })
  expect(level).toBe('broken')
  expect(faults.length).toBeGreaterThan(0)
})

test('a bundle with an unusable answer of an anchor reports it, and is not broken', async () => {
  const dir = changeBundle(bundle, 'checkpoints.ndjson', text => text.replace(/\}\n/, ',"anchor":"*"}\n'))
  const ignored = /^ignored {6}anchors: 1\n +the answer of the anchor for checkpoint 1 is not base64\n/m
  expect(await averba('verify', dir)).toMatchObject(printed(ignored, 3))
})

test('a bundle is broken when it does not belong to the log of the given key', async () => {
  const dir = await exportOther()
  expect(await verifyLog({ store: dir, keys: [key] })).toMatchObject({ level: 'broken' })
  expect(await verifyLog({ store: dir, mark: `${store}.mark` })).toMatchObject({ level: 'broken' })
})

test.each(['parts.ndjson', 'key'])('a bundle whose %s cannot be read gives an error, and no verdict', async file => {
  const dir = join(temporaryFolder(), 'bundle')
  cpSync(bundle, dir, { recursive: true })
  rmSync(join(dir, file))
  mkdirSync(join(dir, file))
  const error = { code: 'STORE_UNSAFE', message: expect.stringContaining(`${file}": EISDIR`) }
  await expect(verifyLog({ store: dir })).rejects.toMatchObject(error)
  expect(await averba('verify', dir)).toMatchObject(failedWith(/^STORE_UNSAFE: /))
})

test('a bundle is reported as missing in another folder', async () => {
  const notOurs = failedWith(/^NOT_OURS: .* holds no export of a log\n/)
  expect(await averba('verify', temporaryFolder())).toMatchObject(notOurs)
})

test('a bundle does not overwrite another one', async () => {
  expect(await averba('export', store, '--dir', bundle)).toMatchObject(failedWith('INVALID_INPUT'))
})

test('averba verify reports the level of a store, with its exit code', async () => {
  const held = await averba('verify', store)
  expect(held).toMatchObject(printed('level        held'))
  expect(held.out).toContain('This does not prove:')
  const unmarked = copyStore(store)
  expect((await averba('verify', unmarked)).code).toBe(3)
  writeFileSync(`${unmarked}.mark`, 'junk')
  expect(await averba('verify', unmarked)).toMatchObject(printed('FAULT        mark', 2))
  copyFileSync(`${store}.mark`, `${unmarked}.mark`)
  // Evidence that is none says nothing about the log.
  const noMark = await averba('verify', unmarked, '--mark', `${store}.keys`)
  expect(noMark).toMatchObject(failedWith(/^INVALID_INPUT: .* it is not a signed checkpoint\n/))
  expect((await averba('verify', `${store}.nowhere`)).code).toBe(1)
  const nowhere = await averba('verify', unmarked, '--mark', `${store}.nowhere`)
  expect(nowhere).toMatchObject(failedWith('NOT_FOUND: Cannot compare the log with'))
  expect((await averba('verify', store, '--key', 'x')).code).toBe(1)
})

test('averba verify takes the store after a key, and says that no witness was given', async () => {
  const ended = await averba('verify', '--key', key, store)
  expect(ended).toMatchObject(printed('No key of a witness was given.'))
})

test('averba verify finds what keeps the log from being opened: a foreign trigger', async () => {
  const copy = copyStore(store)
  useDatabase(copy, database => database.exec('create trigger z after insert on event begin delete from part; end'))
  const fault = /FAULT {8}schema: 1\n +the log cannot be opened: .*trigger "z"/
  expect(await averba('verify', copy)).toMatchObject(printed(fault, 2))
})

test('averba verify and doctor say of the keyring of another log only that it is', async () => {
  const [copy, other] = [copyStore(store), temporaryStore()]
  await (await openEngine({ store: other })).close()
  copyFileSync(`${other}.keys`, `${copy}.keys`)
  expect((await averbaJson('verify', copy)).faults).toMatchObject([{ check: 'keys', count: 1 }])
  const { problems } = await averbaJson('doctor', copy, '--deep')
  expect(problems).toEqual(['keys: the keyring belongs to another log'])
})

test('averba verify fails without a verdict when it cannot read the keyring', async () => {
  const copy = copyStore(store)
  rmSync(`${copy}.keys`)
  mkdirSync(`${copy}.keys`)
  const unread = failedWith(/^STORE_UNSAFE: Cannot read ".*\.keys": EISDIR\n/)
  expect(await averba('verify', copy)).toMatchObject(unread)
})
