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
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { simulate } from '../../src/simulation/index.ts'
import { resolveMark } from '../../src/store/checkpoints/high-water-mark.ts'
import { overwrite, replaceDurably } from '../../src/vault/durable-file.ts'
import { findLeftoverCopies } from '../../src/vault/keyring-file.ts'
import { runCode } from '../support/run-script.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openWorld } from '../support/world.ts'

test.each([
  [
    'keyring',
    `import { KeyringFile } from './src/vault/keyring-file.ts'
    const place = new KeyringFile(path, { bytes: count => new Uint8Array(count) })
    const write = async text => place.replace(text, (await place.read()).tag)`,
    ['STORE_UNSAFE', 'EFBIG'],
  ],
  [
    'mark',
    `import { resolveMark } from './src/store/checkpoints/high-water-mark.ts'
    const { write } = resolveMark({ path: path.replace(/\\.mark$/, '') })`,
    ['EFBIG', null],
  ],
])('a %s that does not fit on the disk is an error, and the existing one stays', async (name, writing, codes) => {
  const path = `${temporaryStore()}.${name}`
  writeFileSync(path, 'before')
  const code = `const path = ${JSON.stringify(path)}
    ${writing}
    const error = await write('x'.repeat(6_000)).catch(error => error)
    console.log(JSON.stringify([error.code, error.cause?.code]))`
  expect(await runCode(code, '4')).toEqual(codes)
  expect(readFileSync(path, 'utf8')).toBe('before')
  expect(readdirSync(dirname(path))).toEqual([basename(path)])
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
  await averba.subjects.erase({ subject }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  await averba.settle()
  expect((await averba.subjects.receipt(subject))?.epochsDestroyedAt).toEqual(expect.any(String))
  await close()
  expect(Object.keys(JSON.parse(readFileSync(guarded, 'utf8')).epochs)).toEqual(['2'])
  expect(lstatSync(`${store}.keys`).isSymbolicLink()).toBe(true)
  expect(readdirSync(dirname(guarded))).toEqual(['keyring'])
})

test('a file planted at the temporary path of a keyring does not change its mode or place', () => {
  const path = temporaryStore()
  const elsewhere = join(dirname(path), 'elsewhere')
  writeFileSync(elsewhere, '')
  for (const isLink of [true, false]) {
    if (isLink) symlinkSync(elsewhere, `${path}.new`)
    else writeFileSync(`${path}.new`, '')
    chmodSync(`${path}.new`, 0o666)
    replaceDurably(path, 'keys', 'new')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(lstatSync(path).isSymbolicLink()).toBe(false)
  }
  expect(readFileSync(elsewhere, 'utf8')).toBe('')
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
  const former = [path, `${path}.former`].filter(each => existsSync(each)).map(each => openSync(each, 'r'))
  replaceDurably(path, 'new', 'new', overwrite)
  expect(readFileSync(path, 'utf8')).toBe('new')
  expect(readdirSync(dirname(path))).toEqual([basename(path)])
  for (const descriptor of former) {
    expect(readFileSync(descriptor).every(byte => byte === 0)).toBe(true)
    closeSync(descriptor)
  }
})

test('a former keyring that a process left is reported', () => {
  const path = temporaryStore()
  writeFileSync(`${path}.former`, '')
  expect(findLeftoverCopies(path)).toEqual([`${path}.former`])
})
