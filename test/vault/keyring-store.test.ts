import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { createKeyringIn, EpochMissingError, openKeyring } from '../../src/vault/keyring.ts'
import { KeyringFile } from '../../src/vault/keyring-file.ts'
import { KeyringInMemory, type KeyringStore } from '../../src/vault/keyring-store.ts'
import { temporaryStore } from '../support/temporary-folder.ts'

/** A place in memory that counts the changes which came too late. */
class CountingPlace extends KeyringInMemory {
  refused = 0

  override async replace(text: string, ifTag: string | undefined): Promise<boolean> {
    const isReplaced = await super.replace(text, ifTag)
    if (!isReplaced) this.refused += 1
    return isReplaced
  }
}

async function openTwo(place: KeyringStore) {
  await createKeyringIn(place, systemEntropy)
  return [await openKeyring(place, systemEntropy), await openKeyring(place, systemEntropy)] as const
}

const erasureOf = (subject: string) => ({ subject, at: '2030-01-01T00:00:00.000Z', keepsKey: false })

test('what two processes change at the same time is kept, from both', async () => {
  const place = new CountingPlace()
  const [one, other] = await openTwo(place)
  const subjects = Array.from({ length: 10 }, (_, i) => `s${i}`)
  await Promise.all(subjects.map((subject, i) => (i % 2 === 0 ? one : other).remember(erasureOf(subject))))
  expect(place.refused).toBeGreaterThan(0)
  const { erased } = await openKeyring(place, systemEntropy)
  expect(Object.keys(erased).sort()).toEqual(subjects)
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
  writeFileSync(path, text.replace(/"mac": "./, '"mac": "x'))
  await expect(keyring.remember(erasureOf('s'))).rejects.toMatchObject({ code: 'KEYS_MISMATCH' })
  writeFileSync(path, text.replace(/keys_../, 'keys_zz'))
  await expect(keyring.rememberSize(3)).rejects.toThrow('it is the keyring of another log')
  writeFileSync(path, text)
  await keyring.rememberSize(3)
  expect(await openKeyring(place, systemEntropy)).toMatchObject({ size: 3, erased: {} })
})

test('an epoch or a root key that was prepared for other keys is not taken', async () => {
  const [one, other] = await openTwo(new KeyringInMemory())
  const prepared = await Promise.all([one.prepareEpoch(), one.prepareEpoch()])
  expect(await one.beginEpoch(prepared[0], 1)).toBe(2)
  await expect(one.beginEpoch(prepared[1], 1)).rejects.toThrow(EpochMissingError)
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
