import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { averba, averbaJson, expectFailure, expectOutput } from '../../support/command-line.ts'
import { exportOther, exportSample } from '../../support/exported-logs.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const { store, bundle, key } = await exportSample()
const verify = (file: string, ...more: string[]) => averba('verify', file, '--key', key, ...more)

test('the proof of one event verifies with its key only, and not when it is changed', async () => {
  const file = join(temporaryFolder(), 'event.tlog-proof')
  expect((await averba('prove', '--store', store, '100', '--out', file)).code).toBe(0)
  const { isProven, header } = await averbaJson('verify', file, '--key', key)
  expect(isProven).toBe(true)
  const { position, stream, version } = JSON.parse(header)
  expect(position).toBe(100)
  const text = readFileSync(file, 'utf8')
  expect((await averba('prove', '--store', store, `${stream}/${version}`)).out).toBe(text)

  for (const change of [
    (from: string) => from.replace('index 99', 'index 98'),
    (from: string) =>
      from.replace(/^extra \S+/m, `extra ${Buffer.from(header.replace('"at":"2', '"at":"3')).toString('base64')}`),
    (from: string) => from.replace(/\n\w/, '\nA'),
    (from: string) => from.replace(/^index 99\n.*\n/m, 'index 99\n'),
  ]) {
    expect(change(text)).not.toBe(text)
    writeFileSync(file, change(text))
    expect((await verify(file)).code).not.toBe(0)
  }
  writeFileSync(file, text)
  const foreign = readFileSync(join(await exportOther(), 'key'), 'utf8').trim()
  expect((await averba('verify', file, '--key', foreign)).code).toBe(2)
  expect((await averba('prove', '--store', store, '1000000')).code).toBe(1)
})

test('one record is disclosed with its file and the key of the log, and only its parts', async () => {
  const file = join(temporaryFolder(), 'record.json')
  const leaves = readFileSync(join(bundle, 'leaves.ndjson'), 'utf8').split('\n')
  const position = leaves.findIndex(line => line.includes('"stream":"validation-') && line.includes('"recordKey"')) + 1
  const disclose = (out: string, ...args: string[]) =>
    averba('prove', '--store', store, `${position}`, '--disclose', '--out', out, ...args)
  for (const few of [[], ['--actor', 'auditoria-3'], ['--purpose', 'auditoria 2026-17']])
    await expectFailure(disclose(file, ...few), 'INVALID_INPUT')
  const given = ['--actor', 'auditoria-3', '--purpose', 'auditoria 2026-17']
  const events = async () => (await averbaJson('doctor', '--store', store)).position
  const before = await events()
  // What nobody can be given is not disclosed, and not recorded as such.
  await expectFailure(disclose(temporaryFolder(), ...given), 'INVALID_INPUT')
  expect(await events()).toBe(before)
  await expectOutput(disclose(file, ...given), '')
  expect(statSync(file).mode & 0o777).toBe(0o600)

  await expectOutput(verify(file), 'Its sealed part "claims", of subject-')
  const { isProven, opened } = await averbaJson('verify', file, '--key', key)
  expect(isProven).toBe(true)
  expect(opened).toMatchObject([{ name: 'claims', value: { nome: 'X' } }])
  // What would not be looked at is not taken.
  await expectFailure(verify(file, '--mark', 'nosuch'), 'Cannot verify a proof with --mark')
  const lines = join(temporaryFolder(), 'key')
  writeFileSync(lines, `${key}\r\n`)
  expect((await averba('verify', file, '--key', lines)).code).toBe(0)
  expect((await averba('verify', file, '--key', temporaryFolder())).code).toBe(1)
  // A bundle has no keyring: one that is named is not silently left out.
  await expectFailure(averba('verify', temporaryFolder(), '--keys', 'nosuch'), 'Cannot use --keys with a bundle')
  // Without the key of the log nobody tells whose it is.
  expect((await averba('verify', file)).code).toBe(1)

  const disclosed = JSON.parse(readFileSync(file, 'utf8'))
  disclosed.keys[0].key = Buffer.alloc(32).toString('base64')
  writeFileSync(file, JSON.stringify(disclosed))
  const bad = 'NOT PROVEN: the key for the part "claims" is not the one that the event names'
  await expectOutput(verify(file), bad, 2)
})
