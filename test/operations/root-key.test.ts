import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import {
  backupStore,
  changeRootKey,
  diagnoseStore,
  environmentKeys,
  examine,
  exportBundle,
  type Keys,
  type LogLine,
  proveRecorded,
  rebuildStore,
  restoreStore,
  verifyLog,
} from '../../src/index.ts'
import { samples } from '../../src/simulation/index.ts'
import { averba, failedWith } from '../support/command-line.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase, withoutGuards } from '../support/use-database.ts'
import { openEngine } from '../support/world.ts'

const variable = 'AVERBA_TEST_ROOT_KEY'
const text = randomBytes(32).toString('base64')
const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }

function keysFrom(given: string): Keys {
  process.env[variable] = given
  try {
    return environmentKeys({ variable })
  } finally {
    delete process.env[variable]
  }
}
const rootKey = keysFrom(text)
const another = keysFrom(randomBytes(32).toString('base64'))
const open = () => openEngine({ store, keys: rootKey, receiver, schedules: false })

let store = ''
let backup = ''
/** A log with a root key outside the keyring, its mark, and a backup that is behind the mark. */
beforeEach(async () => {
  store = temporaryStore()
  backup = join(dirname(store), 'backup')
  const averba = await open()
  await averba.consents.enrol({ cpf: samples.cpf })
  await backupStore({ store, to: backup })
  const headers = { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
  const request = new Request(receiver.publicUrl, { method: 'POST', headers, body: '{}' })
  expect((await averba.receiver.fetch(request, { remoteAddress: '189.9.1.2' })).status).toBe(200)
  await averba.close()
})

function loseStore(): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
}

test('a log whose root key is held elsewhere verifies without the key', async () => {
  const averba = await open()
  expect(await averba.audit.verify()).toMatchObject({ level: 'held', faults: [] })
  await averba.audit.export(join(dirname(store), 'from-engine'))
  await averba.close()
  const ofKey = expect.stringContaining('key')
  const alone = await verifyLog({ store })
  expect(alone).toMatchObject({ level: 'self-consistent', faults: [] })
  const known = await verifyLog({ store, rootKey })
  expect(known).toMatchObject({ level: 'held', faults: [] })
  // Without the root key, two things more are unproven: whose key signs the log, and its tags.
  expect(alone.unproven.length).toBe(known.unproven.length + 2)
  expect(alone.unproven).toEqual(expect.arrayContaining([ofKey, expect.stringContaining('tags of the log')]))
  await expect(verifyLog({ store, rootKey: another })).rejects.toMatchObject({ code: 'KEYS_MISMATCH' })
})

test('export, prove and rebuild need the root key', async () => {
  const dir = join(dirname(store), 'bundle')
  const missing = { code: 'KEYS_MISSING', hint: expect.stringContaining('rootKey') }
  await expect(exportBundle({ store, dir })).rejects.toMatchObject(missing)
  expect(existsSync(dir)).toBe(false)
  expect((await exportBundle({ store, dir, rootKey })).events).toBeGreaterThan(2)
  expect(await proveRecorded({ store, event: 1, rootKey })).toContain('tlog-proof')
  expect((await rebuildStore({ store, rootKey })).every(each => each.differences === 0)).toBe(true)
  expect(await verifyLog({ store, rootKey })).toMatchObject({ level: 'held', faults: [] })
})

test('a restore with a rollback needs the root key, and leaves no file without it', async () => {
  loseStore()
  for (const [code, given] of [
    ['KEYS_MISSING', {}],
    ['KEYS_MISMATCH', { rootKey: another }],
  ] as const) {
    await expect(restoreStore({ backup, store, acceptRollback: true, ...given })).rejects.toMatchObject({ code })
    expect(existsSync(store)).toBe(false)
  }
  const { resumedAs } = await restoreStore({ backup, store, acceptRollback: true, rootKey })
  const averba = await open()
  const resumed = await Array.fromAsync(averba.log.read({ types: ['log.resumed'] }))
  expect(resumed).toMatchObject([{ data: { origin: resumedAs } }])
})

test('a restore without a rollback needs no root key, but refuses a wrong one', async () => {
  const elsewhere = temporaryStore()
  const keys = `${store}.keys`
  const newest = `${elsewhere}.backup`
  await backupStore({ store, to: newest })
  const refused = restoreStore({ backup: newest, store: elsewhere, keys, rootKey: another })
  await expect(refused).rejects.toMatchObject({ code: 'KEYS_MISMATCH' })
  expect(existsSync(elsewhere)).toBe(false)
  await expect(restoreStore({ backup, store: elsewhere, keys })).rejects.toMatchObject({ code: 'ROLLED_BACK' })
  expect(await restoreStore({ backup: newest, store: elsewhere, keys })).toMatchObject({ store: elsewhere })
})

test('the commands read the root key from the variable named by --root-key-from', async () => {
  vi.stubEnv(variable, text)
  onTestFinished(() => void vi.unstubAllEnvs())
  const run = async (...args: string[]) =>
    JSON.parse((await averba(...args, '--root-key-from', variable, '--json')).out)
  expect(await run('verify', store)).toMatchObject({ level: 'held', faults: [] })
  expect(await run('export', store, '--dir', join(dirname(store), 'bundle'))).toMatchObject({ parts: 2 })
  expect(await run('prove', store, '1')).toMatchObject({ event: '1' })
  expect(await run('rebuild', store)).toMatchObject({ isWhole: true })
  loseStore()
  expect(await run('restore', backup, store, '--accept-rollback')).toMatchObject({
    resumedAs: expect.stringMatching(/^log_/),
  })
})

test('a log moves to another root key, to one in its keyring, and back: only the present one opens it', async () => {
  const mismatch = { code: 'KEYS_MISMATCH' }
  const subject = await (await open()).consents.enrol({ cpf: samples.cpf })
  const former = readFileSync(`${store}.keys`)
  await changeRootKey({ store, rootKey, newRootKey: another })
  await expect(open()).rejects.toMatchObject({ ...mismatch, hint: expect.stringContaining(another.id) })
  expect(await verifyLog({ store, rootKey: another })).toMatchObject({ level: 'held', faults: [] })
  await changeRootKey({ store, rootKey: another })
  await expect(openEngine({ store, keys: another })).rejects.toMatchObject(mismatch)
  const alone = await openEngine({ store })
  expect(await alone.consents.enrol({ cpf: samples.cpf })).toBe(subject)
  await alone.subjects.erase({ subject }, { requester: 'r', legalBasis: 'LGPD art. 18, VI' })
  await alone.close()
  await changeRootKey({ store, newRootKey: rootKey })
  await expect(openEngine({ store })).rejects.toMatchObject({ code: 'KEYS_MISSING' })
  expect(await (await open()).consents.enrol({ cpf: samples.cpf })).not.toBe(subject)
  expect(readFileSync(`${store}.keys`).equals(former)).toBe(false)
})

test('a holder that does not open what it wrapped changes nothing', async () => {
  const former = readFileSync(`${store}.keys`, 'utf8')
  const broken: Keys = { ...another, unwrap: async () => randomBytes(32) }
  await expect(changeRootKey({ store, rootKey, newRootKey: broken })).rejects.toMatchObject({ code: 'KEYS_MISMATCH' })
  expect(readFileSync(`${store}.keys`, 'utf8')).toBe(former)
  await expect(changeRootKey({ store, newRootKey: another })).rejects.toMatchObject({ code: 'KEYS_MISSING' })
})

test('an engine that is open while the root key changes reports that it cannot read its keyring', async () => {
  const errors: unknown[] = []
  const logger = ({ error }: LogLine) => void errors.push(error)
  const averba = await openEngine({ store, keys: rootKey, logger, schedules: false })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await changeRootKey({ store, rootKey, newRootKey: another })
  await expect(
    averba.subjects.erase({ subject }, { requester: 'r', legalBasis: 'LGPD art. 18, VI' }),
  ).resolves.toMatchObject({ completed: null })
  expect(errors).toContain('KEYS_MISMATCH')
})

test('averba change-root-key takes both keys from variables', async () => {
  vi.stubEnv(variable, text)
  vi.stubEnv(`${variable}_NEW`, randomBytes(32).toString('base64'))
  onTestFinished(() => void vi.unstubAllEnvs())
  const { out, code } = await averba(
    ...['change-root-key', store, '--root-key-from', variable, '--new-root-key-from', `${variable}_NEW`],
  )
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/now opens with the root key keys_\w{20} only: the option keys must hold it\.$/m),
  ])
  const same = ['--root-key-from', `${variable}_NEW`, '--new-root-key-from', `${variable}_NEW`]
  expect(await averba('change-root-key', store, ...same)).toMatchObject(failedWith(/^INVALID_INPUT: .* present one\n/))
  expect((await averba('rebuild', store, '--root-key-from', variable)).code).not.toBe(0)
  expect((await averba('rebuild', store, '--root-key-from', `${variable}_NEW`)).code).toBe(0)
})

test('a root key that is given instead of the name of its variable is not repeated', async () => {
  const key = randomBytes(32).toString('base64')
  const { code, out, err } = await averba('change-root-key', store, '--new-root-key-from', key)
  expect([code, out, err.includes(key)]).toEqual([1, '', false])
  expect(err).toMatch(/^INVALID_INPUT: .* name of an environment variable/)
})

test('a deep diagnosis of a log whose root key is held elsewhere needs that key', async () => {
  useDatabase(store, database => {
    withoutGuards(database, () => database.exec("update event set tag = 'AAAAAAAAAAAAAAAAAAAAAA' where position = 2"))
  })
  const blind = await diagnoseStore({ store, isDeep: true })
  expect(blind.problems).toEqual([expect.stringMatching(/^keys: tags, index and owners' keys are not checked: /)])
  const seeing = await diagnoseStore({ store, isDeep: true, rootKey })
  expect(seeing.problems).toContainEqual(expect.stringMatching(/^tags: /))
  vi.stubEnv(variable, text)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { code, out } = await averba('doctor', store, '--deep', '--root-key-from', variable)
  expect([code, out]).toEqual([1, expect.stringMatching(/^ +tags: /m)])
})

test.each<[string, Keys | undefined, RegExp]>([
  ['no root key', undefined, /does not hold its root key/],
  ['another root key', another, /it is under another root key/],
  ['its root key', rootKey, /^keys_/],
])('an examination of a configuration with %s says whether it opens the log', async (_, keys, detail) => {
  const { checks } = await examine({ store, ...(keys && { keys }) })
  const ok = keys === rootKey
  expect(checks.find(({ name }) => name === 'keyring')).toMatchObject({ ok, detail: expect.stringMatching(detail) })
})
