import { randomBytes } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { AverbaError, diagnoseStore, environmentKeys, type Keys, openAverba, valueOf } from '../../src/index.ts'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { createKeyring } from '../../src/vault/keyring.ts'
import { findLeftoverCopies } from '../../src/vault/keyring-file.ts'
import type { StoredKeys } from '../../src/vault/stored-keys.ts'
import { Vault } from '../../src/vault/vault.ts'
import { dayMs, hourMs, passTime } from '../support/pass-time.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openEngine, openWorld } from '../support/world.ts'

const variable = 'AVERBA_TEST_ROOT_KEY'

function keysFrom(text: string | undefined): Keys {
  vi.stubEnv(variable, text)
  return environmentKeys({ variable })
}

const newText = () => randomBytes(32).toString('base64')
const mismatch = expect.objectContaining({ code: 'KEYS_MISMATCH' })
const request = { requester: 'r', legalBasis: 'LGPD art. 18, VI' }
const tryOpening = (store: string, keys?: Keys) =>
  openAverba({ store, ...(keys && { keys }) }).then(
    averba => averba.close().then(() => 'opens'),
    (error: AverbaError) => error.code,
  )

test('a missing or malformed root key in the environment is an error that does not show it', () => {
  for (const none of [undefined, ''])
    expect(() => keysFrom(none)).toThrow(expect.objectContaining({ code: 'KEYS_MISSING' }))
  for (const wrong of ['segredo', randomBytes(16).toString('base64'), `${newText()} `]) {
    const silent = { code: 'KEYS_MISMATCH', message: expect.not.stringContaining(wrong) }
    expect(() => keysFrom(wrong)).toThrow(expect.objectContaining(silent))
  }
})

test('a log under a root key from the environment opens only with that key, and one with its own under none', async () => {
  const store = temporaryStore()
  const text = newText()
  const lines: unknown[] = []
  const made = await openEngine({ store, keys: keysFrom(text), logger: line => lines.push(line) })
  const subject = await made.consents.enrol({ cpf: '25774435016' })
  await made.close()
  expect(lines).toMatchObject([{ path: `${store}.keys` }])
  const file = JSON.parse(readFileSync(`${store}.keys`, 'utf8'))
  expect(Object.keys(file)).toEqual(['format', 'id', 'secret', 'epochs', 'size', 'mac'])
  expect(statSync(`${store}.keys`).mode & 0o777).toBe(0o600)

  expect(await tryOpening(store)).toBe('KEYS_MISSING')
  expect(await tryOpening(store, keysFrom(newText()))).toBe('KEYS_MISMATCH')
  const again = await openEngine({ store, keys: keysFrom(text) })
  expect(await again.consents.enrol({ cpf: '25774435016' })).toBe(subject)
  await again.close()
  expect((await diagnoseStore({ store, isDeep: true, rootKey: keysFrom(text) })).problems).toEqual([])
  const own = temporaryStore()
  expect(await tryOpening(own)).toBe('opens')
  expect(await tryOpening(own, keysFrom(newText()))).toBe('KEYS_MISMATCH')
})

test('a key service wraps each epoch and is notified of destroyed ones; its failure delays an erasure', async () => {
  const destroyed: number[] = []
  let isDown = false
  const mask = (bytes: Uint8Array) => bytes.map(byte => byte ^ 0x5a)
  const service: Keys = {
    id: 'kms-1',
    async wrap(key) {
      if (isDown) throw new AverbaError('KEYS_MISSING', 'The key management service does not answer')
      return mask(key)
    },
    unwrap: async wrapped => mask(wrapped),
    destroyEpoch: async epoch => void destroyed.push(epoch),
  }
  const store = temporaryStore()
  const world = await openWorld({ averba: { store, keys: service, backupRetentionDays: 1 } })
  const { averba } = world
  const subject = await averba.consents.enrol({ cpf: '25774435016' })
  const stays = await averba.consents.enrol({ cpf: '52998224725' })
  isDown = true
  const receipt = await averba.subjects.erase({ subject }, request)
  expect(receipt.completed).toBeNull()
  isDown = false
  await passTime(world, hourMs)
  expect(await averba.subjects.receipt(subject)).toMatchObject({ completed: { epoch: 2, found: 0 } })
  await passTime(world, dayMs)
  expect(destroyed).toContain(1)
  valueOf(await averba.consents.sync({ subject: stays }))
  await world.close()
  const reopened = await openEngine({ store, keys: service })
  expect(await reopened.consents.enrol({ cpf: '52998224725' })).toBe(stays)
  await reopened.close()
  expect(findLeftoverCopies(`${store}.keys`)).toEqual([])
})

test("a replaced owner's key is KEYS_MISMATCH although it is wrapped correctly", () => {
  const vault = new Vault(createKeyring(systemEntropy), systemEntropy)
  const key = vault.createOwnerKey('subject-a')
  const { sealed } = vault.seal(key, 'p', 'x')
  const other = { ...key, wrapped: vault.keyring.wrap(randomBytes(32), 'subject-a') }
  expect(() => vault.seal(other, 'p', 'x')).toThrow(mismatch)
  const uncommitted = { ...key, commitment: randomBytes(32), wrapped: vault.rewrap(key).wrapped }
  expect(() => vault.open(uncommitted, 'p', sealed)).toThrow(mismatch)
  vault.forget()
  expect(vault.open(vault.rewrap(key), 'p', sealed)).toBe('x')
})

test("an owner's key moves to the new epoch, and its old copy does not open without the old one", async () => {
  const keyring = createKeyring(systemEntropy)
  const vault = new Vault(keyring, systemEntropy)
  const key = vault.createOwnerKey('subject-a')
  expect(await keyring.beginEpoch(await keyring.prepareEpoch(), 0)).toBe(2)
  const newer = vault.rewrap(key)
  expect(newer).toMatchObject({ epoch: 2, commitment: key.commitment })
  await keyring.destroyEpoch(1)
  expect(keyring.epochs).toEqual([2])
  vault.forget()
  expect(() => vault.seal(key, 'p', 'x')).toThrow(mismatch)
  expect(() => vault.seal(newer, 'p', 'x')).not.toThrow()
})

test.each([
  ['an erasure forgotten', ({ erased: _, ...file }: StoredKeys) => file],
  ['an epoch put back', (file: StoredKeys) => ({ ...file, epochs: { ...file.epochs, 9: file.epochs[2] ?? '' } })],
  ['its epochs exchanged', (file: StoredKeys) => ({ ...file, epochs: { 2: file.epochs[3], 3: file.epochs[2] } })],
  ['its digest cut', (file: StoredKeys) => ({ ...file, mac: file.mac?.slice(0, 8) })],
])('a keyring with %s does not open', async (_, change) => {
  const store = temporaryStore()
  const keys = keysFrom(newText())
  const made = await openEngine({ store, keys })
  for (const cpf of ['25774435016', '52998224725']) {
    const subject = await made.consents.enrol({ cpf })
    await made.subjects.erase({ subject }, request)
  }
  await made.settle()
  await made.close()
  const path = `${store}.keys`
  const file: StoredKeys = JSON.parse(readFileSync(path, 'utf8'))
  expect(Object.keys(file.epochs)).toEqual(['1', '2', '3'])
  expect(Object.keys(file.erased ?? {})).toHaveLength(2)
  writeFileSync(path, JSON.stringify(change(file)))
  expect(await tryOpening(store, keys)).toBe('KEYS_MISMATCH')
  writeFileSync(path, JSON.stringify(file))
  expect(await tryOpening(store, keys)).toBe('opens')
})
