import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Averba,
  backupStore,
  diagnoseStore,
  examine,
  exportBundle,
  proveRecorded,
  restoreStore,
  valueOf,
  verifyLog,
} from '../../../src/index.ts'
import { LogVerifier } from '../../../src/proof/log-verifier.ts'
import { createVerifierKey, parseCheckpoint, writeVerifierKey } from '../../../src/proof/note.ts'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import { samples, VirtualClock } from '../../../src/simulation/index.ts'
import { restoreBackup } from '../../../src/store/files/restore.ts'
import { parseVerifierKey, verifyTlogProof } from '../../../src/verify.ts'
import { views } from '../../../src/views/views.ts'
import { UnsentError } from '../../../src/vocabulary/connection-errors.ts'
import { averba, failedWith } from '../../support/command-line.ts'
import { passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

/** A simulated world with a file store, whose services can be made unreachable so that effects stay pending. */
async function openReachable(store: string, seed = 1) {
  const sent: string[] = []
  const reach = { isOpen: true }
  const world = await openWorld({
    seed,
    averba: { store, schedules: false },
    async intercept(request, forward) {
      if (!reach.isOpen) throw new UnsentError('The service is out of reach')
      sent.push(`${request.method} ${new URL(request.url).hostname}`)
      return forward(request)
    },
  })
  return { ...world, sent, reach }
}

const validate = (averba: Averba, id: string) =>
  averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'X' } })

/** A lost log whose backup was made while a paid call and a reading were pending. */
async function backedUp() {
  const store = temporaryStore()
  const world = await openReachable(store)
  const { averba, reach } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  valueOf(await validate(averba, 'paid-1')) // The token is there.
  reach.isOpen = false
  expect(await validate(averba, 'paid-2')).toMatchObject({ status: 'deferred' })
  expect(await averba.consents.sync({ subject })).toMatchObject({ status: 'deferred' })
  const backup = `${store}.backup`
  await backupStore({ store, to: backup })
  reach.isOpen = true
  await passTime({ averba, clock: world.clock }, 60 * 60_000)
  expect((await averba.validations.get('paid-2'))?.state).toBe('answered')
  await world.close()
  const keys = readFileSync(`${store}.keys`)
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
  return { store, backup, keys }
}

test('a log that was put back where it is continues with a record of it, and sends no call again', async () => {
  const { store, backup } = await backedUp()
  copyFileSync(backup, store)
  await expect(openEngine({ store })).rejects.toMatchObject({
    code: 'ROLLED_BACK',
    hint: expect.stringContaining('averba resume'),
  })
  const { code, out } = await averba('resume', store)
  expect(code).toBe(0)
  expect(out).toMatch(
    /^The log of \d+ events up to .+ continues as log_\w+, and has recorded that\.\nLost, .+: at least \d+ events\.\n/,
  )
  expect(out).toContain('All but readings become unknown')
  const world = await openReachable(store)
  await passTime({ averba: world.averba, clock: world.clock }, 60 * 60_000)
  expect((await world.averba.validations.get('paid-2'))?.state).toBe('inconclusive')
  expect(world.sent.filter(each => each.startsWith('POST validacao'))).toEqual([])
  expect(await averba('resume', `${store}.none`)).toMatchObject(failedWith(/^NOT_FOUND/))
})

test('an interrupted restore leaves no store and can be repeated', async () => {
  const { store, backup } = await backedUp()
  const seen: boolean[] = []
  const dying = new VirtualClock()
  dying.now = () => {
    seen.push(existsSync(store))
    throw new RangeError('the process ends here')
  }
  const cutOff = restoreStore({ backup, store, acceptRollback: true, clock: dying })
  await expect(cutOff).rejects.toThrow('the process ends here')
  expect(new Set(seen)).toEqual(new Set([false]))
  const left = readdirSync(dirname(store)).filter(name => name.startsWith(basename(store)))
  expect(left.sort()).toEqual(['', '.backup', '.keys', '.mark'].map(end => basename(store) + end).slice(1))
  const restored = await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  expect(restored.resumedAs).not.toBe(restored.origin)
  expect((await verifyLog({ store })).faults).toEqual([])
})

test('a copy that SQLite could not write completely is not renamed', async () => {
  const { store, backup } = await backedUp()
  const accept = async (copy: string) => writeFileSync(`${copy}-wal`, 'what could not be moved')
  const restoring = restoreBackup({ store, backup, accept, views, entropy: systemEntropy })
  await expect(restoring).rejects.toMatchObject({ code: 'STORE_UNSAFE', hint: expect.any(String) })
  expect(existsSync(store)).toBe(false)
})

test('the mark of the former log stays until the restored log is renamed', async () => {
  const { store, backup } = await backedUp()
  const mark = readFileSync(`${store}.mark`)
  const clock = new VirtualClock()
  const now = clock.now.bind(clock)
  clock.now = () => {
    writeFileSync(store, 'somebody else was faster')
    return now()
  }
  const late = restoreStore({ backup, store, acceptRollback: true, clock })
  await expect(late).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(readFileSync(`${store}.mark`)).toEqual(mark)
  rmSync(store)
  const marked = parseCheckpoint(mark.toString())?.size ?? 0
  const restored = await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  expect(restored.lostEvents).toBe(marked - restored.position)
  expect(readFileSync(`${store}.mark`, 'utf8')).toContain(restored.resumedAs)
  expect(await verifyLog({ store })).toMatchObject({ level: 'held', faults: [] })
})

test('a damaged mark is reported as such and says nothing about the backup', async () => {
  const { store, backup } = await backedUp()
  const mark = readFileSync(`${store}.mark`, 'utf8')
  writeFileSync(`${store}.mark`, mark.slice(0, mark.length / 2))
  await expect(restoreStore({ backup, store })).rejects.toMatchObject({
    code: 'ROLLED_BACK',
    hint: expect.stringMatching(/^It says nothing about the backup: move the mark away/),
  })
})

test('a backup behind the mark is restored only when the rollback is accepted', async () => {
  const { store, backup } = await backedUp()
  const marked = parseCheckpoint(readFileSync(`${store}.mark`, 'utf8'))?.size ?? 0
  await expect(restoreStore({ backup, store })).rejects.toMatchObject({
    code: 'ROLLED_BACK',
    message: expect.stringContaining(`had ${marked} when`),
    hint: expect.stringContaining('--accept-rollback'),
  })
  const restored = await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  expect(restored.resumedAs).not.toBe(restored.origin)
  expect(restored.lostEvents).toBe(marked - restored.position)
  const verdict = await verifyLog({ store })
  expect(verdict).toMatchObject({ level: 'held', faults: [], origin: restored.resumedAs })
  // The event with the new name contains the old name and what is lost.
  const world = await openReachable(store)
  const resumed = await Array.fromAsync(world.averba.log.read({ types: ['log.resumed'] }))
  expect(resumed).toHaveLength(1)
  expect(resumed[0]?.data).toMatchObject({
    origin: restored.resumedAs,
    before: restored.origin,
    size: restored.position,
    lost: { size: expect.any(Number) },
  })
  await world.close()
})

test('after a restore, pending paid calls become unknown and are not repeated; readings are made', async () => {
  const { store, backup } = await backedUp()
  await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  // Another seed, so that the gateway does not issue the token that the log already has.
  const world = await openReachable(store, 2)
  await passTime(world, 24 * 60 * 60_000)
  expect((await world.averba.validations.get('paid-2'))?.state).toBe('inconclusive')
  expect(world.sent.filter(each => each.includes('validacao'))).toEqual([])
  expect(world.sent.filter(each => each.includes('consentimento'))).not.toEqual([])
  // New calls work.
  valueOf(await validate(world.averba, 'paid-3'))
  await world.close()
  expect(await verifyLog({ store })).toMatchObject({ level: 'held', faults: [] })
})

test('after a restore, an erasure reports that a pending paid call may have been made', async () => {
  const { store, backup } = await backedUp()
  await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  const { averba } = await openReachable(store, 2)
  await averba.subjects.erase({ cpf: samples.cpf }, { requester: 'pedido-1', legalBasis: 'LGPD 18 VI' })
  await expect(validate(averba, 'paid-2')).rejects.toMatchObject({
    code: 'SUBJECT_ERASED',
    message: expect.stringContaining('Its call was perhaps made'),
  })
})

test('a restored log whose mark was not written yet can be opened', async () => {
  const { store, backup } = await backedUp()
  copyFileSync(`${store}.mark`, `${store}.lost`)
  await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  writeFileSync(`${store}.mark`, readFileSync(`${store}.lost`))
  const world = await openReachable(store)
  await world.close()
  expect(await verifyLog({ store })).toMatchObject({ level: 'held', faults: [] })
})

const asked = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }
const remembered = (store: string) => Object.keys(JSON.parse(readFileSync(`${store}.keys`, 'utf8')).erased ?? {})
const check = async (averba: Averba) => (await averba.health({ only: ['erasures'] })).checks[0]

/** A log that was lost after two erasures, one of them partial. Its backup was made before both. */
async function erasedSince() {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store, schedules: false } })
  const { averba, clock } = world
  const [subject, partly] = [
    await averba.consents.enrol({ cpf: samples.cpf }),
    await averba.consents.enrol({ cpf: '52998224725' }),
  ]
  valueOf(await averba.validations.validate({ id: 'v1', cpf: '52998224725', claims: { nome: 'X' } }))
  await averba.consents.enrol({ cpf: '11144477735' })
  const backup = `${store}.backup`
  await backupStore({ store, to: backup })
  const older = `${backup}.keys`
  copyFileSync(`${store}.keys`, older)
  await clock.advance(1000)
  const { erasedAt } = await averba.subjects.erase({ subject }, asked)
  await clock.advance(1000)
  await averba.subjects.erase({ subject: partly }, { ...asked, keep: ['validation.result'] })
  expect(await check(averba)).toMatchObject({ ok: true })
  await world.close()
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
  const restore = (to = store, keys = `${store}.keys`) =>
    restoreStore({
      backup,
      store: to,
      keys,
      acceptRollback: true,
      clock: new VirtualClock(),
    })
  return { store, older, subject, partly, erasedAt, restore }
}

test('a restore with an older keyring looks at the newer one beside the store too', async () => {
  const { older, subject, partly, restore } = await erasedSince()
  expect((await restore(undefined, older)).lostErasures).toMatchObject([{ subject }, { subject: partly }])
})

test('checks of a restored log report subjects erased after the backup until they are erased again', async () => {
  const { store, subject, partly, erasedAt, restore } = await erasedSince()
  const { lostErasures } = await restore()
  expect(lostErasures).toMatchObject([{ subject, at: erasedAt }, { subject: partly }])
  const problem = expect.stringMatching(
    `^erasures: 2 erasures are missing in this log, since ${erasedAt}.*, with averba erase <store> --subject <ref> ` +
      `--actor <ref> --requester <ref> --legal-basis <text> --backups-kept <days>: ${subject}, ${partly}$`,
  )
  expect((await diagnoseStore({ store })).problems).toEqual([problem])
  expect((await examine({ store })).checks).toContainEqual({
    name: 'erasures',
    ok: false,
    detail: expect.stringContaining(subject),
  })
  const world = await openWorld({ averba: { store, schedules: false } })
  const { averba, clock } = world
  const resumed = await Array.fromAsync(averba.log.read({ types: ['log.resumed'] }), ({ data }) => data)
  expect(resumed).toMatchObject([{ lostErasures: { count: 2, since: erasedAt } }])
  expect(await check(averba)).toMatchObject({ ok: false, detail: expect.stringContaining(subject) })

  // It is reported until the subject is erased again, even after the epochs of the backup were destroyed.
  await averba.subjects.erase({ subject }, asked)
  await passTime({ averba, clock }, 31 * 86_400_000)
  expect(await averba.subjects.receipt(subject)).toMatchObject({ epochsDestroyedAt: expect.any(String) })
  expect(remembered(store)).toEqual([partly])
  expect(await check(averba)).toMatchObject({ ok: false, detail: expect.stringContaining(partly) })
  await averba.subjects.erase({ subject: partly }, asked)
  expect(await check(averba)).toMatchObject({ ok: true })
  await passTime({ averba, clock }, 31 * 86_400_000)
  expect(remembered(store)).toEqual([])
  await world.close()
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test.each([
  ['all of it', []],
  ['some of it', ['validation.result']],
] as const)('a later erasure of data kept at the time of the backup is reported too: %s', async (_, keep) => {
  const { store, subject, partly, restore } = await erasedSince()
  await restore()
  const world = await openWorld({ averba: { store, schedules: false } })
  await world.averba.subjects.erase({ subject }, asked)
  const both = ['validation.claims', 'validation.result'] as const
  await world.averba.subjects.erase({ subject: partly }, { ...asked, keep: both })
  expect(await check(world.averba)).toMatchObject({ ok: true })
  await world.clock.advance(1_000)
  const later = `${store}.later`
  await backupStore({ store, to: later })
  await world.averba.subjects.erase({ subject: partly }, { ...asked, keep })
  await world.close()
  const elsewhere = temporaryStore()
  const restored = await restoreStore({ backup: later, store: elsewhere, keys: `${store}.keys`, acceptRollback: true })
  expect(restored.lostErasures).toMatchObject([{ subject: partly }])
})

test('after an accepted rollback, the keys of a bundle prove events from before and after it', async () => {
  const { store, backup } = await backedUp()
  const restored = await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  const bundle = `${store}.bundle`
  await exportBundle({ store, dir: bundle })
  const lines = readFileSync(join(bundle, 'key'), 'utf8').trim().split('\n')
  const keys = lines.flatMap(line => parseVerifierKey(line) ?? [])
  expect(keys).toHaveLength(2)
  for (const event of [2, restored.position + 1]) {
    const proof = await proveRecorded({ store, event })
    for (const given of [keys, keys.toReversed()]) {
      const verdict = await verifyTlogProof(proof, given)
      expect(verdict).toEqual({ isProven: true, fault: '', signedBy: [restored.resumedAs] })
    }
    // The former name alone counts as another log.
    const [former] = keys
    expect(former && (await verifyTlogProof(proof, [former]))).toMatchObject({ isProven: false })
  }
})

test('a log that continued is verified with the key line that was kept before, and goes on under no other key', async () => {
  const { store, backup } = await backedUp()
  const kept = readFileSync(`${store}.mark`, 'utf8')
  const { resumedAs } = await restoreStore({ backup, store, acceptRollback: true, clock: new VirtualClock() })
  const bundle = `${store}.bundle`
  await exportBundle({ store, dir: bundle })
  const [former = '', own = ''] = readFileSync(join(bundle, 'key'), 'utf8').trim().split('\n')
  for (const place of [store, bundle])
    expect(await verifyLog({ store: place, keys: [former] })).toMatchObject({ faults: [], origin: resumedAs })
  // The mark of what was lost is still refused.
  expect((await verifyLog({ store: bundle, keys: [former], mark: kept })).level).toBe('broken')

  const leaves = readFileSync(join(bundle, 'leaves.ndjson'), 'utf8').trim().split('\n')
  const verify = (line: string) => {
    const verifier = new LogVerifier([], [])
    for (const leaf of leaves) verifier.add(leaf.replace(own, line), [])
    return verifier.faults.list().filter(each => each.check === 'origin')
  }
  expect(verify(own)).toEqual([])
  const foreign = writeVerifierKey(createVerifierKey(resumedAs ?? '', new Uint8Array(32).fill(7)))
  expect(verify(foreign)).toMatchObject([
    { examples: [expect.stringMatching(/^at \d+, the log goes on under another key$/)] },
  ])
})
