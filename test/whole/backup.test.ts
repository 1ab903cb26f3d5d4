import { execFile } from 'node:child_process'
import { createSecretKey } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import Sqlite from 'better-sqlite3'
import { expect, test } from 'vitest'
import { type Averba, type AverbaError, backupStore, diagnoseStore, openAverba, restoreStore } from '../../src/index.ts'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { encrypt } from '../../src/vault/encrypt.ts'
import { copyStore, makeSampleStore, newPath } from '../store/sample-store.ts'

const root = resolve(import.meta.dirname, '../..')
const averba = (...args: string[]) => promisify(execFile)(process.execPath, ['src/cli/main.ts', ...args], { cwd: root })
const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }

function notify(engine: Averba, i: number): Promise<Response> {
  const request = new Request(receiver.publicUrl, {
    method: 'POST',
    headers: { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' },
    body: JSON.stringify({ i }),
  })
  return engine.receiver.fetch(request, { remoteAddress: '189.9.1.2' })
}

async function bodiesOf(engine: Averba): Promise<number[]> {
  const bodies: number[] = []
  for await (const { body } of engine.notifications.list()) bodies.push((body as { i: number }).i)
  return bodies.sort((a, b) => a - b)
}

/** Appends numbers until it is stopped, and prints which were acknowledged. */
function putUnderLoad(engine: Averba, from: number) {
  const acknowledged: number[] = []
  let isStopped = false
  const work = Array.from({ length: 8 }, async (_, worker) => {
    for (let i = from + worker; !isStopped; i += 8) if ((await notify(engine, i)).status === 200) acknowledged.push(i)
  })
  return {
    acknowledged,
    async stop() {
      isStopped = true
      await Promise.all(work)
    },
  }
}

test('a backup made under load and restored elsewhere has everything acknowledged, and works', async () => {
  const store = newPath()
  const engine = await openAverba({ store, receiver })
  const all: number[] = []

  // One backup is made inside the process, one by the command in another process.
  for (const make of [
    (to: string) => backupStore({ store, to }),
    async (to: string) => JSON.parse((await averba('backup', store, to, '--json')).stdout),
  ]) {
    const load = putUnderLoad(engine, Math.max(-1, ...all) + 1)
    await expect.poll(() => load.acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(200)
    const before = [...all, ...load.acknowledged]
    const backup = join(dirname(store), `backup-${before.length}`)
    const made = await make(backup)
    await load.stop()
    all.push(...load.acknowledged)
    expect(all.length).toBeGreaterThan(before.length)
    expect(made).toMatchObject({ file: backup, epochs: [1], pending: [], bytes: statSync(backup).size })
    expect(statSync(backup).mode & 0o777).toBe(0o600)
    // A single file: the header says that it has no write-ahead log.
    expect([...readFileSync(backup).subarray(18, 20)]).toEqual([1, 1])

    const elsewhere = newPath()
    const restored = await restoreStore({ backup, store: elsewhere, keys: `${store}.keys` })
    expect(restored).toMatchObject({ position: made.position, at: made.at, views: [], pending: [] })
    const again = await openAverba({ store: elsewhere, receiver })
    const bodies = new Set(await bodiesOf(again))
    expect(before.filter(i => !bodies.has(i))).toEqual([])
    expect((await again.rebuild()).every(view => view.differences === 0)).toBe(true)
    const positions: number[] = []
    for await (const event of again.log.read()) positions.push(event.position)
    expect(positions).toEqual(Array.from({ length: made.position }, (_, i) => i + 1))
    expect((await notify(again, 1_000_000)).status).toBe(200)
    expect(await bodiesOf(again)).toContain(1_000_000)
    await again.close()
    expect((await diagnoseStore({ store: elsewhere, isDeep: true })).problems).toEqual([])
    rmSync(backup)
  }
  expect(new Set(await bodiesOf(engine))).toEqual(new Set(all))
  await engine.close()
})

test('neither command overwrites a file, or leaves one when it fails', async () => {
  const store = await makeSampleStore(2)
  const folder = dirname(store)
  const [backup, other] = [join(folder, 'b'), join(folder, 'other')]
  writeFileSync(backup, 'mine')
  await expect(backupStore({ store, to: backup })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(readFileSync(backup, 'utf8')).toBe('mine')
  rmSync(backup)
  await backupStore({ store, to: backup })
  await expect(restoreStore({ backup, store, keys: `${store}.keys` })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
  await expect(backupStore({ store, to: join(folder, 'no', 'b') })).rejects.toMatchObject({
    code: 'STORE_UNSAFE',
  })
  for (const end of ['', '-wal', '-journal']) {
    writeFileSync(`${other}${end}`, 'mine')
    await expect(restoreStore({ backup, store: other, keys: `${store}.keys` })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    })
    rmSync(`${other}${end}`)
  }
  expect(readdirSync(folder).filter(name => !name.startsWith('log.sqlite'))).toEqual(['b'])
})

test('a lost log is reported, opening it creates no file, and an empty file allows a restore', async () => {
  const store = await makeSampleStore(2)
  const folder = dirname(store)
  const backup = newPath()
  await backupStore({ store, to: backup })
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
  const left = ['log.sqlite.keys', 'log.sqlite.mark']
  await expect(openAverba({ store })).rejects.toMatchObject({
    code: 'KEYS_MISMATCH',
    message: expect.stringContaining('the log is missing, but its keyring is there'),
    hint: expect.stringContaining('Restore a backup'),
  })
  expect(readdirSync(folder).sort()).toEqual(left)
  // The rest of a log that was in its journal only: a file of averba without a table.
  const stub = new Sqlite(store)
  stub.pragma('journal_mode = wal')
  stub.pragma('application_id = 0x61766572')
  stub.close()
  expect(statSync(store).size).toBe(4_096)
  await expect(diagnoseStore({ store })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(openAverba({ store })).rejects.toMatchObject({ code: 'KEYS_MISMATCH' })
  await restoreStore({ backup, store })
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
  // A file with a table belongs to another program.
  const other = new Sqlite(store)
  other.exec('create table mine (a)')
  other.close()
  await expect(restoreStore({ backup, store })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(readdirSync(folder).sort()).toEqual(['log.sqlite', ...left])
})

test('a restore requires the right keyring, and takes the one beside the store or the backup', async () => {
  const store = await makeSampleStore(2)
  const stranger = await makeSampleStore(2)
  const [backup, other] = [newPath(), newPath()]
  await backupStore({ store, to: backup })
  await expect(restoreStore({ backup, store: other })).rejects.toMatchObject({ code: 'KEYS_MISSING' })
  const keys = `${stranger}.keys`
  const hint = expect.stringMatching(/^It needs the keyring keys_\w+ with the epochs 1$/)
  // The same seed gives the same keyring: only the id differs.
  writeFileSync(keys, readFileSync(keys, 'utf8').replace('keys_', 'keys_0'))
  await expect(restoreStore({ backup, store: other, keys })).rejects.toMatchObject({
    code: 'KEYS_MISMATCH',
    hint,
  })
  expect(readdirSync(dirname(other))).toEqual([])
  copyFileSync(`${store}.keys`, `${backup}.keys`)
  expect((await restoreStore({ backup, store: other })).keys).toBe(`${other}.keys`)
  expect(statSync(`${other}.keys`).mode & 0o777).toBe(0o600)
  rmSync(other)
  expect((await restoreStore({ backup, store: other })).keys).toBe(`${other}.keys`)
})

test('a restore refuses a keyring beside the store that lacks an epoch, even with --keys', async () => {
  const store = await makeSampleStore(2)
  const [backup, other] = [newPath(), newPath()]
  await backupStore({ store, to: backup })
  const { epochs, ...file } = JSON.parse(readFileSync(`${store}.keys`, 'utf8'))
  const second = encrypt(
    createSecretKey(Buffer.from(file.root, 'base64')),
    systemEntropy.bytes(32),
    'epoch 2',
    systemEntropy,
  ).toString('base64')
  // A keyring with the same id that was restored from too early or too late.
  writeFileSync(`${other}.keys`, JSON.stringify({ ...file, epochs: { 2: second } }))
  await expect(restoreStore({ backup, store: other, keys: `${store}.keys` })).rejects.toMatchObject({
    code: 'KEYS_MISMATCH',
    message: expect.stringContaining(`${other}.keys": the epoch 1 is missing in the keyring`),
  })
  writeFileSync(`${other}.keys`, JSON.stringify({ ...file, epochs: { ...epochs, 2: second } }))
  await restoreStore({ backup, store: other, keys: `${store}.keys` })
  await (await openAverba({ store: other })).close()
})

test('a damaged store cannot be backed up, and a damaged backup cannot be restored', async () => {
  const store = await makeSampleStore(2)
  const [backup, elsewhere] = [newPath(), newPath()]
  await backupStore({ store, to: backup })
  const tamper = (path: string) => {
    const database = new Sqlite(path)
    database.exec("drop trigger event_no_update; update event set header = header || ' ' where position = 3")
    database.close()
  }
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
    const found = await diagnoseStore({ store: backup, keys, isDeep: true }).then(
      ({ problems }) => problems.filter(problem => !problem.startsWith('views: ')),
      () => ['cannot be opened'],
    )
    const refusing = await refusal()
    expect(refusing !== undefined, `page at ${at}: ${refusing?.message}`).toBe(found.length > 0)
    if (refusing === undefined) continue
    refused += 1
    expect(refusing.message).toContain(`"${backup}"`)
    // The temporary name of the copy would not help the reader.
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

test('the commands report what an operator has to know, as text and as JSON', async () => {
  const store = await makeSampleStore(2)
  const [backup, elsewhere] = [newPath(), newPath()]
  const made = await averba('backup', store, backup)
  expect(made.stdout).toMatch(/The keyring is NOT in it: back up \S+log\.sqlite\.keys too/)
  expect(made.stdout).toMatch(/events up to 2026-11-20T12:00:00\.\d{3}Z/)
  const restored = await averba('restore', backup, elsewhere, '--keys', `${store}.keys`)
  expect(restored.stdout).toMatch(/Later events are not in it/)
  expect(restored.stdout).toMatch(
    /WARNING[\s\S]*makes them AGAIN, except unknown and parked ones[\s\S]*1 validationService\.validatePerson, unknown/,
  )
  expect(existsSync(`${elsewhere}.keys`)).toBe(true)
  const well = await averba('doctor', elsewhere, '--deep')
  expect(well.stdout).toMatch(/No problems\.\n$/)
  expect(JSON.parse((await averba('doctor', elsewhere, '--json')).stdout).problems).toEqual([])
  rmSync(`${elsewhere}.keys`)
  await expect(averba('doctor', elsewhere)).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/WRONG:\n {2}keys: the keyring is missing.* --keys on the command line/),
  })
  // The keyring of a backup is kept apart from it.
  const apart = await averba('doctor', backup, '--keys', `${store}.keys`, '--deep', '--json')
  const { keys, problems } = JSON.parse(apart.stdout)
  expect([keys.path, problems]).toEqual([`${store}.keys`, []])
  const another = newPath()
  await (await openAverba({ store: another })).close()
  const foreign = averba('doctor', backup, '--keys', `${another}.keys`)
  await expect(foreign).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/WRONG:\n {2}keys: /),
  })
  await expect(averba('doctor', '--keys', `${store}.keys`)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^INVALID_INPUT: .*Cannot use --keys without a store/),
  })
  await expect(averba('doctor', 'no-such-file')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^NOT_FOUND: .*\nName the file of a log/),
  })
  const gone = newPath()
  copyFileSync(`${store}.keys`, `${gone}.keys`)
  await expect(averba('doctor', gone)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^NOT_FOUND: .*\nIts keyring is there: restore a backup/),
  })
  for (const command of ['backup', 'restore', 'doctor'])
    expect((await averba(command, '--help')).stdout).toMatch(/Exit codes: 0 /)
})

test('a restore prints who was erased since the backup, and the command to repeat it', async () => {
  const store = newPath()
  const engine = await openAverba({ store, schedules: false })
  const subject = await engine.consents.enrol({ cpf: '25774435016' })
  expect((await averba('backup', store, `${store}.backup`)).stdout).toMatch(/ 2 events up to \S+, 1 part, /)
  const asked = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }
  const { erasedAt } = await engine.subjects.erase({ subject }, asked)
  await engine.close()
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
  const { stdout } = await averba('restore', `${store}.backup`, store, '--accept-rollback')
  expect(stdout).toMatch(/^Lost, according to the high-water mark: at least [2-9] events\.$/m)
  expect(stdout).toContain('WARNING: these people were erased after the backup, and are BACK.')
  expect(stdout).toContain(`erased ${erasedAt}: averba erase ${store} --subject ${subject} --requester`)
})
