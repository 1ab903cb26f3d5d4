import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { simulate } from '../../src/simulation/index.ts'
import { resolveMark } from '../../src/store/checkpoints/high-water-mark.ts'
import { overwrite, replaceDurably } from '../../src/vault/durable-file.ts'
import { findLeftoverCopies } from '../../src/vault/keyring-file.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openWorld } from '../support/world.ts'

const root = resolve(import.meta.dirname, '../..')
const request = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }
const epochsOf = (keyring: string) => Object.keys(JSON.parse(readFileSync(keyring, 'utf8')).epochs)

/** Makes the content of a keyring file with many epochs. */
const keyring = (epochs: number) => ({
  format: 1,
  id: 'keys_x',
  root: Buffer.alloc(32, 1).toString('base64'),
  epochs: Object.fromEntries(Array.from({ length: epochs }, (_, i) => [i + 1, Buffer.alloc(60, i).toString('base64')])),
})

/** Runs a script in a process whose files cannot grow beyond 4 KiB, and returns its output. */
function runWithFileLimit(script: string, path: string): string {
  const command = `trap '' XFSZ; ulimit -S -f 4; exec "$0" --input-type=module -e "$1" "$2"`
  const given = ['-c', command, process.execPath, script, path]
  return execFileSync('bash', given, { cwd: root, encoding: 'utf8' }).trim()
}

test('a keyring that does not fit on the disk is an error, and the existing one stays', () => {
  const path = `${temporaryStore()}.keys`
  const before = JSON.stringify(keyring(2))
  writeFileSync(path, before)
  const script = `
    import { KeyringFile } from './src/vault/keyring-file.ts'
    try {
      const place = new KeyringFile(process.argv[1], { bytes: count => new Uint8Array(count) })
      await place.replace(${JSON.stringify(JSON.stringify(keyring(60)))}, (await place.read()).tag)
      console.log('replaced')
    } catch (error) { console.log(error.code, error.cause.code) }`
  expect(runWithFileLimit(script, path)).toBe('STORE_UNSAFE EFBIG')
  expect(readFileSync(path, 'utf8')).toBe(before)
  expect(readdirSync(dirname(path))).toEqual(['log.sqlite.keys'])
})

test('a mark that does not fit on the disk is an error, and the existing one stays', () => {
  const path = temporaryStore()
  writeFileSync(`${path}.mark`, 'before')
  const script = `
    import { resolveMark } from './src/store/checkpoints/high-water-mark.ts'
    await resolveMark({ path: process.argv[1] }).write('x'.repeat(6000))
      .then(() => console.log('written'), error => console.log(error.code))`
  expect(runWithFileLimit(script, path)).toBe('EFBIG')
  expect(readFileSync(`${path}.mark`, 'utf8')).toBe('before')
  expect(readdirSync(dirname(path))).toEqual(['log.sqlite.mark'])
})

test('an erasure destroys the epoch in the keyring that a link points to, and the link stays', async () => {
  const store = temporaryStore()
  await (await simulate({ averba: { store } })).close()
  const guarded = join(dirname(store), 'guarded', 'keyring')
  mkdirSync(dirname(guarded))
  renameSync(`${store}.keys`, guarded)
  symlinkSync('guarded/keyring', `${store}.keys`)
  const { averba, samples, close } = await openWorld({ averba: { store, backupRetentionDays: 0 } })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.subjects.erase({ subject }, request)
  await averba.settle()
  expect((await averba.subjects.receipt(subject))?.epochsDestroyedAt).toEqual(expect.any(String))
  await close()
  expect(epochsOf(guarded)).toEqual(['2'])
  expect(lstatSync(`${store}.keys`).isSymbolicLink()).toBe(true)
  expect(readdirSync(dirname(guarded))).toEqual(['keyring'])
})

test('a file planted at the temporary path of a keyring does not change its mode or place', async () => {
  const store = temporaryStore()
  const { averba, samples, close } = await openWorld({ averba: { store } })
  const elsewhere = join(dirname(store), 'elsewhere')
  writeFileSync(elsewhere, '')
  chmodSync(elsewhere, 0o666)
  for (const plant of [
    () => symlinkSync(elsewhere, `${store}.keys.new`),
    () => {
      writeFileSync(`${store}.keys.new`, '')
      chmodSync(`${store}.keys.new`, 0o666)
    },
  ]) {
    plant()
    const subject = await averba.consents.enrol({ cpf: samples.cpf })
    await averba.subjects.erase({ subject }, request)
    expect(statSync(`${store}.keys`).mode & 0o777).toBe(0o600)
    expect(lstatSync(`${store}.keys`).isSymbolicLink()).toBe(false)
  }
  await close()
  expect(readFileSync(elsewhere, 'utf8')).toBe('')
  expect(epochsOf(`${store}.keys`)).toEqual(['1', '2', '3'])
})

test('a mark is written through a link, even when its target does not exist yet', async () => {
  const path = temporaryStore()
  const kept = join(dirname(path), 'other-disk', 'mark')
  mkdirSync(dirname(kept))
  symlinkSync('other-disk/mark', `${path}.mark`)
  for (const text of ['one', 'two']) {
    await resolveMark({ path })?.write(text)
    expect(readFileSync(kept, 'utf8')).toBe(text)
  }
  expect(realpathSync(`${path}.mark`)).toBe(realpathSync(kept))
  expect(readdirSync(dirname(kept))).toEqual(['mark'])
})

test.each([
  ['no process died', () => undefined],
  ['a process died before the file was replaced', (path: string) => linkSync(path, `${path}.former`)],
  ['a process died after it was replaced', (path: string) => writeFileSync(`${path}.former`, 'an older secret')],
])('a former file is overwritten once another took its place, also when %s', (_, prepare) => {
  const path = temporaryStore()
  writeFileSync(path, 'a secret that is erased')
  prepare(path)
  const left = openSync(path, 'r')
  const died = existsSync(`${path}.former`) ? openSync(`${path}.former`, 'r') : undefined
  replaceDurably(path, 'new', 'new', overwrite)
  expect(readFileSync(path, 'utf8')).toBe('new')
  expect(readdirSync(dirname(path))).toEqual([basename(path)])
  for (const descriptor of [left, ...(died === undefined ? [] : [died])]) {
    expect(readFileSync(descriptor).every(byte => byte === 0)).toBe(true)
    closeSync(descriptor)
  }
})

test('a former keyring that a process left is reported', () => {
  const path = temporaryStore()
  writeFileSync(`${path}.former`, '')
  expect(findLeftoverCopies(path)).toEqual([`${path}.former`])
})
