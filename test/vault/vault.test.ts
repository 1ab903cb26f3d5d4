import { createCipheriv, createSecretKey } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { decrypt, encrypt } from '../../src/vault/cryptography.ts'
import { createKeyring, createKeyringIn, openKeyring } from '../../src/vault/keyring.ts'
import { KeyringFile } from '../../src/vault/keyring-file.ts'
import { Vault } from '../../src/vault/vault.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const newVault = () => new Vault(createKeyring(systemEntropy), systemEntropy)
const newPath = () => join(temporaryFolder(), 'log.keys')
const create = (path: string) => createKeyringIn(new KeyringFile(path, systemEntropy), systemEntropy)
const open = (path: string) => openKeyring(new KeyringFile(path, systemEntropy), systemEntropy)

const aesKey = createSecretKey(Buffer.alloc(32, 7))

test('what was encrypted is decrypted, and not when it was changed or cut', () => {
  const sealed = encrypt(aesKey, Buffer.from('texto'), 'a', systemEntropy)
  expect(decrypt(aesKey, sealed, 'a').toString()).toBe('texto')
  expect(decrypt(aesKey, encrypt(aesKey, Buffer.alloc(0), 'a', systemEntropy), 'a')).toHaveLength(0)
  expect(() => decrypt(aesKey, sealed, 'b')).toThrow()
  for (let length = 0; length < sealed.length; length++)
    expect(() => decrypt(aesKey, sealed.subarray(0, length), 'a'), String(length)).toThrow()
})

test('a short tag is refused: it could be guessed', () => {
  // A nonce that is also the tag of nothing under it, cut to its length.
  for (const bytes of [4, 8, 12]) {
    const nonce = Buffer.alloc(bytes, 1)
    const cipher = createCipheriv('aes-256-gcm', aesKey, nonce, { authTagLength: 16 }).setAAD(Buffer.from('a'))
    cipher.final()
    const short = Buffer.concat([nonce, cipher.getAuthTag()]).subarray(0, 27)
    expect(() => decrypt(aesKey, short, 'a')).toThrow(RangeError)
  }
})

test('a part opens only with its own place and key, and a key only for its owner', () => {
  const vault = newVault()
  const [key, other] = [vault.createOwnerKey('subject-a'), vault.createOwnerKey('subject-b')]
  const { sealed } = vault.seal(key, 'subject-a/1/cpf', { cpf: '25774435016' })
  expect(vault.open(key, 'subject-a/1/cpf', sealed)).toEqual({ cpf: '25774435016' })
  expect(() => vault.open(key, 'subject-a/2/cpf', sealed)).toThrow()
  expect(() => vault.open(other, 'subject-a/1/cpf', sealed)).toThrow()
  expect(() => vault.seal({ ...key, owner: 'subject-b' }, 'subject-b/1/cpf', 'x')).toThrow()
})

test("a record key opens one record of one owner, and the owner's key does not", () => {
  const vault = new Vault(createKeyring(systemEntropy), systemEntropy, ['validation'])
  const [key, other] = [vault.createOwnerKey('subject-a'), vault.createOwnerKey('subject-b')]
  const seal = (at: string, of = key) => vault.seal(of, at, 'x', 'validation')
  const [one, same, next] = [seal('validation-a/1/b'), seal('validation-a/1/c'), seal('validation-a/2/b')]
  expect(vault.open(key, 'validation-a/1/b', one.sealed, one.recordKey)).toBe('x')
  expect(same.recordKey).toBe(one.recordKey)
  const others = [next.recordKey, seal('validation-a/1/b', other).recordKey]
  expect(new Set([one.recordKey, ...others]).size).toBe(3)
  expect(() => vault.open(key, 'validation-a/1/b', one.sealed)).toThrow()
  const mismatch = expect.objectContaining({ code: 'KEYS_MISMATCH' })
  expect(() => vault.open(key, 'validation-a/1/b', one.sealed, next.recordKey)).toThrow(mismatch)
  expect(() => vault.open(key, 'validation-a/1/c', one.sealed, one.recordKey)).toThrow()
  expect(vault.seal(key, 'consent-a/1/b', 'x', 'consent')).not.toHaveProperty('recordKey')
})

test("a record key stays the same when its owner's key is wrapped by another epoch", async () => {
  const vault = newVault()
  const { keyring } = vault
  const key = vault.createOwnerKey('subject-a')
  const before = vault.recordKey(key, 'validation-a/1')
  await keyring.beginEpoch(await keyring.prepareEpoch(), 0)
  expect(vault.recordKey(vault.rewrap(key), 'validation-a/1')).toEqual(before)
})

test('every flipped bit of a sealed part is detected', () => {
  const vault = newVault()
  const key = vault.createOwnerKey('subject-a')
  const { sealed } = vault.seal(key, 'p', 'x')
  const corrupt = (what: string) => expect.objectContaining({ code: 'CORRUPT', message: expect.stringContaining(what) })
  for (const [i, byte] of sealed.entries())
    expect(() => vault.open(key, 'p', sealed.with(i, byte ^ 1))).toThrow(corrupt('the part "p"'))
  const wrapped = key.wrapped.map(byte => byte ^ 1)
  expect(() => vault.open({ ...key, wrapped }, 'p', sealed)).toThrow(corrupt('the key of "subject-a"'))
})

test('a secret opens only with its own place and keyring', () => {
  const vault = newVault()
  const { epoch, sealed } = vault.sealSecret('secret a/1', 'segredo')
  expect(Buffer.from(sealed).toString('latin1')).not.toContain('segredo')
  expect(vault.openSecret('secret a/1', epoch, sealed)).toBe('segredo')
  expect(vault.openSecret('secret a/2', epoch, sealed)).toBeUndefined()
  expect(vault.openSecret('secret a/1', epoch + 1, sealed)).toBeUndefined()
  expect(newVault().openSecret('secret a/1', epoch, sealed)).toBeUndefined()
})

test('a keyring file has mode 0600, opens what it sealed before, and is never replaced', async () => {
  const path = newPath()
  const before = new Vault(await create(path), systemEntropy)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const key = before.createOwnerKey('subject-a')
  const { sealed } = before.seal(key, 'p', 'x')
  const after = new Vault(await open(path), systemEntropy)
  expect(after.open(key, 'p', sealed)).toBe('x')
  expect(after.keyring.digest('cpf', '25774435016')).toEqual(before.keyring.digest('cpf', '25774435016'))
  const text = readFileSync(path, 'utf8')
  expect((await create(path)).id).toBe(before.keyring.id)
  expect(readFileSync(path, 'utf8')).toBe(text)
  expect(readdirSync(dirname(path))).toEqual(['log.keys'])
})

test('a keyring that cannot be written is STORE_UNSAFE, a missing one KEYS_MISSING, a damaged one KEYS_MISMATCH', async () => {
  const path = newPath()
  await expect(create(join(path, 'no', 'log.keys'))).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
  await expect(open(path)).rejects.toMatchObject({ code: 'KEYS_MISSING' })
  writeFileSync(path, '{"format":1}')
  const hint = expect.stringContaining('Put back your backup of the keyring')
  await expect(open(path)).rejects.toMatchObject({ code: 'KEYS_MISMATCH', hint })
})

test('the error for a damaged keyring shows nothing of its content', async () => {
  const path = newPath()
  await create(path)
  const { root, ...others } = JSON.parse(readFileSync(path, 'utf8'))
  for (const text of [
    // The error of JSON.parse quotes the text at the unexpected character.
    JSON.stringify({ root, ...others }).replace(`"${root}"`, `Q${root}`),
    JSON.stringify({ root: [root], digest: 'x', ...others }),
    JSON.stringify({ root, ...others, epochs: { 1: root } }),
  ]) {
    writeFileSync(path, text)
    const thrown = await open(path).catch(error => error)
    expect(thrown).toMatchObject({ code: 'KEYS_MISMATCH' })
    // As a logger would print it.
    const printed = inspect(thrown, { depth: 9 })
    const pieces = Array.from({ length: root.length - 5 }, (_, i) => root.slice(i, i + 6))
    expect(pieces.filter(piece => printed.includes(piece))).toEqual([])
  }
})

test('digests of the same text differ by purpose and by keyring', () => {
  const [a, b] = [createKeyring(systemEntropy), createKeyring(systemEntropy)]
  expect(a.digest('cpf', 'x')).not.toEqual(a.digest('command', 'x'))
  expect(a.digest('cpf', 'x')).not.toEqual(b.digest('cpf', 'x'))
})
