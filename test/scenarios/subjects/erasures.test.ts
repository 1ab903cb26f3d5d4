import { expect, test } from 'vitest'
import { type AverbaOptions, diagnoseStore, valueOf, verifyLog } from '../../../src/index.ts'
import { canonicalJson } from '../../../src/proof/canonical-json.ts'
import { checkErasureReceipt } from '../../../src/proof/erasure.ts'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import { openKeyring } from '../../../src/vault/keyring.ts'
import { KeyringFile } from '../../../src/vault/keyring-file.ts'
import type { Json } from '../../../src/vocabulary/message.ts'
import { checkOf } from '../../support/check-of.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent, readConsent } from '../../support/given-consent.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openWorld } from '../../support/world.ts'

const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

test('the command id of an erasure does not erase a later enrolment of the CPF, and the ref gives the receipt', async () => {
  const { averba, samples } = await openWorld()
  const { consents, subjects } = averba
  const { cpf } = samples
  const subject = await consents.enrol({ cpf })
  const erasing = { ...asked, commandId: 'erase-1' }
  await subjects.erase({ cpf }, erasing)
  expect((await subjects.erase({ cpf }, erasing)).subject).toBe(subject)
  const again = await consents.enrol({ cpf })
  await refuses('COMMAND_REUSED', subjects.erase({ cpf }, erasing), { hint: expect.stringContaining('by its ref') })
  expect((await subjects.erase({ subject }, erasing)).subject).toBe(subject)
  // Of two erasures at the same time both get the receipt.
  const erasedAgain = ['erase-2', 'erase-3'].map(commandId =>
    subjects.erase({ subject: again }, { ...asked, commandId }),
  )
  expect((await Promise.all(erasedAgain)).map(each => each.subject)).toEqual([again, again])
})

test('a person is erased in one transaction, and a deep check explains every missing part', async () => {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store } })
  const { averba, samples } = world
  const { subject, which } = await readConsent(world)
  await averba.consents.schedule({ subject }, { syncEveryMs: 86_400_000 })
  const [pending] = await averba.effects.list({ state: 'pending' })
  valueOf(await averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } }))
  const receipt = await averba.subjects.erase({ cpf: samples.cpf }, asked)

  expect(receipt).toMatchObject({ subject, ...asked, keeps: [], epochsDestroyedAt: null })
  expect(receipt.completed).toMatchObject({ epoch: 2, previous: [1], found: 0 })
  expect(receipt.completed?.searchedFor).toBeGreaterThan(4)
  expect(checkErasureReceipt({ ...receipt, endsGivenUp: 1 })).toEqual(['it gave up another number of ends'])
  const names = receipt.destroyed.parts.map(part => part.name)
  expect(names).toEqual(expect.arrayContaining(['cpf', 'record', 'claims', 'result']))
  expect(checkErasureReceipt(receipt)).toEqual([])
  expect(await averba.effects.get(pending?.id ?? '')).toMatchObject({ state: 'cancelled' })

  const { approve, list, sync } = averba.consents
  for (const call of [sync, list, averba.logins.state]) await refuses('SUBJECT_ERASED', call({ subject }))
  await refuses('SUBJECT_ERASED', approve(which))
  await refuses('NOT_FOUND', averba.consents.sync({ cpf: samples.cpf }))
  const again = await averba.consents.enrol({ cpf: samples.cpf })
  expect(again).not.toBe(subject)
  expect(await averba.subjects.receipt(subject)).toEqual(receipt)
  await world.close()

  const { problems, checked } = await diagnoseStore({ store, isDeep: true })
  expect(problems).toEqual([])
  expect((await verifyLog({ store })).faults).toEqual([])
  expect(checked?.erasedParts).toBe(receipt.destroyed.parts.length)
})

/** A world with an erased person, and the check of erasures. */
async function givenErased(options: Partial<AverbaOptions>, before: (store: string) => void = () => undefined) {
  const store = temporaryStore()
  const world = await openWorld({ averba: { ...options, store } })
  const { averba, samples } = world
  await averba.consents.enrol({ cpf: samples.cpf })
  before(store)
  const { subject, completed } = await averba.subjects.erase({ cpf: samples.cpf }, asked)
  const check = () => checkOf(averba, 'erasures')
  return { completed, check, receipt: () => averba.subjects.receipt(subject), world }
}

test('an erasure that is not complete after a day is told of, with the reason', async () => {
  let reader: Sqlite | undefined
  const { check, completed, receipt, world } = await givenErased({}, store => {
    reader = new Sqlite(store, { readOnly: true })
    reader.exec('begin; select count(*) from event')
  })
  expect(completed).toBeNull()
  await passTime(world, 6 * hourMs, 3)
  expect(await check()).toMatchObject({ ok: true })
  await passTime(world, 6 * hourMs, 2)
  const detail = /over a day: see effects\.get\(.*\): a reader still uses the journal of the file$/
  expect(await check()).toMatchObject({ ok: false, detail: expect.stringMatching(detail) })
  reader?.close()
  await passTime(world, 6 * hourMs)
  expect(await check()).toMatchObject({ ok: true })
  expect((await receipt())?.completed).not.toBeNull()
})

test('while the key service refuses to destroy an epoch, settling goes on, and the erasure is told of', async () => {
  const turn = async (bytes: Uint8Array) => bytes.map(byte => byte ^ 1)
  let isDown = true
  const destroyEpoch = async () => {
    if (isDown) throw new RangeError('the service is down')
  }
  const keys = { id: 'kms-1', wrap: turn, unwrap: turn, destroyEpoch }
  const { check, receipt, world } = await givenErased({ keys, backupRetentionDays: 1 })
  await passTime(world, 12 * hourMs, 6)
  const detail = expect.stringContaining('Cannot use the keys: their service failed (RangeError)')
  expect(await check()).toMatchObject({ ok: false, detail })
  isDown = false
  await passTime(world, 12 * hourMs, 2)
  expect((await receipt())?.epochsDestroyedAt).not.toBeNull()
  expect(await check()).toMatchObject({ ok: true })
})

test('an erasure whose calls no process makes is told of', async () => {
  const { check, world } = await givenErased({ backupRetentionDays: 1 })
  await world.clock.advance(47 * hourMs)
  expect(await check()).toMatchObject({ ok: true })
  await world.clock.advance(2 * hourMs)
  expect(await check()).toMatchObject({ ok: false, detail: expect.stringMatching(/: no process makes its calls$/) })
  await passTime(world, hourMs)
  expect(await check()).toMatchObject({ ok: true })
})

test('a reveal is recorded before anything is opened, and returns no destroyed data', async () => {
  const { averba, samples, subject } = await givenConsent('ATIVO')
  const row = await averba.views.selectFrom('consents').selectAll().executeTakeFirstOrThrow()
  const asking = { actor: { kind: 'person', ref: 'atendente-7' }, purpose: 'atendimento ao titular' } as const
  const { reveal } = averba.subjects
  const { consent, status } = row
  expect(await reveal(row, asking)).toMatchObject({ consent, status, record: { id: expect.any(String) } })
  const seen = () => eventsOf({ averba }, 'reveal.recorded')
  const data = { parts: [row.record], owners: [`subject-${subject}`], purpose: asking.purpose }
  expect(await seen()).toMatchObject([{ actor: asking.actor, data }])

  await refuses('INVALID_INPUT', reveal(row, { ...asking, actor: undefined as never }))
  await refuses('INVALID_INPUT', reveal(row, { ...asking, purpose: ' ' }))
  await refuses('INVALID_INPUT', reveal({ a: 'not-sealed/1/cpf' }, asking))
  await refuses('PERSONAL_ID', reveal(row, { ...asking, purpose: `para ${samples.cpf}` }))
  expect(await seen()).toHaveLength(1)

  await averba.subjects.erase({ subject }, asked)
  expect(await reveal(row, asking)).toEqual({ ...row, record: null })
})

test('old and new subject share no value after an erasure, and no CPF leads to the old one', async () => {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store } })
  const { cpf } = world.samples
  const { consents, subjects, validations } = world.averba
  const claims = { nome: 'X' }
  const enrol = (commandId: string, whom: string = cpf) => consents.enrol({ cpf: whom }, { commandId })
  const subject = await enrol('enrol-1')
  await enrol('enrol-2')
  await enrol('enrol-of-another', '52998224725')
  valueOf(await validations.validate({ id: 'p1', cpf, claims }))
  await consents.sync({ subject })
  const [active] = await consents.list({ subject, status: 'ATIVO' })
  const basis = { purpose: 'crédito', legalBasis: 'LGPD 7 I' }
  await consents.use({ subject, id: active?.id ?? '' }, { commandId: 'use-1', basis })
  const erasing = { ...asked, commandId: 'erase-1' }
  const receipt = await subjects.erase({ cpf }, erasing)
  // A repeated command id works although the CPF no longer leads to the person.
  expect(await subjects.erase({ cpf }, erasing)).toEqual(receipt)
  await refuses('COMMAND_REUSED', subjects.erase({ cpf: '52998224725' }, erasing))

  await refuses('SUBJECT_ERASED', enrol('enrol-1'))
  await refuses('SUBJECT_ERASED', enrol('enrol-2'))
  const message = expect.stringMatching(/its data subject was erased\. Its call was made$/)
  await refuses('SUBJECT_ERASED', validations.validate({ id: 'p1', cpf, claims }), { message })
  await refuses('COMMAND_REUSED', enrol('enrol-of-another'))
  const next = await enrol('enrol-3')
  expect(next).not.toBe(subject)
  expect((await subjects.erase({ cpf }, asked)).subject).toBe(next)
  expect((await subjects.erase({ cpf }, erasing)).subject).toBe(subject)
  // A person enrolled since is another subject: erasing that one does not return the first receipt.
  await enrol('enrol-4')
  const met = await enrol('enrol-5')
  await refuses('COMMAND_REUSED', subjects.erase({ cpf }, erasing))
  expect(await subjects.receipt(met)).toBeUndefined()
  await world.close()

  const query = 'select command_id as id, digest from receipt'
  const rows = useDatabase(store, file => file.rows<{ id: string; digest: Buffer }>(query))
  expect(rows.find(({ id }) => id === 'use-1')?.digest).toHaveLength(0)
  const left = rows.filter(({ digest }) => digest.length > 0)
  expect(new Set(left.map(({ digest }) => digest.toString('hex'))).size).toBe(left.length)
  const keyring = await openKeyring(new KeyringFile(`${store}.keys`, systemEntropy), systemEntropy)
  const inputs = [
    { method: 'consents.enrol', cpf },
    { method: 'validations.validate', cpf, claims },
  ]
  const digestOf = (value: Json) =>
    Buffer.from(keyring.digest('command', canonicalJson(value, { fractions: true }))).toString('hex')
  const found = left.filter(({ id, digest }) =>
    inputs.some(input => [digestOf(input), digestOf({ commandId: id, input })].includes(digest.toString('hex'))),
  )
  // Of the third subject, who is still enrolled.
  expect(found).toHaveLength(2)
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})
