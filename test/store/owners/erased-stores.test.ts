import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import {
  type AverbaOptions,
  backupStore,
  diagnoseStore,
  type EraseOptions,
  restoreStore,
  valueOf,
} from '../../../src/index.ts'
import { checkErasureReceipt } from '../../../src/proof/erasure.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import type { Append } from '../../../src/store/writing/append.ts'
import { views } from '../../../src/views/views.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { dayMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { copyStore } from '../../support/sample-store.ts'
import type { Sqlite } from '../../support/sqlite.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine, openWorld } from '../../support/world.ts'
import { appendOf } from '../append-of.ts'

const erasure = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }
const other = '52998224725'

/** A world on a file with two persons and every kind of their data. */
async function twoPersons(more: Partial<AverbaOptions> = {}) {
  const store = temporaryStore()
  const subscriptions = [{ evento: 'e', chaveSecreta: 'x'.repeat(20) }]
  const world = await openWorld({ averba: { store, subscriptions, ...more } })
  const { averba, consentService, samples } = world
  consentService.addConsent({ cpf: other })
  consentService.addAwareness({ cpf: other })
  await applyPlan(averba)
  const enrol = async (cpf: string) => {
    const subject = await averba.consents.enrol({ cpf })
    valueOf(await averba.consents.sync({ subject }))
    const [consent] = await averba.consents.list({ subject })
    await averba.consents.get({ subject, id: consent?.id ?? '' })
    await averba.awareness.list({ subject })
    valueOf(await averba.validations.validate({ id: `p-${subject}`, cpf, claims: { nome: 'X' } }))
    await world.portal.notify({ evento: 'e', destinatarioTipo: 'CPF', destinatarioId: cpf, body: { of: cpf } })
    return subject
  }
  const [erasedSubject, otherSubject] = [await enrol(samples.cpf), await enrol(other)]
  const erase = (more: Partial<EraseOptions> = {}) =>
    averba.subjects.erase({ subject: erasedSubject }, { ...erasure, ...more })
  /** What is wrong with the log once it is closed. */
  const problemsAtEnd = async () => {
    await world.close()
    return problemsOf(store)
  }
  return { ...world, store, erasedSubject, otherSubject, erase, problemsAtEnd }
}

const problemsOf = async (store: string) => (await diagnoseStore({ store, isDeep: true })).problems

const readFrom = <T>(store: string, read: (database: Sqlite) => T) => useDatabase(store, read, { readOnly: true })

const rowsOf = (store: string) =>
  readFrom(store, database => views.map(({ name }) => database.rows(`select * from ${name} order by 1`)))

interface Sealed {
  readonly name: string
  readonly bytes: Buffer
}

/** The sealed parts and the wrapped key of an owner, which must not be found after an erasure. */
function sealedOf(store: string, subject: string): Sealed[] {
  const parts = `select part.name, sealed as bytes from part join owner_key on key = part.owner where owner_key.owner = ?`
  const key = `select 'key' as name, wrapped as bytes from owner_key where owner = ?`
  return readFrom(store, database => [parts, key].flatMap(sql => database.rows<Sealed>(sql, `subject-${subject}`)))
}

const bytesOf = (store: string) => Buffer.concat([readFileSync(store), readFileSync(`${store}-wal`)])

test('erased bytes are in neither the file nor its journal while the log is open', async () => {
  const { erase, store, erasedSubject, otherSubject } = await twoPersons()
  const [before, others] = [sealedOf(store, erasedSubject), sealedOf(store, otherSubject)]
  const namesOf = (parts: Sealed[]) => parts.map(({ name }) => name)
  const every = ['cpf', 'record', 'detail', 'claims', 'result', 'body', 'key']
  expect(namesOf(before)).toEqual(expect.arrayContaining(every))
  const { completed } = await erase()
  expect(completed).toMatchObject({ found: 0, searchedFor: before.length })
  expect(completed?.searchedBytes).toBeGreaterThan(4_096)
  const bytes = bytesOf(store)
  // Any 16 bytes would be a trace, so three pieces are checked: the beginning, the middle and the end.
  const piecesOf = ({ bytes: all }: Sealed) => [0, all.length >> 1, -16].map(from => all.subarray(from).subarray(0, 16))
  expect(before.filter(part => piecesOf(part).some(piece => bytes.includes(piece)))).toEqual([])
  // Proves that the search works: the other person's parts are found, except the rewrapped key.
  const found = others.filter(part => bytes.includes(part.bytes.subarray(0, 16)))
  expect(namesOf(found)).toEqual(namesOf(others).filter(name => name !== 'key'))
})

// Regression: with these lengths a copy was left behind.
test('erased bytes are not left in rows that SQLite has moved either', async () => {
  const store = temporaryStore()
  const { averba } = await openWorld({ seed: 9, averba: { store } })
  const below = lengthsFrom(9 * 7_919)
  for (let i = 1; i <= 110; i++) {
    const cpf = cpfOf(700_000_000 + below(12))
    await averba.validations.validate({ id: `p-${i}`, cpf, claims: { nome: 'X'.repeat(1 + below(400)) } })
    if (i % 10 > 0) continue
    const subject = await averba.consents.enrol({ cpf })
    const pieces = sealedOf(store, subject).map(part => part.bytes.subarray(-16))
    expect((await averba.subjects.erase({ subject }, erasure)).completed).toMatchObject({ found: 0 })
    const bytes = bytesOf(store)
    expect(pieces.filter(piece => bytes.includes(piece))).toEqual([])
  }
})

/** A deterministic sequence of numbers. */
function lengthsFrom(start: number): (end: number) => number {
  let state = start
  return end => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor(state / 65_536) % end
  }
}

test('an erasure changes only rows of the person: rebuilt views are equal, and the log continues under a new epoch', async () => {
  const { averba, erase, store, otherSubject, close } = await twoPersons()
  const rebuild = async () => (await averba.rebuild()).filter(({ differences }) => differences > 0)
  expect(await rebuild()).toEqual([])
  const consents = await averba.consents.list({ subject: otherSubject })
  const id = consents[0]?.id ?? ''
  const detail = await averba.consents.get({ subject: otherSubject, id })
  const before = rowsOf(store)
  await erase()
  const after = rowsOf(store)
  expect(await rebuild()).toEqual([])
  expect(rowsOf(store)).toEqual(after)
  const changed = views.filter((_, i) => JSON.stringify(before[i]) !== JSON.stringify(after[i]))
  expect(changed.map(view => view.name).sort()).toEqual(['consents', 'subjects'])
  expect(await averba.consents.list({ cpf: other })).toEqual(consents)
  expect(await averba.consents.get({ subject: otherSubject, id })).toEqual(detail)
  valueOf(await averba.validations.validate({ id: 'later', cpf: other, claims: { nome: 'Y' } }))
  const enrolled = await averba.consents.enrol({ cpf: '11144477735' })
  await close()
  const reopened = await openEngine({ store })
  expect(await reopened.consents.list({ cpf: other })).toHaveLength(consents.length)
  expect(await reopened.consents.enrol({ cpf: '11144477735' })).toBe(enrolled)
  await reopened.close()
  expect(await diagnoseStore({ store, isDeep: true })).toMatchObject({ problems: [], epochs: [2] })
})

test('parts kept by law stay sealed, can be opened, and are erased later', async () => {
  const { averba, erase, store, erasedSubject, problemsAtEnd } = await twoPersons()
  const keep = ['validation.result', 'validation.claims'] as const
  const first = await erase({ keep })
  expect(first).toMatchObject({ keeps: keep, destroyed: { keys: 0 } })
  expect(checkErasureReceipt(first)).toEqual([])
  const kept = sealedOf(store, erasedSubject).map(part => part.name)
  expect(kept.sort()).toEqual(['claims', 'key', 'result'])
  expect((await averba.validations.get(`p-${erasedSubject}`))?.fields).not.toEqual({})
  await expect(averba.consents.sync({ subject: erasedSubject })).rejects.toMatchObject({ code: 'SUBJECT_ERASED' })
  expect((await erase({ keep })).events).toEqual(first.events)
  // A later erasure keeps only what the first one kept.
  const refused = { code: 'INVALID_INPUT', hint: expect.stringContaining('validation.result') }
  await expect(erase({ keep: ['consent.detail'] })).rejects.toMatchObject(refused)
  expect(await problemsOf(store)).toEqual([])
  const second = await erase({ requester: 'prazo', legalBasis: 'LGPD art. 16' })
  expect(second).toMatchObject({ requester: 'prazo', keeps: [], destroyed: { keys: 1 } })
  expect(checkErasureReceipt(second)).toEqual([])
  expect(sealedOf(store, erasedSubject)).toMatchObject([{ name: 'key', bytes: Buffer.alloc(0) }])
  await expect(averba.validations.get(`p-${erasedSubject}`)).rejects.toMatchObject({ code: 'PART_DESTROYED' })
  expect(await problemsAtEnd()).toEqual([])
})

test('a backup opens erased data only with the old keyring, or until its declared days are over', async () => {
  const { averba, clock, erase, store, erasedSubject, close } = await twoPersons({ backupRetentionDays: 7 })
  const [backup, keysOfThen, restored] = [temporaryStore(), temporaryStore(), temporaryStore()]
  await backupStore({ store, to: backup })
  copyFileSync(`${store}.keys`, keysOfThen)
  const { completed, epochsDestroyedAt } = await erase()
  const openUntil = completed?.copiesOpenUntil ?? ''
  expect(Date.parse(openUntil) - Date.parse(completed?.at ?? '')).toBe(7 * dayMs)
  expect(epochsDestroyedAt).toBeNull()
  await passTime({ averba, clock }, 7 * dayMs - 1)
  const longer = { backup, store: temporaryStore(), keys: `${store}.keys` }
  await expect(restoreStore(longer)).rejects.toMatchObject({ code: 'ROLLED_BACK' })
  await restoreStore({ ...longer, clock, acceptRollback: true })
  await passTime({ averba, clock }, 1)
  expect(await averba.subjects.receipt(erasedSubject)).toMatchObject({ epochsDestroyedAt: openUntil })
  await close()
  const late = restoreStore({ ...longer, store: temporaryStore() })
  await expect(late).rejects.toMatchObject({ code: 'KEYS_MISMATCH' })
  await restoreStore({ backup, store: restored, keys: keysOfThen })
  expect(sealedOf(restored, erasedSubject).length).toBeGreaterThan(4)
  expect(JSON.parse(readFileSync(`${store}.keys`, 'utf8')).epochs).toEqual({ 2: expect.any(String) })
})

/** Restores the log from a backup, as an operator does after losing it. */
async function putBack(store: string, backup: string, clock: Clock) {
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
  await restoreStore({ backup, store, acceptRollback: true, clock })
}

test('a restored log completes the erasures in it at their times', async () => {
  const { clock, crash, erase, store, erasedSubject, restart } = await twoPersons({ backupRetentionDays: 7 })
  const { completed } = await erase()
  const backup = temporaryStore()
  await backupStore({ store, to: backup })
  crash()
  await putBack(store, backup, clock)
  const averba = await restart()
  await passTime({ averba, clock }, 7 * dayMs - 1)
  expect(await averba.subjects.receipt(erasedSubject)).toMatchObject({ completed, epochsDestroyedAt: null })
  await passTime({ averba, clock }, 1)
  const epochsDestroyedAt = completed?.copiesOpenUntil
  expect(await averba.subjects.receipt(erasedSubject)).toMatchObject({ epochsDestroyedAt })
})

test('after a rollback, an erasure also covers backups of the lost log', async () => {
  const { clock, crash, erase, store, otherSubject, restart } = await twoPersons({ backupRetentionDays: 7 })
  const [before, after] = [temporaryStore(), temporaryStore()]
  await backupStore({ store, to: before })
  await erase()
  await backupStore({ store, to: after })
  crash()
  await putBack(store, before, clock)
  const averba = await restart()
  await averba.subjects.erase({ subject: otherSubject }, erasure)
  await passTime({ averba, clock }, 7 * dayMs)
  const restoring = restoreStore({ backup: after, store: temporaryStore(), keys: `${store}.keys` })
  await expect(restoring).rejects.toMatchObject({ code: 'KEYS_MISMATCH' })
})

let sample = ''
beforeAll(async () => {
  const { erase, store, problemsAtEnd } = await twoPersons()
  await erase()
  expect(await problemsAtEnd()).toEqual([])
  sample = store
})

test.each([
  ['a deleted part of the other person', "delete from part where name = 'detail'", 'parts'],
  ['a replaced key', "update owner_key set commitment = zeroblob(32) where owner like 'subject-%'", 'keys'],
  ['an emptied key', `update owner_key set wrapped = x'', epoch = 0, is_erased = 1`, 'keys'],
  ['an erased person marked as live', 'update owner_key set is_erased = 0', 'keys'],
  ['a key put back', 'update owner_key set epoch = 2, wrapped = zeroblob(60) where epoch = 0', 'keys'],
  ['a deleted owner', 'delete from owner_key where epoch = 0', 'keys'],
  [
    'a restored part with other content',
    "insert into part select 3, 'record', owner, sealed from part where name = 'cpf' limit 1",
    'parts',
  ],
])('a deep check finds %s', async (_, sql, check) => {
  const store = copyStore(sample)
  useDatabase(store, database => {
    database.pragma('foreign_keys = off')
    expect(database.prepare(sql).run().changes).toBeGreaterThan(0)
  })
  const { checked } = await diagnoseStore({ store, isDeep: true })
  expect(checked?.faults.map(fault => fault.check)).toContain(check)
})

test('a forged receipt is rejected', async () => {
  const { averba, clock, erase, erasedSubject } = await twoPersons()
  await erase()
  await passTime({ averba, clock }, 31 * dayMs)
  const receipt = await averba.subjects.receipt(erasedSubject)
  if (!receipt?.completed) throw new Error('It is complete')
  expect(receipt.epochsDestroyedAt).not.toBeNull()
  expect(checkErasureReceipt(receipt)).toEqual([])
  expect(checkErasureReceipt(JSON.parse(JSON.stringify(receipt)))).toEqual([])
  const { destroyed, events, completed } = receipt
  const at = '2020-01-01T00:00:00.000Z'
  const forged = [
    { keeps: ['validation.result'] },
    { erasedAt: at },
    { completed: null },
    ...[{ at }, { found: 1 }, { epoch: 9 }, { copiesOpenUntil: at }, { copiesOpenUntil: null }].map(each => ({
      completed: { ...completed, ...each },
    })),
    { epochsDestroyedAt: at },
    { epochsDestroyedAt: null },
    ...[
      ...[{ keys: 0 }, { indexRows: 99 }, { calls: ['subject-x/1/0'] }],
      ...[{ parts: destroyed.parts.slice(1) }, { list: '0'.repeat(64) }],
    ].map(each => ({ destroyed: { ...destroyed, ...each } })),
    { requester: 'outro' },
    { subject: 'outro' },
    { events: [...events, { position: 1, leaf: '', header: 'none' }] },
    ...[{ events: events.slice(0, 1) }, { events: [Object()] }, { destroyed: Object() }],
    { events: events.map(event => ({ ...event, position: event.position + 1 })) },
    { events: events.map(event => ({ ...event, header: event.header.replace('4711', '4712') })) },
  ]
  for (const each of forged) expect(checkErasureReceipt({ ...receipt, ...each })).not.toEqual([])
})

test('while the key is kept, no receipt, report or page says that copies can no longer be opened', async () => {
  const { averba, clock, erase, erasedSubject: subject, problemsAtEnd } = await twoPersons()
  await erase({ keep: ['validation.result'] })
  await passTime({ averba, clock }, 31 * dayMs)
  const receipt = (await averba.subjects.receipt(subject)) ?? expect.fail()
  expect(receipt).toMatchObject({ completed: { copiesOpenUntil: null }, epochsDestroyedAt: null })
  expect(receipt.events.map(({ header }) => JSON.parse(header).type)).toContain('subject.epochsDestroyed')
  expect(checkErasureReceipt(receipt)).toEqual([])
  expect(checkErasureReceipt({ ...receipt, epochsDestroyedAt: receipt.erasedAt })).toHaveLength(1)
  const { report } = averba.subjects
  const page = (language: 'en' | 'pt-BR') => report({ subject }, { format: 'html', language })
  expect(await page('en')).toContain('The key was kept: backups can be opened as long as it exists')
  expect(await page('pt-BR')).toContain('A chave foi conservada: enquanto existir, as cópias abrem')
  const open = { isKeyKept: true, copiesOpenUntil: null, epochsDestroyedAt: null }
  expect(JSON.parse(await report({ subject }))).toMatchObject({ erasure: open })
  // The rest is erased, and the statement about copies is true from then on.
  await erase()
  await passTime({ averba, clock }, 31 * dayMs)
  const whole = (await averba.subjects.receipt(subject)) ?? expect.fail()
  expect(whole.epochsDestroyedAt).not.toBeNull()
  expect(checkErasureReceipt(whole)).toEqual([])
  expect(await problemsAtEnd()).toEqual([])
})

test('when a person has no parts of the kept kinds, the key is destroyed', async () => {
  const store = temporaryStore()
  const { averba, samples, close } = await openWorld({ averba: { store } })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const erase = () => averba.subjects.erase({ subject }, { ...erasure, keep: ['consent.detail'] })
  const receipt = await erase()
  expect(receipt).toMatchObject({ keeps: [], destroyed: { keys: 1 } })
  expect(checkErasureReceipt(receipt)).toEqual([])
  expect(await erase()).toEqual(receipt)
  expect(sealedOf(store, subject)).toMatchObject([{ name: 'key', bytes: Buffer.alloc(0) }])
  await close()
  expect(await problemsOf(store)).toEqual([])
})

test('with two engines on one file, the other one uses the new epoch and refuses the erased person', async () => {
  const { clock, erase, store, erasedSubject, otherSubject, close } = await twoPersons()
  const second = await openEngine({ store, clock })
  await second.consents.enrol({ cpf: '11144477735' })
  await erase()
  await expect(second.consents.list({ subject: erasedSubject })).rejects.toMatchObject({ code: 'SUBJECT_ERASED' })
  expect((await second.consents.list({ subject: otherSubject })).length).toBeGreaterThan(0)
  // The key that it makes now is under the new epoch.
  await second.consents.enrol({ cpf: '00000000191' })
  await Promise.all([second.close(), close()])
  expect(await diagnoseStore({ store, isDeep: true })).toMatchObject({ problems: [], epochs: [2] })
})

test('two concurrent erasures share an epoch, and both complete', async () => {
  const { averba, erase, otherSubject, problemsAtEnd } = await twoPersons()
  const receipts = await Promise.all([erase(), averba.subjects.erase({ subject: otherSubject }, erasure)])
  for (const receipt of receipts) {
    expect(receipt.completed).toMatchObject({ found: 0 })
    expect(checkErasureReceipt(receipt)).toEqual([])
  }
  await averba.settle()
  expect(await problemsAtEnd()).toEqual([])
})

const dropIndex = (store: string) => useDatabase(store, database => database.exec('delete from keyed_index'))

test('the deleted index is rebuilt row by row and finds no erased person', async () => {
  const { averba, portal, samples, store, erasedSubject, otherSubject, validationService } = await twoPersons()
  validationService.addPerson(other, { nome: 'X' })
  valueOf(await averba.validations.validate({ id: 'kept', cpf: other, claims: { nome: 'X' } }))
  const company = { destinatarioTipo: 'CNPJ', destinatarioId: '12ABC34501DE35' } as const
  await portal.notify({ evento: 'e', ...company, body: 'x'.repeat(1_100_000) })
  await averba.subscriptions.failures({ recover: true })
  const keep = ['validation.claims', 'validation.result'] as const
  await averba.subjects.erase({ subject: otherSubject }, { ...erasure, keep })
  const sql = 'select kind, hex(digest) as digest, value from keyed_index order by 1, 2'
  const indexOf = () => readFrom(store, database => database.rows<{ kind: string }>(sql))
  const before = indexOf()
  const kinds = ['awareness', 'consent', 'cpf', 'failure', 'recovery', 'subscription', 'validated']
  expect(before.map(({ kind }) => kind)).toEqual(expect.arrayContaining(kinds))
  dropIndex(store)
  await expect(averba.consents.list({ cpf: samples.cpf })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(await averba.rebuildIndex()).toEqual({ before: 0, after: before.length, hidden: [] })
  expect(indexOf()).toEqual(before)
  expect(await averba.consents.enrol({ cpf: samples.cpf })).toBe(erasedSubject)
})

test('rebuilding the index reports persons enrolled again while it was missing', async () => {
  const { averba, erase, samples, store, erasedSubject } = await twoPersons()
  dropIndex(store)
  const again = await averba.consents.enrol({ cpf: samples.cpf })
  expect(again).not.toBe(erasedSubject)
  expect((await averba.rebuildIndex()).hidden).toEqual([erasedSubject])
  await erase()
  expect((await averba.rebuildIndex()).hidden).toEqual([])
  expect(await averba.consents.enrol({ cpf: samples.cpf })).toBe(again)
})

test('an index rebuilt during an erasure does not lead to the person; one that does is a fault', async () => {
  const { averba, erase, samples, store, erasedSubject, otherSubject } = await twoPersons()
  // More than one page of the log, so the person is read before the erasure and the index is written after it.
  const many = Array.from({ length: 1_200 }, (_, i) => ({ cpf: cpfOf(i + 1) }))
  for await (const _ of averba.consents.enrolAll(many)) void _
  await Promise.all([averba.rebuildIndex(), erase()])
  await expect(averba.consents.list({ cpf: samples.cpf })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(await averba.consents.enrol({ cpf: samples.cpf })).not.toBe(erasedSubject)
  expect(await problemsOf(store)).toEqual([])
  const sql = "update keyed_index set value = ? where kind = 'cpf' and value = ?"
  useDatabase(store, database => database.prepare(sql).run(erasedSubject, otherSubject))
  expect((await problemsOf(store)).join()).toContain(`leads to "subject-${erasedSubject}", which was erased`)
})

test('an append for an erased owner, or a late erasure, is rejected or stripped of parts as requested', async () => {
  const { erase, store: path, erasedSubject, otherSubject, close } = await twoPersons()
  await erase()
  await close()
  const store = await openStore({ path, views })
  const about = (subject: string, more: Partial<Append> = {}): Append => {
    const owner = `subject-${subject}`
    const event = { type: 'subject.noted', data: { subject }, parts: { record: { owner, value: 'canario' } } }
    return appendOf(owner, 'any', [event], more)
  }
  const bare = { status: 'appended', events: [expect.not.objectContaining({ parts: expect.anything() })] }
  expect(await store.append(about(erasedSubject, { whenErased: 'conflict' }))).toMatchObject({ status: 'conflict' })
  const indexEntries = [{ kind: 'k', digest: store.digest('k', 'x'), value: erasedSubject }]
  expect(await store.append(about(erasedSubject, { indexEntries }))).toMatchObject(bare)
  expect(await store.lookUp('k', 'x')).toBeUndefined()
  const refused = store.append(about(erasedSubject, { whenErased: 'refuse' }))
  await expect(refused).rejects.toMatchObject({ code: 'SUBJECT_ERASED' })
  // In one transaction: appends before an erasure make it late, those after it have no parts.
  const owner = `subject-${otherSubject}`
  const none = { indexEntries: [], commands: [], streams: [], kept: [] }
  const person = { owner, subject: otherSubject, keepsKey: false, ...none }
  const late = { parts: [], person: { ...person, until: (await store.owners.survey(otherSubject)).until } }
  const results = await Promise.all([
    store.append(about(otherSubject)),
    store.append(about(erasedSubject, { destroys: late })),
  ])
  expect(results.map(result => result.status)).toEqual(['appended', 'conflict'])
  const { parts, until } = await store.owners.survey(otherSubject)
  const destroys = { parts, person: { ...person, until } }
  const [erased, after] = await Promise.all([
    store.append(about(erasedSubject, { destroys })),
    store.append(about(otherSubject)),
  ])
  expect(erased.status).toBe('appended')
  expect(after).toMatchObject(bare)
  expect(await store.owners.stateOf(owner)).toBe('erased')
})
