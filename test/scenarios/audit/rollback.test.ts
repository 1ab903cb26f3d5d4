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
import { checkOf } from '../../support/check-of.ts'
import { averba, failedWith } from '../../support/command-line.ts'
import { eventsOf } from '../../support/events-of.ts'
import { loseStore } from '../../support/lose-store.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const asked = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }

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
  await passTime(world, hourMs)
  expect((await averba.validations.get('paid-2'))?.state).toBe('answered')
  await world.close()
  loseStore(store)
  const restore = (clock = new VirtualClock()) => restoreStore({ backup, store, acceptRollback: true, clock })
  return { store, backup, restore }
}

test('a log that was put back where it is continues with a record of it, and sends no paid call again', async () => {
  const { store, backup } = await backedUp()
  copyFileSync(backup, store)
  await refuses('ROLLED_BACK', openEngine({ store }), { hint: expect.stringContaining('averba resume') })
  const { code, out } = await averba('resume', '--store', store)
  expect(code).toBe(0)
  expect(out).toMatch(
    /^The log of \d+ events up to .+ continues as log_\w+, and has recorded that\.\nLost, .+: at least \d+ events\.\n/,
  )
  expect(out).toContain('In the next process all but readings become unknown')
  // Another seed, so that the gateway does not issue the token that the log already has.
  const world = await openReachable(store, 2)
  await passTime(world, hourMs)
  expect((await world.averba.validations.get('paid-2'))?.state).toBe('inconclusive')
  expect(world.sent.filter(each => each.includes('validacao'))).toEqual([])
  expect(world.sent.filter(each => each.includes('consentimento'))).not.toEqual([])
  valueOf(await validate(world.averba, 'paid-3'))
  expect(await averba('resume', '--store', `${store}.none`)).toMatchObject(failedWith(/^NOT_FOUND/))
  // Not the log that happens to be here.
  expect(await averba('resume')).toMatchObject(failedWith('INVALID_INPUT: Cannot resume a log: it is not said which'))
})

test('a restore that is interrupted, or that SQLite could not complete, leaves no store and can be repeated', async () => {
  const { store, backup, restore } = await backedUp()
  const seen: boolean[] = []
  const dying = new VirtualClock()
  dying.now = () => {
    seen.push(existsSync(store))
    throw new RangeError('the process ends here')
  }
  await expect(restore(dying)).rejects.toThrow('the process ends here')
  expect(new Set(seen)).toEqual(new Set([false]))
  const left = readdirSync(dirname(store)).filter(name => name.startsWith(basename(store)))
  expect(left.sort()).toEqual(['', '.backup', '.keys', '.mark'].map(end => basename(store) + end).slice(1))
  const accept = async (copy: string) => writeFileSync(`${copy}-wal`, 'what could not be moved')
  const restoring = restoreBackup({ store, backup, accept, views, entropy: systemEntropy })
  await refuses('STORE_UNSAFE', restoring, { hint: expect.any(String) })
  expect(existsSync(store)).toBe(false)
  const restored = await restore()
  expect(restored.resumedAs).not.toBe(restored.origin)
  expect((await verifyLog({ store })).faults).toEqual([])
})

test('an older copy is refused without its mark too, although the process that recorded was killed', async () => {
  const store = temporaryStore()
  const open = () => openEngine({ store, schedules: false })
  const [first, cpf] = [await open(), samples.cpf]
  await first.consents.enrol({ cpf })
  await first.close()
  copyFileSync(store, `${store}.old`)
  const killed = await open()
  await killed.consents.enrol({ cpf: '52998224725' })
  await killed.audit.checkpoint()
  copyFileSync(`${store}.keys`, `${store}.keys.then`)
  await killed.close()
  copyFileSync(`${store}.keys.then`, `${store}.keys`)
  await (await open()).close()
  copyFileSync(`${store}.old`, store)
  rmSync(`${store}.mark`)
  await refuses('ROLLED_BACK', open(), { message: expect.stringContaining('when its keyring was written') })
})

test('the mark of the former log stays until the restored log is renamed', async () => {
  const { store, restore } = await backedUp()
  const mark = readFileSync(`${store}.mark`)
  const clock = new VirtualClock()
  const now = clock.now.bind(clock)
  clock.now = () => {
    writeFileSync(store, 'somebody else was faster')
    return now()
  }
  await refuses('INVALID_INPUT', restore(clock))
  expect(readFileSync(`${store}.mark`)).toEqual(mark)
  rmSync(store)
  const marked = parseCheckpoint(mark.toString())?.size ?? 0
  const restored = await restore()
  expect(restored.lostEvents).toBe(marked - restored.position)
  expect(readFileSync(`${store}.mark`, 'utf8')).toContain(restored.resumedAs)
  expect(await verifyLog({ store })).toMatchObject({ level: 'held', faults: [] })
  // Before its own was written, too, it can be opened.
  writeFileSync(`${store}.mark`, mark)
  await (await openReachable(store)).close()
  expect(await verifyLog({ store })).toMatchObject({ level: 'held', faults: [] })
})

test('a backup behind the mark is restored only when the rollback is accepted; a damaged mark is reported', async () => {
  const { store, backup, restore } = await backedUp()
  const mark = readFileSync(`${store}.mark`, 'utf8')
  writeFileSync(`${store}.mark`, mark.slice(0, mark.length / 2))
  const ofMark = expect.stringMatching(/^It says nothing about the backup: move the mark away/)
  await refuses('ROLLED_BACK', restoreStore({ backup, store }), { hint: ofMark })
  writeFileSync(`${store}.mark`, mark)
  const marked = parseCheckpoint(mark)?.size ?? 0
  const message = expect.stringContaining(`had ${marked} when`)
  const hint = expect.stringContaining('--accept-rollback')
  await refuses('ROLLED_BACK', restoreStore({ backup, store }), { message, hint })
  const restored = await restore()
  expect(restored.resumedAs).not.toBe(restored.origin)
  expect(restored.lostEvents).toBe(marked - restored.position)
  expect(await verifyLog({ store })).toMatchObject({ level: 'held', faults: [], origin: restored.resumedAs })
  // The event with the new name contains the old name and what is lost.
  const world = await openReachable(store)
  const names = { origin: restored.resumedAs, before: restored.origin }
  expect(await eventsOf(world, 'log.resumed')).toMatchObject([
    { data: { ...names, size: restored.position, lost: { size: expect.any(Number) } } },
  ])
})

test('after a restore, an erasure reports that a pending paid call may have been made', async () => {
  const { store, restore } = await backedUp()
  await restore()
  const { averba } = await openReachable(store, 2)
  await averba.subjects.erase({ cpf: samples.cpf }, asked)
  const message = expect.stringContaining('Its call was perhaps made')
  await refuses('SUBJECT_ERASED', validate(averba, 'paid-2'), { message })
})

const remembered = (store: string) => Object.keys(JSON.parse(readFileSync(`${store}.keys`, 'utf8')).erased ?? {})

/** A log that was lost after two erasures, one of them partial. Its backup was made before both. */
async function erasedSince() {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store, schedules: false } })
  const { averba, clock } = world
  const cpf = '52998224725'
  const [subject, partly] = [await averba.consents.enrol({ cpf: samples.cpf }), await averba.consents.enrol({ cpf })]
  valueOf(await averba.validations.validate({ id: 'v1', cpf, claims: { nome: 'X' } }))
  await averba.consents.enrol({ cpf: '11144477735' })
  const backup = `${store}.backup`
  await backupStore({ store, to: backup })
  const older = `${backup}.keys`
  copyFileSync(`${store}.keys`, older)
  await clock.advance(1000)
  const { erasedAt } = await averba.subjects.erase({ subject }, asked)
  await clock.advance(1000)
  await averba.subjects.erase({ subject: partly }, { ...asked, keep: ['validation.result'] })
  expect(await checkOf(averba, 'erasures')).toMatchObject({ ok: true })
  await world.close()
  loseStore(store)
  const restore = (keys = `${store}.keys`) =>
    restoreStore({ backup, store, keys, acceptRollback: true, clock: new VirtualClock() })
  return { store, older, subject, partly, erasedAt, restore }
}

test('a restore with an older keyring looks at the newer one beside the store too', async () => {
  const { older, subject, partly, restore } = await erasedSince()
  expect((await restore(older)).lostErasures).toMatchObject([{ subject }, { subject: partly }])
})

test('checks of a restored log report subjects erased after the backup until they are erased again', async () => {
  const { store, subject, partly, erasedAt, restore } = await erasedSince()
  const { lostErasures } = await restore()
  expect(lostErasures).toMatchObject([{ subject, at: erasedAt }, { subject: partly }])
  const problem = expect.stringMatching(
    `^erasures: 2 erasures are missing in this log, since ${erasedAt}.*, with averba erase --store <log> --subject <ref> ` +
      `--actor <ref> --requester <ref> --legal-basis <text> --backups-kept <days>: ${subject}, ${partly}$`,
  )
  expect((await diagnoseStore({ store })).problems).toEqual([problem])
  const missing = { name: 'erasures', ok: false, detail: expect.stringContaining(subject) }
  expect((await examine({ store })).checks).toContainEqual(missing)
  const world = await openWorld({ averba: { store, schedules: false } })
  const { averba } = world
  const data = { lostErasures: { count: 2, since: erasedAt } }
  expect(await eventsOf(world, 'log.resumed')).toMatchObject([{ data }])
  expect(await checkOf(averba, 'erasures')).toMatchObject(missing)

  // It is reported until the subject is erased again, even after the epochs of the backup were destroyed.
  await averba.subjects.erase({ subject }, asked)
  await passTime(world, 31 * dayMs)
  expect(await averba.subjects.receipt(subject)).toMatchObject({ epochsDestroyedAt: expect.any(String) })
  expect(remembered(store)).toEqual([partly])
  expect(await checkOf(averba, 'erasures')).toMatchObject({ ok: false, detail: expect.stringContaining(partly) })
  await averba.subjects.erase({ subject: partly }, asked)
  expect(await checkOf(averba, 'erasures')).toMatchObject({ ok: true })
  await passTime(world, 31 * dayMs)
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
  await world.averba.subjects.erase({ subject: partly }, { ...asked, keep: ['validation.claims', 'validation.result'] })
  expect(await checkOf(world.averba, 'erasures')).toMatchObject({ ok: true })
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
  const { store, restore } = await backedUp()
  const restored = await restore()
  const bundle = `${store}.bundle`
  await exportBundle({ store, dir: bundle })
  const lines = readFileSync(join(bundle, 'key'), 'utf8').trim().split('\n')
  const keys = lines.flatMap(line => parseVerifierKey(line) ?? [])
  expect(keys).toHaveLength(2)
  for (const event of [2, restored.position + 1]) {
    const proof = await proveRecorded({ store, event })
    for (const given of [keys, keys.toReversed()]) {
      const proven = { isProven: true, fault: '', signedBy: [restored.resumedAs] }
      expect(await verifyTlogProof(proof, given)).toEqual(proven)
    }
    // The former name alone counts as another log.
    const [former] = keys
    expect(former && (await verifyTlogProof(proof, [former]))).toMatchObject({ isProven: false })
  }
})

test('a log that continued is verified with the key line that was kept before, and goes on under no other key', async () => {
  const { store, restore } = await backedUp()
  const kept = readFileSync(`${store}.mark`, 'utf8')
  const { resumedAs } = await restore()
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
  const example = expect.stringMatching(/^at \d+, the log goes on under another key$/)
  expect(verify(foreign)).toMatchObject([{ examples: [example] }])
})
