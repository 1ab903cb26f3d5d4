import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Verdict, verifyLog } from '../../../src/index.ts'
import { averba, averbaJson, expectFailure, expectJson, expectOutput } from '../../support/command-line.ts'
import { configFile } from '../../support/config-file.ts'
import { changeBundle, exportOther, exportSample, forgeries } from '../../support/exported-logs.ts'
import { copyStore } from '../../support/sample-store.ts'
import { temporaryFolder, temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine } from '../../support/world.ts'

const { store, bundle, key } = await exportSample()

test('a bundle is verified by averba: self-consistent alone, held with a kept checkpoint', async () => {
  const alone = await expectOutput(averba('verify', bundle), 'level        self-consistent', 3)
  expect(alone.out).toContain('That its key belongs to its owner')
  const verdict: Verdict = await averbaJson('verify', bundle, '--key', key, '--mark', `${store}.mark`)
  expect(verdict).toMatchObject({ level: 'held', faults: [], erasedParts: 0 })
  expect(verdict.unproven.join(' ')).not.toContain('That its key is')
  expect((await verifyLog({ store })).root).toBe(verdict.root)
  await expectFailure(averba('verify', temporaryFolder()), /^NOT_OURS: .* holds no export of a log\n/)
  await expectFailure(averba('export', '--store', store, '--dir', bundle), 'INVALID_INPUT')
})

test('a replay says how much it repeated, and one of nothing has not succeeded', async () => {
  await expectOutput(averba('replay', '--store', store), 'All results are equal')
  await expectOutput(averba('replay', '--store', store, '--until', '0'), 'Nothing was repeated: look at --until', 1)
})

test.each(forgeries)('a bundle is broken with %s', async (_, file, change) => {
  const { level, faults } = await verifyLog({ store: changeBundle(bundle, file, change) })
  expect(level).toBe('broken')
  expect(faults.length).toBeGreaterThan(0)
})

test('a bundle with an unusable answer of an anchor reports it, and is not broken', async () => {
  const dir = changeBundle(bundle, 'checkpoints.ndjson', text => text.replace(/\}\n/, ',"anchor":"*"}\n'))
  const ignored = /^ignored {6}anchors: 1\n +the answer of the anchor for checkpoint 1 is not base64\n/m
  await expectOutput(averba('verify', dir), ignored, 3)
})

test('a bundle is broken when it does not belong to the log of the given key', async () => {
  const dir = await exportOther()
  expect(await verifyLog({ store: dir, keys: [key] })).toMatchObject({ level: 'broken' })
  expect(await verifyLog({ store: dir, mark: `${store}.mark` })).toMatchObject({ level: 'broken' })
})

test.each([
  ['parts.ndjson', 'a folder', mkdirSync],
  ['leaves.ndjson', 'a pipe', (path: string) => execFileSync('mkfifo', [path])],
  ['key', 'a device', (path: string) => symlinkSync('/dev/zero', path)],
])('a bundle whose %s is %s gives an error, and no verdict', async (file, _, make) => {
  const dir = join(temporaryFolder(), 'bundle')
  cpSync(bundle, dir, { recursive: true })
  rmSync(join(dir, file))
  make(join(dir, file))
  const error = { code: 'STORE_UNSAFE', message: expect.stringContaining(`${file}": it is not a file`) }
  await expect(verifyLog({ store: dir })).rejects.toMatchObject(error)
  await expectFailure(averba('verify', dir), /^STORE_UNSAFE: /)
})

test('averba verify reports the level of a store, with its exit code, and what is not proven', async () => {
  await expectOutput(averba('verify', '--store', store), /level {8}held[\s\S]*This does not prove:/)
  await expectOutput(averba('verify', '--key', key, '--store', store), 'No key of a witness was given.')
  const unmarked = copyStore(store)
  expect((await averba('verify', '--store', unmarked)).code).toBe(3)
  writeFileSync(`${unmarked}.mark`, 'junk')
  await expectOutput(averba('verify', '--store', unmarked), 'FAULT        mark', 2)
  copyFileSync(`${store}.mark`, `${unmarked}.mark`)
  // Evidence that is none says nothing about the log.
  for (const [end, words] of [
    ['.keys', /^INVALID_INPUT: .* it is not a signed checkpoint\n/],
    ['.nowhere', /^NOT_FOUND: Cannot compare the log with/],
  ] as const)
    await expectFailure(averba('verify', '--store', unmarked, '--mark', store + end), words)
  expect((await averba('verify', '--store', `${store}.nowhere`)).code).toBe(1)
  expect((await averba('verify', '--store', store, '--key', 'x')).code).toBe(1)
})

test('averba verify says how a log is named, and takes the one of the configuration', async () => {
  const named = /^INVALID_INPUT: Cannot verify ".*": it is neither a bundle nor a proof\n.* --store \S+\n$/
  await expectFailure(averba('verify', store), named)
  const page = join(temporaryFolder(), 'page.html')
  for (const text of ['<!doctype html>', '{"format":"averba erasure 1"}', '{"format":"averba consent report 1"}']) {
    writeFileSync(page, text)
    await expectFailure(averba('verify', page), 'it is a receipt or a report\ncheckErasureReceipt checks a receipt')
  }
  const config = ['--config', configFile({ store })]
  await expectOutput(averba('verify', ...config), 'level        held')
  await expectOutput(averba('prove', '1', ...config), 'c2sp.org/tlog-proof@v1')
  await expectOutput(averba('replay', ...config), 'All results are equal')
  const copied = join(temporaryFolder(), 'copy.sqlite')
  await expectOutput(averba('backup', copied, ...config), copied)
  const empty = join(temporaryFolder(), 'averba.config.ts')
  writeFileSync(empty, 'export default {}')
  await expectFailure(averba('verify', '--config', empty), 'it names no store')
})

test('averba verify compares the log with the mark of the configuration', async () => {
  const text = readFileSync(`${store}.mark`, 'utf8')
  const copy = copyStore(store)
  const highWaterMark = { read: async () => text, write: async () => undefined }
  expect((await averba('verify', '--config', configFile({ store: copy }))).code).toBe(3)
  // No file of its own is left beside a log whose host keeps the mark.
  const dir = join(temporaryFolder(), 'bundle')
  for (const words of [['verify'], ['replay'], ['export', '--dir', dir]])
    expect((await averba(...words, '--config', configFile({ store: copy, highWaterMark }))).code, words[0]).toBe(0)
  expect(existsSync(`${copy}.mark`)).toBe(false)
})

test('averba verify finds what keeps the log from being opened: a foreign trigger', async () => {
  const copy = copyStore(store)
  useDatabase(copy, database => database.exec('create trigger z after insert on event begin delete from part; end'))
  const fault = /FAULT {8}schema: 1\n +the log cannot be opened: .*trigger "z"/
  await expectOutput(averba('verify', '--store', copy), fault, 2)
})

test('averba verify and doctor say of the keyring of another log only that it is', async () => {
  const [copy, other] = [copyStore(store), temporaryStore()]
  await (await openEngine({ store: other })).close()
  copyFileSync(`${other}.keys`, `${copy}.keys`)
  expect((await expectJson(2, 'verify', '--store', copy)).faults).toMatchObject([{ check: 'keys', count: 1 }])
  expect((await expectJson(1, 'doctor', '--store', copy, '--deep')).problems).toEqual([
    'keys: the keyring belongs to another log',
  ])
})

test('averba verify fails without a verdict when it cannot read the keyring', async () => {
  const copy = copyStore(store)
  rmSync(`${copy}.keys`)
  mkdirSync(`${copy}.keys`)
  await expectFailure(averba('verify', '--store', copy), /^STORE_UNSAFE: Cannot read ".*\.keys": EISDIR\n/)
})
