import fs, { writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { createKeyringIn, EpochMissingError, openKeyring } from '../../src/vault/keyring.ts'
import { KeyringFile } from '../../src/vault/keyring-file.ts'
import { guardKeyring, KeyringInMemory, type KeyringStore } from '../../src/vault/keyring-store.ts'
import { temporaryStore } from '../support/temporary-folder.ts'

async function openTwo(place: KeyringStore) {
  await createKeyringIn(place, systemEntropy)
  return [await openKeyring(place, systemEntropy), await openKeyring(place, systemEntropy)] as const
}

const notSafe = { code: 'STORE_UNSAFE' }
const never = () => new Promise<never>(() => undefined)
const useFakeTimers = () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
}
const turn = async (bytes: Uint8Array) => bytes.map(byte => byte ^ 1)
const erasureOf = (subject: string) => ({ subject, at: '2030-01-01T00:00:00.000Z', keepsKey: false })

test('what two processes change at the same time is kept, from both', async () => {
  const place = new KeyringInMemory()
  const [one, other] = await openTwo(place)
  const replacing = vi.spyOn(place, 'replace')
  const subjects = Array.from({ length: 10 }, (_, i) => `s${i}`)
  await Promise.all(subjects.map((subject, i) => (i % 2 === 0 ? one : other).remember(erasureOf(subject))))
  expect(await Promise.all(replacing.mock.results.map(each => each.value))).toContain(false)
  const { erased } = await openKeyring(place, systemEntropy)
  expect(Object.keys(erased).sort()).toEqual(subjects)
})

/** A keyring under the keys of a service that can be made to answer wrongly, or not at all. */
async function openWithService() {
  const holder = { id: 'kms-1', wrap: turn, unwrap: turn, destroyEpoch: async () => undefined }
  const place = new KeyringInMemory()
  return { place, holder, keyring: await createKeyringIn(place, systemEntropy, holder) }
}

test('an epoch whose key the service wrapped wrongly is not begun', async () => {
  const { place, holder, keyring } = await openWithService()
  holder.wrap = async () => new TextEncoder().encode('{"error":"throttled"}')
  await expect(keyring.prepareEpoch()).rejects.toMatchObject({ code: 'KEYS_MISMATCH' })
  holder.wrap = turn
  expect(await keyring.beginEpoch(await keyring.prepareEpoch(), 1)).toBe(2)
  expect((await openKeyring(place, systemEntropy, holder)).epochs).toEqual([1, 2])
})

test('a key service that does not answer is given up after ten seconds, and is not called a wrong key', async () => {
  const { place, holder, keyring } = await openWithService()
  useFakeTimers()
  holder.wrap = never
  holder.unwrap = never
  const error = { code: 'MISCONFIGURED', message: 'Cannot use the keys: their service did not answer in 10 seconds' }
  const given = [
    expect(keyring.prepareEpoch()).rejects.toMatchObject(error),
    expect(openKeyring(place, systemEntropy, holder)).rejects.toMatchObject(error),
  ]
  await vi.advanceTimersByTimeAsync(10_000)
  await Promise.all(given)
})

test('a keyring store of a host that hangs, fails or gives no boolean is an error with a code, and holds up nothing', async () => {
  const place = new KeyringInMemory()
  await createKeyringIn(place, systemEntropy)
  const own = { name: 'bucket', read: () => place.read(), replace: place.replace.bind(place) }
  const openWith = (more: object) => openKeyring(guardKeyring({ ...own, ...more }), systemEntropy)
  const failed = { ...notSafe, message: expect.stringContaining('their service failed (') }
  const read = () => Promise.reject(Object.assign(new Error('secret'), { code: 'ECONNRESET' }))
  await expect(openWith({ read })).rejects.toMatchObject(failed)
  for (const isReplaced of [undefined, false]) {
    const forgetful = await openWith({ replace: async () => isReplaced })
    await expect(forgetful.remember(erasureOf('s'))).rejects.toMatchObject(notSafe)
  }
  useFakeTimers()
  const hung = expect(openWith({ read: never })).rejects.toMatchObject(notSafe)
  await vi.advanceTimersByTimeAsync(10_000)
  await hung
})

test('a keyring that another process has changed is not changed as if it were known', async () => {
  const [one, other] = await openTwo(new KeyringInMemory())
  await other.beginEpoch(await other.prepareEpoch(), 10)
  const wrapped = other.wrap(Buffer.alloc(32, 7), 'subject-x')
  await one.rememberReached(11)
  await expect(one.beginEpoch(await one.prepareEpoch(), 12)).rejects.toThrow(EpochMissingError)
  await one.refresh()
  expect(one.unwrap(wrapped, 2, 'subject-x').export()).toEqual(Buffer.alloc(32, 7))
})

test('a keyring file that was replaced and overwritten while it was read is read again', async () => {
  const place = new KeyringFile(`${temporaryStore()}.keys`, systemEntropy)
  await createKeyringIn(place, systemEntropy)
  const reading = vi.spyOn(fs, 'readFileSync').mockReturnValueOnce('\0\0"mac": "x"}')
  onTestFinished(() => {
    reading.mockRestore()
    syncBuiltinESMExports()
  })
  syncBuiltinESMExports()
  expect((await openKeyring(place, systemEntropy)).epochs).toEqual([1])
  expect(reading).toHaveBeenCalledTimes(2)
})

test('of two processes that begin an epoch at the same time one has to read the keyring again', async () => {
  const [one, other] = await openTwo(new KeyringInMemory())
  const begin = async (keyring: typeof one) => keyring.beginEpoch(await keyring.prepareEpoch(), 1, erasureOf('s'))
  const [, late] = await Promise.allSettled([begin(one), begin(other)])
  expect(late).toMatchObject({ status: 'rejected', reason: expect.any(EpochMissingError) })
  expect(await other.withRefresh(() => begin(other))).toBe(3)
  const wrapped = one.wrap(Buffer.alloc(32, 1), 'subject-a')
  expect(other.unwrap(wrapped, 2, 'subject-a').export()).toEqual(Buffer.alloc(32, 1))
})

test('a keyring of another log, or one that somebody changed, is not built upon', async () => {
  const path = `${temporaryStore()}.keys`
  const place = new KeyringFile(path, systemEntropy)
  const keyring = await createKeyringIn(place, systemEntropy)
  const { text = '' } = (await place.read()) ?? {}
  const changed = text.replace(/"mac": "(.)/, (_, first) => `"mac": "${first === 'x' ? 'y' : 'x'}`)
  writeFileSync(path, changed)
  await expect(keyring.remember(erasureOf('s'))).rejects.toMatchObject({ code: 'KEYS_MISMATCH' })
  writeFileSync(path, text.replace(/keys_../, 'keys_zz'))
  await expect(keyring.rememberSize(3)).rejects.toThrow('it is the keyring of another log')
  writeFileSync(path, text)
  await keyring.rememberSize(3)
  expect(await openKeyring(place, systemEntropy)).toMatchObject({ size: 3, erased: {} })
})

test('an epoch or a root key that was prepared for other keys is not taken', async () => {
  const [one, other] = await openTwo(new KeyringInMemory())
  const [first, second] = await Promise.all([one.prepareEpoch(), one.prepareEpoch()])
  expect(await one.beginEpoch(first, 1)).toBe(2)
  await expect(one.beginEpoch(second, 1)).rejects.toThrow(EpochMissingError)
  await other.refresh()
  const root = await other.prepareRoot()
  await one.destroyEpoch(1)
  await expect(other.replaceRoot(root)).rejects.toThrow(EpochMissingError)
  const epoch = await one.prepareEpoch()
  await other.withRefresh(async () => other.replaceRoot(await other.prepareRoot()))
  await expect(one.beginEpoch(epoch, 1)).rejects.toThrow(EpochMissingError)
  await one.refresh()
  expect(one.epochs).toEqual([2])
})
