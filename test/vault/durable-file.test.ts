import * as fs from 'node:fs'
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
  fs.writeFileSync(path, 'before')
  const code = `const path = ${JSON.stringify(path)}
    ${writing}
    const error = await write('x'.repeat(6_000)).catch(error => error)
    console.log(JSON.stringify([error.code, error.cause?.code]))`
  expect(await runCode(code, '4')).toEqual(codes)
  expect(fs.readFileSync(path, 'utf8')).toBe('before')
  expect(fs.readdirSync(dirname(path))).toEqual([basename(path)])
})

test('an erasure destroys the epoch in the keyring that a link points to, and the link stays', async () => {
  const store = temporaryStore()
  await (await simulate({ averba: { store } })).close()
  const guarded = join(dirname(store), 'guarded', 'keyring')
  fs.mkdirSync(dirname(guarded))
  fs.renameSync(`${store}.keys`, guarded)
  fs.symlinkSync('guarded/keyring', `${store}.keys`)
  const { averba, samples, close } = await openWorld({ averba: { store, backupRetentionDays: 0 } })
  fs.chmodSync(guarded, 0o666)
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.subjects.erase({ subject }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  await averba.settle()
  expect((await averba.subjects.receipt(subject))?.epochsDestroyedAt).toEqual(expect.any(String))
  await close()
  expect(Object.keys(JSON.parse(fs.readFileSync(guarded, 'utf8')).epochs)).toEqual(['2'])
  expect(fs.statSync(guarded).mode & 0o777).toBe(0o600)
  expect(fs.lstatSync(`${store}.keys`).isSymbolicLink()).toBe(true)
  expect(fs.readdirSync(dirname(guarded))).toEqual(['keyring'])
})

test('a file planted at the temporary path of a keyring does not change its mode or place', () => {
  const path = temporaryStore()
  const elsewhere = join(dirname(path), 'elsewhere')
  fs.writeFileSync(elsewhere, '')
  for (const isLink of [true, false]) {
    if (isLink) fs.symlinkSync(elsewhere, `${path}.new`)
    else fs.writeFileSync(`${path}.new`, '')
    fs.chmodSync(`${path}.new`, 0o666)
    replaceDurably(path, 'keys', 'new')
    expect(fs.statSync(path).mode & 0o777).toBe(0o600)
    expect(fs.lstatSync(path).isSymbolicLink()).toBe(false)
  }
  expect(fs.readFileSync(elsewhere, 'utf8')).toBe('')
})

test('a mark is written through a link, even when its target does not exist yet', async () => {
  const path = temporaryStore()
  const kept = join(dirname(path), 'other-disk', 'mark')
  fs.mkdirSync(dirname(kept))
  fs.symlinkSync('other-disk/mark', `${path}.mark`)
  for (const text of ['one', 'two']) {
    await resolveMark({ path })?.write(text)
    expect(fs.readFileSync(kept, 'utf8')).toBe(text)
  }
  expect(fs.realpathSync(`${path}.mark`)).toBe(fs.realpathSync(kept))
  expect(fs.readdirSync(dirname(kept))).toEqual(['mark'])
})

test.each([
  ['no process died', () => undefined],
  ['a process died before the file was replaced', (path: string) => fs.linkSync(path, `${path}.former`)],
  ['a process died after it was replaced', (path: string) => fs.writeFileSync(`${path}.former`, 'an older secret')],
])('a former file is reported, and overwritten once another took its place, also when %s', (_, prepare) => {
  const path = temporaryStore()
  fs.writeFileSync(path, 'a secret that is erased')
  prepare(path)
  const left = [`${path}.former`].filter(each => fs.existsSync(each))
  expect(findLeftoverCopies(path)).toEqual(left)
  const former = [path, ...left].map(each => fs.openSync(each, 'r'))
  replaceDurably(path, 'new', 'new', overwrite)
  expect(fs.readFileSync(path, 'utf8')).toBe('new')
  expect(fs.readdirSync(dirname(path))).toEqual([basename(path)])
  for (const descriptor of former) {
    expect(fs.readFileSync(descriptor).every(byte => byte === 0)).toBe(true)
    fs.closeSync(descriptor)
  }
})
