import { createSecretKey } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { type AverbaError, backupStore, diagnoseStore, openAverba, restoreStore } from '../../src/index.ts'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { encrypt } from '../../src/vault/cryptography.ts'
import { copyStore, makeSampleStore } from '../support/sample-store.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase, withoutGuards } from '../support/use-database.ts'
import { writeKeyring } from '../support/write-keyring.ts'

test('neither backup nor restore overwrites a file, or leaves one when it fails', async () => {
  const store = await makeSampleStore(2)
  const folder = dirname(store)
  const [backup, other] = [join(folder, 'b'), join(folder, 'other')]
  writeFileSync(backup, 'mine')
  await expect(backupStore({ store, to: backup })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(readFileSync(backup, 'utf8')).toBe('mine')
  rmSync(backup)
  await backupStore({ store, to: backup })
  const keys = `${store}.keys`
  await expect(restoreStore({ backup, store, keys })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  const nowhere = backupStore({ store, to: join(folder, 'no', 'b') })
  await expect(nowhere).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
  for (const end of ['', '-wal', '-journal']) {
    writeFileSync(`${other}${end}`, 'mine')
    await expect(restoreStore({ backup, store: other, keys })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    rmSync(`${other}${end}`)
  }
  expect(readdirSync(folder).filter(name => !name.startsWith('log.sqlite'))).toEqual(['b'])
})

test('a lost log is reported, opening it creates no file, and an empty file allows a restore', async () => {
  const store = await makeSampleStore(2)
  const folder = dirname(store)
  const backup = temporaryStore()
  await backupStore({ store, to: backup })
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
  const left = ['log.sqlite.keys', 'log.sqlite.mark']
  await expect(openAverba({ store })).rejects.toMatchObject({
    code: 'KEYS_MISMATCH',
    message: expect.stringContaining('the log is missing, but its keyring is there'),
    hint: expect.stringContaining('Restore a backup'),
  })
  expect(readdirSync(folder).sort()).toEqual(left)
  // What is left of a log that stood in its journal alone: a file of averba without a table.
  useDatabase(store, stub => {
    stub.pragma('journal_mode = wal')
    stub.pragma('application_id = 0x61766572')
  })
  expect(statSync(store).size).toBe(4_096)
  await expect(diagnoseStore({ store })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(openAverba({ store })).rejects.toMatchObject({ code: 'KEYS_MISMATCH' })
  await restoreStore({ backup, store })
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
  // One table is somebody's.
  useDatabase(store, other => other.exec('create table mine (a)'))
  await expect(restoreStore({ backup, store })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(readdirSync(folder).sort()).toEqual(['log.sqlite', ...left])
})

test('a restore requires the right keyring, and takes the one beside the store or the backup', async () => {
  const store = await makeSampleStore(2)
  const stranger = await makeSampleStore(2)
  const [backup, other] = [temporaryStore(), temporaryStore()]
  await backupStore({ store, to: backup })
  await expect(restoreStore({ backup, store: other })).rejects.toMatchObject({ code: 'KEYS_MISSING' })
  const keys = `${stranger}.keys`
  const hint = expect.stringMatching(/^It needs the keyring keys_\w+ with the epochs 1$/)
  // The same seed gives the same keyring: this one is told apart by its id alone.
  writeKeyring(keys, JSON.parse(readFileSync(keys, 'utf8').replace('keys_', 'keys_0')))
  await expect(restoreStore({ backup, store: other, keys })).rejects.toMatchObject({ code: 'KEYS_MISMATCH', hint })
  expect(readdirSync(dirname(other))).toEqual([])
  copyFileSync(`${store}.keys`, `${backup}.keys`)
  expect((await restoreStore({ backup, store: other })).keys).toBe(`${other}.keys`)
  expect(statSync(`${other}.keys`).mode & 0o777).toBe(0o600)
  rmSync(other)
  expect((await restoreStore({ backup, store: other })).keys).toBe(`${other}.keys`)
})

test('a restore refuses a keyring beside the store that lacks an epoch, even with --keys', async () => {
  const store = await makeSampleStore(2)
  const [backup, other] = [temporaryStore(), temporaryStore()]
  await backupStore({ store, to: backup })
  const { epochs, ...file } = JSON.parse(readFileSync(`${store}.keys`, 'utf8'))
  const root = createSecretKey(Buffer.from(file.root, 'base64'))
  const second = encrypt(root, systemEntropy.bytes(32), 'epoch 2', systemEntropy).toString('base64')
  // The same keyring by its id, which was restored too old or too new.
  writeKeyring(`${other}.keys`, { ...file, epochs: { 2: second } })
  await expect(restoreStore({ backup, store: other, keys: `${store}.keys` })).rejects.toMatchObject({
    code: 'KEYS_MISMATCH',
    message: expect.stringContaining(`${other}.keys": the epoch 1 is missing in the keyring`),
  })
  writeKeyring(`${other}.keys`, { ...file, epochs: { ...epochs, 2: second } })
  await restoreStore({ backup, store: other, keys: `${store}.keys` })
  await (await openAverba({ store: other })).close()
})

test('a damaged store cannot be backed up, and a damaged backup cannot be restored', async () => {
  const store = await makeSampleStore(2)
  const [backup, elsewhere] = [temporaryStore(), temporaryStore()]
  await backupStore({ store, to: backup })
  const change = "update event set header = header || ' ' where position = 3"
  const tamper = (path: string) => useDatabase(path, database => withoutGuards(database, () => database.exec(change)))
  tamper(backup)
  const restoring = restoreStore({ backup, store: elsewhere, keys: `${store}.keys` })
  await expect(restoring).rejects.toMatchObject({ code: 'CORRUPT' })
  expect(readdirSync(dirname(elsewhere))).toEqual([])
  const damaged = copyStore(store)
  tamper(damaged)
  await expect(backupStore({ store: damaged, to: elsewhere })).rejects.toMatchObject({ code: 'CORRUPT' })
  expect(readdirSync(dirname(elsewhere))).toEqual([])
})

test('a restore refuses a backup exactly when diagnoseStore finds a fault, on any damaged page', async () => {
  const store = await makeSampleStore(2)
  const folder = dirname(store)
  const [backup, elsewhere] = [join(folder, 'backup'), join(folder, 'elsewhere', 'log.sqlite')]
  mkdirSync(dirname(elsewhere))
  await backupStore({ store, to: backup })
  const whole = readFileSync(backup)
  const keys = `${store}.keys`
  const cannot = `Cannot restore "${backup}": `
  const refusal = () =>
    restoreStore({ backup, store: elsewhere, keys }).then(
      () => rmSync(elsewhere),
      (error: AverbaError) => ({ code: error.code, message: error.message }),
    )
  let refused = 0
  for (let at = 4096; at < whole.length; at += 3 * 4096) {
    writeFileSync(backup, Buffer.from(whole).fill(0xa5, at, at + 4096))
    const found = await diagnoseStore({ store: backup, keyring: keys, isDeep: true }).then(
      ({ problems }) => problems.filter(problem => !problem.startsWith('views: ')),
      () => ['cannot be opened'],
    )
    const refusing = await refusal()
    expect(refusing !== undefined, `page at ${at}: ${refusing?.message}`).toBe(found.length > 0)
    if (refusing === undefined) continue
    refused += 1
    expect(refusing.message).toContain(`"${backup}"`)
    // The copy had a name for a moment that tells nobody anything.
    expect(refusing.message).not.toContain(elsewhere)
  }
  expect(refused).toBeGreaterThan(10)
  for (const end of [-1, -4_000]) {
    writeFileSync(backup, whole.subarray(0, end))
    const cutOff = `${cannot}it ends within a page: it was cut off`
    expect(await refusal()).toEqual({ code: 'CORRUPT', message: cutOff })
  }
  expect(readdirSync(dirname(elsewhere)).filter(name => !name.endsWith('.keys'))).toEqual([])
  const damaged = copyStore(store)
  truncateSync(damaged, statSync(damaged).size - 1)
  await expect(backupStore({ store: damaged, to: elsewhere })).rejects.toMatchObject({
    code: 'CORRUPT',
    message: `Cannot back up "${damaged}": it ends within a page: it was cut off`,
  })
})
