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
import type { Steps } from '../../src/store/database/connection.ts'
import { Snapshot } from '../../src/store/database/snapshot.ts'
import { openSqlite } from '../../src/store/database/sqlite.ts'
import { exportLog } from '../../src/store/files/export-log.ts'
import { decrypt, encrypt } from '../../src/vault/cryptography.ts'
import { macKey, secretName } from '../../src/vault/keyring.ts'
import { authenticate, type StoredKeys } from '../../src/vault/stored-keys.ts'
import { loseStore } from '../support/lose-store.ts'
import { refuses } from '../support/refuses.ts'
import { copyStore, makeSampleStore } from '../support/sample-store.ts'
import { temporaryFolder, temporaryStore } from '../support/temporary-folder.ts'
import { tamper, useDatabase } from '../support/use-database.ts'

/** Writes a keyring file that holds its root key, as somebody who has it could. */
function writeKeyring(path: string, file: StoredKeys): void {
  const root = createSecretKey(Buffer.from(file.root ?? '', 'base64'))
  const secret = decrypt(root, Buffer.from(file.secret, 'base64'), secretName)
  writeFileSync(path, JSON.stringify(authenticate(file, macKey(secret))))
}

/** A small log, a backup of it, and the path of a store that does not exist. */
async function backedUp() {
  const store = await makeSampleStore(2)
  const [backup, other] = [temporaryStore(), temporaryStore()]
  await backupStore({ store, to: backup })
  return { store, backup, other, keys: `${store}.keys` }
}

test('neither backup nor restore overwrites a file, or leaves one when it fails', async () => {
  const store = await makeSampleStore(2)
  const folder = dirname(store)
  const [backup, other] = [join(folder, 'b'), join(folder, 'other')]
  writeFileSync(backup, 'mine')
  await refuses('INVALID_INPUT', backupStore({ store, to: backup }))
  expect(readFileSync(backup, 'utf8')).toBe('mine')
  rmSync(backup)
  await backupStore({ store, to: backup })
  const keys = `${store}.keys`
  await refuses('INVALID_INPUT', restoreStore({ backup, store, keys }))
  await refuses('STORE_UNSAFE', backupStore({ store, to: join(folder, 'no', 'b') }))
  for (const end of ['', '-wal', '-journal']) {
    writeFileSync(`${other}${end}`, 'mine')
    await refuses('INVALID_INPUT', restoreStore({ backup, store: other, keys }))
    rmSync(`${other}${end}`)
  }
  expect(readdirSync(folder).filter(name => !name.startsWith('log.sqlite'))).toEqual(['b'])
})

test('a lost log is reported, opening it creates no file, and an empty file allows a restore', async () => {
  const { store, backup } = await backedUp()
  const folder = dirname(store)
  loseStore(store)
  const left = ['log.sqlite.keys', 'log.sqlite.mark']
  const message = expect.stringContaining('the log is missing, but its keyring is there')
  const hint = expect.stringContaining('Restore a backup')
  await refuses('KEYS_MISMATCH', openAverba({ store }), { message, hint })
  expect(readdirSync(folder).sort()).toEqual(left)
  // What is left of a log that stood in its journal alone: a file of averba without a table.
  useDatabase(store, stub => {
    stub.pragma('journal_mode = wal')
    stub.pragma('application_id = 0x61766572')
  })
  expect(statSync(store).size).toBe(4_096)
  await refuses('NOT_FOUND', diagnoseStore({ store }))
  await refuses('KEYS_MISMATCH', openAverba({ store }))
  // Another process may be making its log in it.
  const opened = await openSqlite(store)
  await opened.emptyJournal()
  await refuses('INVALID_INPUT', restoreStore({ backup, store }))
  await opened.close()
  await restoreStore({ backup, store })
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
  loseStore(store)
  // One table is somebody's.
  useDatabase(store, other => other.exec('create table mine (a)'))
  await refuses('INVALID_INPUT', restoreStore({ backup, store }))
  expect(readdirSync(folder).sort()).toEqual(['log.sqlite', ...left])
})

test('a restore requires the right keyring, and takes the one beside the store or the backup', async () => {
  const { store, backup, other } = await backedUp()
  const keys = `${await makeSampleStore(2)}.keys`
  await refuses('KEYS_MISSING', restoreStore({ backup, store: other }))
  const hint = expect.stringMatching(/^It needs the keyring keys_\w+ with the epochs 1$/)
  // The same seed gives the same keyring: this one is told apart by its id alone.
  writeKeyring(keys, JSON.parse(readFileSync(keys, 'utf8').replace('keys_', 'keys_0')))
  await refuses('KEYS_MISMATCH', restoreStore({ backup, store: other, keys }), { hint })
  expect(readdirSync(dirname(other))).toEqual([])
  copyFileSync(`${store}.keys`, `${backup}.keys`)
  expect((await restoreStore({ backup, store: other })).keys).toBe(`${other}.keys`)
  expect(statSync(`${other}.keys`).mode & 0o777).toBe(0o600)
  rmSync(other)
  expect((await restoreStore({ backup, store: other })).keys).toBe(`${other}.keys`)
})

test('a restore refuses a keyring beside the store that lacks an epoch, even with --keys', async () => {
  const { backup, other, keys } = await backedUp()
  const { epochs, ...file } = JSON.parse(readFileSync(keys, 'utf8'))
  const root = createSecretKey(Buffer.from(file.root, 'base64'))
  const second = encrypt(root, systemEntropy.bytes(32), 'epoch 2', systemEntropy).toString('base64')
  // The same keyring by its id, which was restored too old or too new.
  writeKeyring(`${other}.keys`, { ...file, epochs: { 2: second } })
  const message = expect.stringContaining(`${other}.keys": the epoch 1 is missing in the keyring`)
  await refuses('KEYS_MISMATCH', restoreStore({ backup, store: other, keys }), { message })
  writeKeyring(`${other}.keys`, { ...file, epochs: { ...epochs, 2: second } })
  await restoreStore({ backup, store: other, keys })
  await (await openAverba({ store: other })).close()
})

test('a restore refuses a backup exactly when diagnoseStore finds a fault, on any damaged page', async () => {
  const { store, backup, other: elsewhere, keys } = await backedUp()
  const whole = readFileSync(backup)
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
    const message = `Cannot restore "${backup}": it ends within a page: it was cut off`
    expect(await refusal()).toEqual({ code: 'CORRUPT', message })
  }
  const damaged = copyStore(store)
  truncateSync(damaged, statSync(damaged).size - 1)
  const message = `Cannot back up "${damaged}": it ends within a page: it was cut off`
  await refuses('CORRUPT', backupStore({ store: damaged, to: elsewhere }), { message })
  // A whole file with a changed event is not copied either, nor is a copy with one restored.
  writeFileSync(backup, whole)
  for (const path of [store, backup]) tamper(path, "update event set header = header || ' ' where position = 3")
  await refuses('CORRUPT', backupStore({ store, to: elsewhere }))
  await refuses('CORRUPT', restoreStore({ backup, store: elsewhere, keys }))
  expect(readdirSync(dirname(elsewhere)).filter(name => !name.endsWith('.keys'))).toEqual([])
})

test('a bundle of another export that began in the meantime is left unchanged', async () => {
  const dir = join(temporaryFolder(), 'bundle')
  const snapshot = await Snapshot.open(await makeSampleStore(2))
  const late = {
    name: 'log',
    async read<T>(steps: () => Steps<T>): Promise<T> {
      mkdirSync(dir, { recursive: true })
      writeFileSync(join(dir, 'key'), 'of the other')
      return snapshot.read(steps)
    },
  }
  const exporting = exportLog(late as unknown as Snapshot, dir) // It needs no more of one.
  await refuses('STORE_UNSAFE', exporting, { message: expect.stringContaining('EEXIST') })
  await snapshot.close()
  expect(readdirSync(dir)).toEqual(['key'])
  expect(readFileSync(join(dir, 'key'), 'utf8')).toBe('of the other')
})
