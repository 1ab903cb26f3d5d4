import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test, vi } from 'vitest'
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
import { eventsOf } from '../support/events-of.ts'
import { loseStore } from '../support/lose-store.ts'
import { notify } from '../support/notify.ts'
import { refuses } from '../support/refuses.ts'
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
const asked = { requester: 'r', legalBasis: 'LGPD art. 18, VI' }
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
  expect((await notify(averba, {})).status).toBe(200)
  await averba.close()
})

test('a new log has another signing key, and the former one is evidence without its keyring', async () => {
  const exported = async (from: string) => {
    await exportBundle({ store: from, dir: `${from}-bundle`, rootKey })
    return { store: `${from}-bundle`, keys: [readFileSync(`${from}-bundle/key`, 'utf8').trim()] }
  }
  const former = await exported(store)
  rmSync(`${store}.keys`)
  expect(await verifyLog({ ...former, mark: `${store}.mark` })).toMatchObject({ level: 'held', faults: [] })
  store = temporaryStore()
  await (await open()).close()
  expect((await exported(store)).keys).not.toEqual(former.keys)
})

test('a log whose root key is held elsewhere verifies without the key', async () => {
  const averba = await open()
  expect(await averba.audit.verify()).toMatchObject({ level: 'held', faults: [] })
  await averba.audit.export(join(dirname(store), 'from-engine'))
  await averba.close()
  const alone = await verifyLog({ store })
  expect(alone).toMatchObject({ level: 'self-consistent', faults: [] })
  const known = await verifyLog({ store, rootKey })
  expect(known).toMatchObject({ level: 'held', faults: [] })
  // Without the root key, two things more are unproven: whose key signs the log, and its tags.
  expect(alone.unproven.length).toBe(known.unproven.length + 2)
  for (const what of ['key', 'tags of the log']) expect(alone.unproven).toContainEqual(expect.stringContaining(what))
  await refuses('KEYS_MISMATCH', verifyLog({ store, rootKey: another }))
})

test('export, prove and rebuild need the root key', async () => {
  const dir = join(dirname(store), 'bundle')
  await refuses('KEYS_MISSING', exportBundle({ store, dir }), { hint: expect.stringContaining('rootKey') })
  expect(existsSync(dir)).toBe(false)
  expect((await exportBundle({ store, dir, rootKey })).events).toBeGreaterThan(2)
  expect(await proveRecorded({ store, event: 1, rootKey })).toContain('tlog-proof')
  expect((await rebuildStore({ store, rootKey })).every(each => each.differences === 0)).toBe(true)
  expect(await verifyLog({ store, rootKey })).toMatchObject({ level: 'held', faults: [] })
})

test('a restore with a rollback needs the root key, and leaves no file without it', async () => {
  loseStore(store)
  for (const [code, given] of [
    ['KEYS_MISSING', {}],
    ['KEYS_MISMATCH', { rootKey: another }],
  ] as const) {
    await refuses(code, restoreStore({ backup, store, acceptRollback: true, ...given }))
    expect(existsSync(store)).toBe(false)
  }
  const { resumedAs } = await restoreStore({ backup, store, acceptRollback: true, rootKey })
  const averba = await open()
  expect(await eventsOf({ averba }, 'log.resumed')).toMatchObject([{ data: { origin: resumedAs } }])
})

test('a restore without a rollback needs no root key, but refuses a wrong one', async () => {
  const elsewhere = temporaryStore()
  const keys = `${store}.keys`
  const newest = `${elsewhere}.backup`
  await backupStore({ store, to: newest })
  await refuses('KEYS_MISMATCH', restoreStore({ backup: newest, store: elsewhere, keys, rootKey: another }))
  expect(existsSync(elsewhere)).toBe(false)
  await refuses('ROLLED_BACK', restoreStore({ backup, store: elsewhere, keys }))
  expect(await restoreStore({ backup: newest, store: elsewhere, keys })).toMatchObject({ store: elsewhere })
})

test('the commands read the root key from the variable named by --root-key-from', async () => {
  vi.stubEnv(variable, text)
  const run = async (...args: string[]) =>
    JSON.parse((await averba(...args, '--root-key-from', variable, '--json')).out)
  expect(await run('verify', '--store', store)).toMatchObject({ level: 'held', faults: [] })
  expect(await run('export', '--store', store, '--dir', join(dirname(store), 'bundle'))).toMatchObject({ parts: 2 })
  expect(await run('prove', '--store', store, '1')).toMatchObject({ event: '1' })
  expect(await run('rebuild', '--store', store)).toMatchObject({ isWhole: true })
  loseStore(store)
  const resumedAs = expect.stringMatching(/^log_/)
  expect(await run('restore', backup, store, '--accept-rollback')).toMatchObject({ resumedAs })
})

test('a log moves to another root key, to one in its keyring, and back: only the present one opens it', async () => {
  const subject = await (await open()).consents.enrol({ cpf: samples.cpf })
  const former = readFileSync(`${store}.keys`)
  await changeRootKey({ store, rootKey, newRootKey: another })
  await refuses('KEYS_MISMATCH', open(), { hint: expect.stringContaining(another.id) })
  expect(await verifyLog({ store, rootKey: another })).toMatchObject({ level: 'held', faults: [] })
  await changeRootKey({ store, rootKey: another })
  await refuses('KEYS_MISMATCH', openEngine({ store, keys: another }))
  const alone = await openEngine({ store })
  expect(await alone.consents.enrol({ cpf: samples.cpf })).toBe(subject)
  await alone.subjects.erase({ subject }, asked)
  await alone.close()
  await changeRootKey({ store, newRootKey: rootKey })
  await refuses('KEYS_MISSING', openEngine({ store }))
  expect(await (await open()).consents.enrol({ cpf: samples.cpf })).not.toBe(subject)
  expect(readFileSync(`${store}.keys`).equals(former)).toBe(false)
})

test('a holder that does not open what it wrapped changes nothing', async () => {
  const former = readFileSync(`${store}.keys`, 'utf8')
  const broken: Keys = { ...another, unwrap: async () => randomBytes(32) }
  await refuses('KEYS_MISMATCH', changeRootKey({ store, rootKey, newRootKey: broken }))
  expect(readFileSync(`${store}.keys`, 'utf8')).toBe(former)
  await refuses('KEYS_MISSING', changeRootKey({ store, newRootKey: another }))
})

test('an engine that is open while the root key changes reports that it cannot read its keyring', async () => {
  const errors: unknown[] = []
  const logger = ({ error }: LogLine) => void errors.push(error)
  const averba = await openEngine({ store, keys: rootKey, logger, schedules: false })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await changeRootKey({ store, rootKey, newRootKey: another })
  expect(await averba.subjects.erase({ subject }, asked)).toMatchObject({ completed: null })
  expect(errors).toContain('KEYS_MISMATCH')
})

test('averba change-root-key takes both keys from variables', async () => {
  vi.stubEnv(variable, text)
  vi.stubEnv(`${variable}_NEW`, randomBytes(32).toString('base64'))
  const keys = ['--root-key-from', variable, '--new-root-key-from', `${variable}_NEW`]
  const said = expect.stringMatching(/now opens with the root key keys_\w{20} only: the option keys must hold it\.$/m)
  expect(await averba('change-root-key', '--store', store, ...keys)).toMatchObject({ code: 0, out: said })
  const same = ['--root-key-from', `${variable}_NEW`, '--new-root-key-from', `${variable}_NEW`]
  expect(await averba('change-root-key', '--store', store, ...same)).toMatchObject(
    failedWith(/^INVALID_INPUT: .* present one\n/),
  )
  expect((await averba('rebuild', '--store', store, '--root-key-from', variable)).code).not.toBe(0)
  expect((await averba('rebuild', '--store', store, '--root-key-from', `${variable}_NEW`)).code).toBe(0)
  // A key that is given instead of the name of its variable is not repeated.
  const { code, out, err } = await averba('change-root-key', '--store', store, '--new-root-key-from', text)
  expect([code, out, err.includes(text)]).toEqual([1, '', false])
  expect(err).toMatch(/^INVALID_INPUT: .* name of an environment variable/)
})

test('a deep diagnosis of a log whose root key is held elsewhere needs that key', async () => {
  const change = "update event set tag = 'AAAAAAAAAAAAAAAAAAAAAA' where position = 2"
  useDatabase(store, database => withoutGuards(database, () => database.exec(change)))
  const blind = await diagnoseStore({ store, isDeep: true })
  expect(blind.problems).toEqual([expect.stringMatching(/^keys: tags, index and owners' keys are not checked: /)])
  const seeing = await diagnoseStore({ store, isDeep: true, rootKey })
  expect(seeing.problems).toContainEqual(expect.stringMatching(/^tags: /))
  vi.stubEnv(variable, text)
  const { code, out } = await averba('doctor', '--store', store, '--deep', '--root-key-from', variable)
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
