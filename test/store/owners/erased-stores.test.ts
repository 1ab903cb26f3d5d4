import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { backupStore, diagnoseStore, restoreStore, valueOf } from '../../../src/index.ts'
import { checkErasureReceipt } from '../../../src/proof/erasure.ts'
import type { Clock } from '../../../src/runtime/clock.ts'
import type { simulate } from '../../../src/simulation/index.ts'
import type { Append } from '../../../src/store/writing/append.ts'
import { views } from '../../../src/views/views.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { passTime } from '../../support/pass-time.ts'
import { copyStore } from '../../support/sample-store.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const erasure = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }
const other = '52998224725'
const day = 86_400_000

/** A world on a file with two persons and every kind of their data. */
async function twoPersons(options: Parameters<typeof simulate>[0] = {}) {
  const store = temporaryStore()
  const world = await openWorld({
    ...options,
    averba: { store, subscriptions: [{ evento: 'e', chaveSecreta: 'x'.repeat(20) }], ...options.averba },
  })
  const { averba, consentService, samples } = world
  consentService.addConsent({ cpf: other })
  consentService.addAwareness({ cpf: other })
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  const subjects = []
  for (const cpf of [samples.cpf, other]) {
    const subject = await averba.consents.enrol({ cpf })
    valueOf(await averba.consents.sync({ subject }))
    const [consent] = await averba.consents.list({ subject })
    await averba.consents.get({ subject, id: consent?.id ?? '' })
    await averba.awareness.list({ subject })
    valueOf(await averba.validations.validate({ id: `p-${subject}`, cpf, claims: { nome: 'X' } }))
    await world.portal.notify({
      evento: 'e',
      destinatarioTipo: 'CPF',
      destinatarioId: cpf,
      body: { of: cpf },
    })
    subjects.push(subject)
  }
  const [erasedSubject, otherSubject] = subjects
  if (!erasedSubject || !otherSubject) throw new Error('There are two')
  return { ...world, store, erasedSubject, otherSubject }
}

function rowsOf(store: string): unknown[] {
  const database = new Sqlite(store, { readOnly: true })
  const rows = views.map(({ name }) => database.prepare(`select * from ${name} order by 1`).all())
  database.close()
  return rows
}

interface Sealed {
  readonly name: string
  readonly bytes: Buffer
}

/** The sealed parts and the wrapped key of an owner, which must not be found after an erasure. */
function sealedOf(store: string, subject: string): Sealed[] {
  const database = new Sqlite(store, { readOnly: true })
  const parts = `select part.name, sealed as bytes from part join owner_key on key = part.owner where owner_key.owner = ?`
  const key = `select 'key' as name, wrapped as bytes from owner_key where owner = ?`
  const found = [parts, key].flatMap(sql => database.rows<Sealed>(sql, `subject-${subject}`))
  database.close()
  return found
}

test('erased bytes are in neither the file nor its journal while the log is open', async () => {
  const { averba, store, erasedSubject, otherSubject } = await twoPersons()
  const [before, others] = [sealedOf(store, erasedSubject), sealedOf(store, otherSubject)]
  expect(before.map(part => part.name)).toEqual(
    expect.arrayContaining(['cpf', 'record', 'detail', 'claims', 'result', 'body', 'key']),
  )
  const { completed } = await averba.subjects.erase({ subject: erasedSubject }, erasure)
  expect(completed).toMatchObject({ found: 0, searchedFor: before.length })
  expect(completed?.searchedBytes).toBeGreaterThan(4_096)
  const bytes = Buffer.concat([readFileSync(store), readFileSync(`${store}-wal`)])
  // Any 16 bytes would be a trace, so three pieces are checked: the beginning, the middle and the end.
  const piecesOf = ({ bytes: all }: Sealed) => [
    all.subarray(0, 16),
    all.subarray(all.length >> 1).subarray(0, 16),
    all.subarray(-16),
  ]
  expect(before.filter(part => piecesOf(part).some(piece => bytes.includes(piece)))).toEqual([])
  // Proves that the search works: the other person's parts are found, except the rewrapped key.
  const found = others.filter(part => bytes.includes(part.bytes.subarray(0, 16)))
  expect(found.map(part => part.name)).toEqual(others.map(part => part.name).filter(name => name !== 'key'))
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
    const bytes = Buffer.concat([readFileSync(store), readFileSync(`${store}-wal`)])
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

test('rebuilt views equal the kept ones before and after an erasure, which changes only its own rows', async () => {
  const { averba, store, erasedSubject, close } = await twoPersons()
  for (const { differences } of await averba.rebuild()) expect(differences).toBe(0)
  const before = rowsOf(store)
  await averba.subjects.erase({ subject: erasedSubject }, erasure)
  const after = rowsOf(store)
  const rebuilt = await averba.rebuild()
  expect(rebuilt.map(view => view.differences)).toEqual(views.map(() => 0))
  expect(rowsOf(store)).toEqual(after)
  const changed = views.filter((_, i) => JSON.stringify(before[i]) !== JSON.stringify(after[i]))
  expect(changed.map(view => view.name).sort()).toEqual(['consents', 'subjects'])
  await close()
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test('the other person keeps all data, and the log continues under the new epoch', async () => {
  const { averba, store, erasedSubject, otherSubject, close } = await twoPersons()
  const consents = await averba.consents.list({ subject: otherSubject })
  const id = consents[0]?.id ?? ''
  const detail = await averba.consents.get({ subject: otherSubject, id })
  await averba.subjects.erase({ subject: erasedSubject }, erasure)
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
  const { averba, store, erasedSubject, close } = await twoPersons()
  const keep = ['validation.result', 'validation.claims'] as const
  const first = await averba.subjects.erase({ subject: erasedSubject }, { ...erasure, keep: [...keep] })
  expect(first).toMatchObject({ keeps: keep, destroyed: { keys: 0 } })
  expect(checkErasureReceipt(first)).toEqual([])
  const kept = sealedOf(store, erasedSubject).map(part => part.name)
  expect(kept.sort()).toEqual(['claims', 'key', 'result'])
  expect((await averba.validations.get(`p-${erasedSubject}`))?.fields).not.toEqual({})
  await expect(averba.consents.sync({ subject: erasedSubject })).rejects.toMatchObject({
    code: 'SUBJECT_ERASED',
  })
  expect((await averba.subjects.erase({ subject: erasedSubject }, { ...erasure, keep: [...keep] })).events).toEqual(
    first.events,
  )
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])

  const second = await averba.subjects.erase(
    { subject: erasedSubject },
    { requester: 'prazo', legalBasis: 'LGPD art. 16' },
  )
  expect(second).toMatchObject({ requester: 'prazo', keeps: [], destroyed: { keys: 1 } })
  expect(checkErasureReceipt(second)).toEqual([])
  expect(sealedOf(store, erasedSubject)).toMatchObject([{ name: 'key', bytes: Buffer.alloc(0) }])
  await expect(averba.validations.get(`p-${erasedSubject}`)).rejects.toMatchObject({ code: 'PART_DESTROYED' })
  await close()
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test('a backup opens erased data only with the old keyring, or until its declared days are over', async () => {
  const { averba, clock, store, erasedSubject, close } = await twoPersons({
    averba: { backupRetentionDays: 7 },
  })
  const [backup, keysOfThen] = [temporaryStore(), `${temporaryStore()}.keys`]
  await backupStore({ store, to: backup })
  copyFileSync(`${store}.keys`, keysOfThen)
  const receipt = await averba.subjects.erase({ subject: erasedSubject }, erasure)
  const openUntil = receipt.completed?.copiesOpenUntil ?? ''
  expect(Date.parse(openUntil) - Date.parse(receipt.completed?.at ?? '')).toBe(7 * day)
  expect(receipt.epochsDestroyedAt).toBeNull()

  await passTime({ averba, clock }, 7 * day - 1)
  const longer = { backup, store: temporaryStore(), keys: `${store}.keys` }
  await expect(restoreStore(longer)).rejects.toMatchObject({ code: 'ROLLED_BACK' })
  await restoreStore({ ...longer, clock, acceptRollback: true })
  await passTime({ averba, clock }, 1)
  expect(await averba.subjects.receipt(erasedSubject)).toMatchObject({ epochsDestroyedAt: openUntil })
  await close()
  await expect(restoreStore({ backup, store: temporaryStore(), keys: `${store}.keys` })).rejects.toMatchObject({
    code: 'KEYS_MISMATCH',
  })
  const restored = temporaryStore()
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
  const { averba, clock, store, erasedSubject, restart, close, ...world } = await twoPersons({
    averba: { backupRetentionDays: 7 },
  })
  const { completed } = await averba.subjects.erase({ subject: erasedSubject }, erasure)
  const backup = temporaryStore()
  await backupStore({ store, to: backup })
  world.crash()
  await putBack(store, backup, clock)
  const restored = await restart()
  await passTime({ averba: restored, clock }, 7 * day - 1)
  expect(await restored.subjects.receipt(erasedSubject)).toMatchObject({ completed, epochsDestroyedAt: null })
  await passTime({ averba: restored, clock }, 1)
  expect(await restored.subjects.receipt(erasedSubject)).toMatchObject({
    epochsDestroyedAt: completed?.copiesOpenUntil,
  })
})

test('after a rollback, an erasure also covers backups of the lost log', async () => {
  const { clock, store, erasedSubject, otherSubject, restart, close, ...world } = await twoPersons({
    averba: { backupRetentionDays: 7 },
  })
  const [before, after] = [temporaryStore(), temporaryStore()]
  await backupStore({ store, to: before })
  await world.averba.subjects.erase({ subject: erasedSubject }, erasure)
  await backupStore({ store, to: after })
  world.crash()
  await putBack(store, before, clock)
  const restored = await restart()
  await restored.subjects.erase({ subject: otherSubject }, erasure)
  await passTime({ averba: restored, clock }, 7 * day)
  await expect(restoreStore({ backup: after, store: temporaryStore(), keys: `${store}.keys` })).rejects.toMatchObject({
    code: 'KEYS_MISMATCH',
  })
})

describe('a deep check finds', () => {
  test.each([
    ['a deleted part of the other person', "delete from part where name = 'detail'", 'parts'],
    [
      'a replaced key',
      "update owner_key set commitment = zeroblob(32) where epoch > 0 and owner like 'subject-%'",
      'keys',
    ],
    ['an emptied key', `update owner_key set wrapped = x'', epoch = 0, is_erased = 1`, 'keys'],
    ['an erased person marked as live', 'update owner_key set is_erased = 0', 'keys'],
    [
      'a restored key',
      'update owner_key set epoch = 2, wrapped = (select max(wrapped) from owner_key) where epoch = 0',
      'keys',
    ],
    ['a deleted owner', 'delete from owner_key where epoch = 0', 'keys'],
    [
      'a restored part with other content',
      "insert into part select 3, 'record', owner, sealed from part where name = 'cpf' limit 1",
      'parts',
    ],
  ])('%s', async (_, sql, check) => {
    const { averba, store, erasedSubject, close } = await twoPersons()
    await averba.subjects.erase({ subject: erasedSubject }, erasure)
    await close()
    const copy = copyStore(store)
    const database = new Sqlite(copy)
    database.pragma('foreign_keys = off')
    expect(database.prepare(sql).run().changes).toBeGreaterThan(0)
    database.close()
    const { checked } = await diagnoseStore({ store: copy, isDeep: true })
    expect(checked?.faults.map(fault => fault.check)).toContain(check)
    expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
  })
})

test('a forged receipt is rejected', async () => {
  const { averba, clock, erasedSubject, close } = await twoPersons()
  await averba.subjects.erase({ subject: erasedSubject }, erasure)
  await passTime({ averba, clock }, 31 * day)
  const receipt = await averba.subjects.receipt(erasedSubject)
  await close()
  if (!receipt?.completed) throw new Error('It is complete')
  expect(receipt.epochsDestroyedAt).not.toBeNull()
  expect(checkErasureReceipt(receipt)).toEqual([])
  expect(checkErasureReceipt(JSON.parse(JSON.stringify(receipt)))).toEqual([])
  const { destroyed, events, completed } = receipt
  const at = '2020-01-01T00:00:00.000Z'
  const forged = [
    { ...receipt, keeps: ['validation.result'] },
    { ...receipt, erasedAt: at },
    { ...receipt, completed: null },
    ...[{ at }, { found: 1 }, { epoch: 9 }, { copiesOpenUntil: at }, { copiesOpenUntil: null }].map(each => ({
      ...receipt,
      completed: { ...completed, ...each },
    })),
    { ...receipt, epochsDestroyedAt: at },
    { ...receipt, epochsDestroyedAt: null },
    ...[{ keys: 0 }, { indexRows: 99 }, { calls: ['subject-x/1/0'] }].map(each => ({
      ...receipt,
      destroyed: { ...destroyed, ...each },
    })),
    { ...receipt, events: [...events, { position: 1, leaf: '', header: 'none' }] },
    { ...receipt, requester: 'outro' },
    { ...receipt, subject: 'outro' },
    { ...receipt, destroyed: { ...destroyed, parts: destroyed.parts.slice(1) } },
    { ...receipt, destroyed: { ...destroyed, list: '0'.repeat(64) } },
    { ...receipt, events: events.slice(0, 1) },
    { ...receipt, events: events.map(event => ({ ...event, position: event.position + 1 })) },
    { ...receipt, events: events.map(event => ({ ...event, header: event.header.replace('4711', '4712') })) },
  ]
  for (const each of forged) expect(checkErasureReceipt(each)).not.toEqual([])
})

test('while the key is kept, no receipt, report or page says that copies can no longer be opened', async () => {
  const { averba, clock, store, erasedSubject, close } = await twoPersons()
  await averba.subjects.erase({ subject: erasedSubject }, { ...erasure, keep: ['validation.result'] })
  await passTime({ averba, clock }, 31 * day)
  const receipt = await averba.subjects.receipt(erasedSubject)
  if (!receipt) throw new Error('There is a receipt')
  expect(receipt).toMatchObject({ completed: { copiesOpenUntil: null }, epochsDestroyedAt: null })
  expect(receipt.events.map(({ header }) => JSON.parse(header).type)).toContain('subject.epochsDestroyed')
  expect(checkErasureReceipt(receipt)).toEqual([])
  expect(checkErasureReceipt({ ...receipt, epochsDestroyedAt: receipt.erasedAt })).toHaveLength(1)
  const page = (language: 'en' | 'pt-BR') =>
    averba.subjects.report({ subject: erasedSubject }, { format: 'html', language })
  expect(await page('en')).toContain('The key was kept: backups can be opened as long as it exists')
  expect(await page('pt-BR')).toContain('A chave foi conservada: enquanto existir, as cópias abrem')
  expect(JSON.parse(await averba.subjects.report({ subject: erasedSubject })).erasure).toMatchObject({
    ...{ isKeyKept: true, copiesOpenUntil: null, epochsDestroyedAt: null },
  })
  // The rest is erased, and the statement about copies is true from then on.
  await averba.subjects.erase({ subject: erasedSubject }, erasure)
  await passTime({ averba, clock }, 31 * day)
  const whole = await averba.subjects.receipt(erasedSubject)
  expect(whole?.epochsDestroyedAt).not.toBeNull()
  expect(whole && checkErasureReceipt(whole)).toEqual([])
  await close()
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test('a later erasure keeps some of the parts that the first one kept, and names no destroyed part', async () => {
  const { averba, store, erasedSubject, close } = await twoPersons()
  const keep = ['validation.result'] as const
  const first = await averba.subjects.erase({ subject: erasedSubject }, { ...erasure, keep: [...keep] })
  expect(first).toMatchObject({ keeps: ['validation.result'], destroyed: { keys: 0 } })
  const wrong = averba.subjects.erase({ subject: erasedSubject }, { ...erasure, keep: ['validation.claims'] })
  await expect(wrong).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    hint: expect.stringContaining('validation.result'),
  })
  expect((await averba.validations.get(`p-${erasedSubject}`))?.fields).not.toEqual({})
  expect((await averba.subjects.erase({ subject: erasedSubject }, { ...erasure, keep: [...keep] })).events).toEqual(
    first.events,
  )
  await close()
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test('when a person has no parts of the kept kinds, the key is destroyed', async () => {
  const store = temporaryStore()
  const { averba, samples, close } = await openWorld({ averba: { store } })
  const erasedSubject = await averba.consents.enrol({ cpf: samples.cpf })
  const receipt = await averba.subjects.erase({ subject: erasedSubject }, { ...erasure, keep: ['consent.detail'] })
  expect(receipt).toMatchObject({ keeps: [], destroyed: { keys: 1 } })
  expect(checkErasureReceipt(receipt)).toEqual([])
  expect(await averba.subjects.erase({ subject: erasedSubject }, { ...erasure, keep: ['consent.detail'] })).toEqual(
    receipt,
  )
  expect(sealedOf(store, erasedSubject)).toMatchObject([{ name: 'key', bytes: Buffer.alloc(0) }])
  await close()
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test('with two engines on one file, the other one uses the new epoch and refuses the erased person', async () => {
  const { averba, clock, store, erasedSubject, otherSubject, close } = await twoPersons()
  const second = await openEngine({ store, clock })
  await second.consents.enrol({ cpf: '11144477735' })
  await averba.subjects.erase({ subject: erasedSubject }, erasure)
  await expect(second.consents.list({ subject: erasedSubject })).rejects.toMatchObject({
    code: 'SUBJECT_ERASED',
  })
  expect((await second.consents.list({ subject: otherSubject })).length).toBeGreaterThan(0)
  // The key that it makes now is under the new epoch.
  await second.consents.enrol({ cpf: '00000000191' })
  await Promise.all([second.close(), close()])
  expect(await diagnoseStore({ store, isDeep: true })).toMatchObject({ problems: [], epochs: [2] })
})

test('two concurrent erasures share an epoch, and both complete', async () => {
  const { averba, store, erasedSubject, otherSubject, close } = await twoPersons()
  const receipts = await Promise.all(
    [erasedSubject, otherSubject].map(subject => averba.subjects.erase({ subject }, erasure)),
  )
  for (const { completed } of receipts) expect(completed).toMatchObject({ found: 0 })
  for (const receipt of receipts) expect(checkErasureReceipt(receipt)).toEqual([])
  await averba.settle()
  await close()
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test('the deleted index is rebuilt row by row and finds no erased person', async () => {
  const world = await twoPersons()
  const { averba, portal, samples, store, erasedSubject, otherSubject } = world
  world.validationService.addPerson(other, { nome: 'X' })
  valueOf(await averba.validations.validate({ id: 'kept', cpf: other, claims: { nome: 'X' } }))
  const company = { destinatarioTipo: 'CNPJ', destinatarioId: '12ABC34501DE35' } as const
  await portal.notify({ evento: 'e', ...company, body: 'x'.repeat(1_100_000) })
  await averba.subscriptions.failures({ recover: true })
  const keep = ['validation.claims', 'validation.result'] as const
  await averba.subjects.erase({ subject: otherSubject }, { ...erasure, keep })
  const indexOf = () => {
    const sql = 'select kind, hex(digest) as digest, value from keyed_index order by 1, 2'
    const found = useDatabase(store, database => database.prepare(sql).all())
    return found as { kind: string }[]
  }
  const before = indexOf()
  expect([...new Set(before.map(row => row.kind))]).toEqual(
    expect.arrayContaining(['awareness', 'consent', 'cpf', 'failure', 'recovery', 'subscription', 'validated']),
  )
  useDatabase(store, database => database.exec('delete from keyed_index'))
  await expect(averba.consents.list({ cpf: samples.cpf })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(await averba.rebuildIndex()).toEqual({ before: 0, after: before.length, hidden: [] })
  expect(indexOf()).toEqual(before)
  expect(await averba.consents.enrol({ cpf: samples.cpf })).toBe(erasedSubject)
})

test('rebuilding the index reports persons enrolled again while it was missing', async () => {
  const { averba, samples, store, erasedSubject } = await twoPersons()
  useDatabase(store, database => database.exec('delete from keyed_index'))
  const again = await averba.consents.enrol({ cpf: samples.cpf })
  expect(again).not.toBe(erasedSubject)
  expect((await averba.rebuildIndex()).hidden).toEqual([erasedSubject])
  await averba.subjects.erase({ subject: erasedSubject }, erasure)
  expect((await averba.rebuildIndex()).hidden).toEqual([])
  expect(await averba.consents.enrol({ cpf: samples.cpf })).toBe(again)
})

test('an index rebuilt during an erasure does not lead to the person; one that does is a fault', async () => {
  const { averba, samples, store, erasedSubject, otherSubject } = await twoPersons()
  // More than one page of the log, so the person is read before the erasure and the index is written after it.
  const many = Array.from({ length: 1_200 }, (_, i) => ({ cpf: cpfOf(i + 1) }))
  for await (const _ of averba.consents.enrolAll(many)) void _
  const rebuilding = averba.rebuildIndex()
  const erasing = averba.subjects.erase({ subject: erasedSubject }, erasure)
  await Promise.all([rebuilding, erasing])
  await expect(averba.consents.list({ cpf: samples.cpf })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  expect(await averba.consents.enrol({ cpf: samples.cpf })).not.toBe(erasedSubject)
  const problems = async () => (await diagnoseStore({ store, isDeep: true })).problems
  expect(await problems()).toEqual([])
  useDatabase(store, database =>
    database
      .prepare("update keyed_index set value = ? where kind = 'cpf' and value = ?")
      .run(erasedSubject, otherSubject),
  )
  expect((await problems()).join()).toContain(`leads to "subject-${erasedSubject}", which was erased`)
})

test('an append for an erased owner, or a late erasure, is rejected or stripped of parts as requested', async () => {
  const { averba, store: path, erasedSubject, otherSubject, close } = await twoPersons()
  await averba.subjects.erase({ subject: erasedSubject }, erasure)
  await close()
  const store = await openStore({ path, views })
  const machine = { name: 'subject', version: 1 }
  const about = (subject: string, more: Partial<Append> = {}): Append => {
    const stream = `subject-${subject}`
    const parts = { record: { owner: stream, value: 'canario' } }
    const event = { type: 'subject.noted', data: { subject } }
    const at = '2030-01-01T00:00:00.000Z'
    return {
      at,
      streams: [{ stream, expect: 'any' }],
      events: [{ stream, event, causedBy: 'x', machine, parts }],
      ...more,
    }
  }
  expect(await store.append(about(erasedSubject, { whenErased: 'conflict' }))).toMatchObject({
    status: 'conflict',
  })
  const indexEntries = [{ kind: 'k', digest: store.digest('k', 'x'), value: erasedSubject }]
  const bare = await store.append(about(erasedSubject, { indexEntries }))
  expect(bare).toMatchObject({
    status: 'appended',
    events: [expect.not.objectContaining({ parts: expect.anything() })],
  })
  expect(await store.lookUp('k', 'x')).toBeUndefined()
  await expect(store.append(about(erasedSubject, { whenErased: 'refuse' }))).rejects.toMatchObject({
    code: 'SUBJECT_ERASED',
  })

  // In one transaction: appends before an erasure make it late, those after it have no parts.
  const { until } = await store.owners.survey(otherSubject)
  const none = { indexEntries: [], commands: [], streams: [], kept: [] }
  const person = { owner: `subject-${otherSubject}`, subject: otherSubject, until, keepsKey: false, ...none }
  const erasing = { ...about(erasedSubject), destroys: { parts: [], person } }
  const results = await Promise.all([store.append(about(otherSubject)), store.append(erasing)])
  expect(results.map(result => result.status)).toEqual(['appended', 'conflict'])
  const again = await store.owners.survey(otherSubject)
  const newer = { ...erasing, destroys: { parts: again.parts, person: { ...person, until: again.until } } }
  const [erased, after] = await Promise.all([store.append(newer), store.append(about(otherSubject))])
  expect([erased.status, after.status]).toEqual(['appended', 'appended'])
  expect(after).toMatchObject({ events: [expect.not.objectContaining({ parts: expect.anything() })] })
  expect(await store.owners.stateOf(`subject-${otherSubject}`)).toBe('erased')
})
