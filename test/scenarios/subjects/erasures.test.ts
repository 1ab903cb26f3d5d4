import { expect, test } from 'vitest'
import { diagnoseStore, valueOf, verifyLog } from '../../../src/index.ts'
import { canonicalJson } from '../../../src/proof/canonical-json.ts'
import { checkErasureReceipt } from '../../../src/proof/erasure.ts'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import { openKeyring } from '../../../src/vault/keyring.ts'
import { KeyringFile } from '../../../src/vault/keyring-file.ts'
import type { Json } from '../../../src/vocabulary/message.ts'
import { readConsent } from '../../support/given-consent.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

test('of two erasures of a person at the same time both get the receipt', async () => {
  const { averba, samples } = await openWorld()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const receipts = await Promise.all([
    averba.subjects.erase({ subject }, asked),
    averba.subjects.erase({ subject }, asked),
  ])
  expect(receipts.map(each => each.subject)).toEqual([subject, subject])
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
  expect(receipt.destroyed.parts.map(part => part.name)).toEqual(
    expect.arrayContaining(['cpf', 'record', 'claims', 'result']),
  )
  expect(checkErasureReceipt(receipt)).toEqual([])
  expect(await averba.effects.get(pending?.id ?? '')).toMatchObject({ state: 'cancelled' })

  const later = [
    averba.consents.sync({ subject }),
    averba.consents.list({ subject }),
    averba.consents.approve(which),
    averba.logins.state({ subject }),
  ]
  for (const each of await Promise.allSettled(later))
    expect(each).toMatchObject({ status: 'rejected', reason: { code: 'SUBJECT_ERASED' } })
  await expect(averba.consents.sync({ cpf: samples.cpf })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const again = await averba.consents.enrol({ cpf: samples.cpf })
  expect(again).not.toBe(subject)
  expect(await averba.subjects.receipt(subject)).toEqual(receipt)
  await world.close()

  const { problems, checked } = await diagnoseStore({ store, isDeep: true })
  expect(problems).toEqual([])
  expect((await verifyLog({ store })).faults).toEqual([])
  expect(checked?.erasedParts).toBe(receipt.destroyed.parts.length)
})

test('an erasure that is not complete after a day is told of, with the reason', async () => {
  const store = temporaryStore()
  const { averba, clock, samples } = await openWorld({ averba: { store } })
  await averba.consents.enrol({ cpf: samples.cpf })
  const reader = new Sqlite(store, { readOnly: true })
  reader.exec('begin')
  reader.prepare('select count(*) from event').get()
  const { subject, completed } = await averba.subjects.erase({ cpf: samples.cpf }, asked)
  expect(completed).toBeNull()
  const check = async () => (await averba.health({ only: ['erasures'] })).checks[0]
  await passTime({ averba, clock }, 6 * hourMs, 3)
  expect(await check()).toMatchObject({ ok: true })
  await passTime({ averba, clock }, 6 * hourMs, 2)
  const detail = expect.stringMatching(
    /over a day: see effects\.get\(.*\): a reader still uses the journal of the file$/,
  )
  expect(await check()).toMatchObject({ ok: false, detail })
  reader.close()
  await passTime({ averba, clock }, 6 * hourMs)
  expect(await check()).toMatchObject({ ok: true })
  expect((await averba.subjects.receipt(subject))?.completed).not.toBeNull()
})

test('while the key service refuses to destroy an epoch, settling goes on, and the erasure is told of', async () => {
  const turn = async (bytes: Uint8Array) => bytes.map(byte => byte ^ 1)
  let isDown = true
  const destroyEpoch = async () => {
    if (isDown) throw new RangeError('the service is down')
  }
  const keys = { id: 'kms-1', wrap: turn, unwrap: turn, destroyEpoch }
  const world = await openWorld({ averba: { store: temporaryStore(), keys, backupRetentionDays: 1 } })
  const { averba, samples } = world
  await averba.consents.enrol({ cpf: samples.cpf })
  const { subject } = await averba.subjects.erase({ cpf: samples.cpf }, asked)
  await passTime(world, 12 * hourMs, 6)
  const detail = expect.stringContaining('Cannot use the keys: their service failed (RangeError)')
  expect((await averba.health({ only: ['erasures'] })).checks).toMatchObject([{ ok: false, detail }])
  isDown = false
  await passTime(world, 12 * hourMs, 2)
  expect((await averba.subjects.receipt(subject))?.epochsDestroyedAt).not.toBeNull()
  expect((await averba.health({ only: ['erasures'] })).checks).toMatchObject([{ ok: true }])
})

test('an erasure whose calls no process makes is told of', async () => {
  const world = await openWorld({ averba: { store: temporaryStore(), backupRetentionDays: 1 } })
  const { averba, samples, clock } = world
  await averba.consents.enrol({ cpf: samples.cpf })
  await averba.subjects.erase({ cpf: samples.cpf }, asked)
  const check = async () => (await averba.health({ only: ['erasures'] })).checks[0]
  await clock.advance(47 * hourMs)
  expect(await check()).toMatchObject({ ok: true })
  await clock.advance(2 * hourMs)
  expect(await check()).toMatchObject({ ok: false, detail: expect.stringMatching(/: no process makes its calls$/) })
  await passTime(world, hourMs)
  expect(await check()).toMatchObject({ ok: true })
})

test('a reveal is recorded before anything is opened, and returns no destroyed data', async () => {
  const { averba, samples } = await openWorld()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  const rows = await averba.views.selectFrom('consents').selectAll().execute()
  const [row] = rows
  if (!row) throw new Error('There is no consent')
  const asking = { actor: { kind: 'person', ref: 'atendente-7' }, purpose: 'atendimento ao titular' } as const
  const revealed = await averba.subjects.reveal(row, asking)
  expect(revealed).toMatchObject({
    consent: row.consent,
    status: row.status,
    record: { id: expect.any(String) },
  })
  const seen = () => Array.fromAsync(averba.log.read({ types: ['reveal.recorded'] }))
  expect(await seen()).toMatchObject([
    {
      actor: asking.actor,
      data: { parts: [row.record], owners: [`subject-${subject}`], purpose: asking.purpose },
    },
  ])

  const refused = [
    averba.subjects.reveal(row, { ...asking, actor: undefined as never }),
    averba.subjects.reveal(row, { ...asking, purpose: ' ' }),
    averba.subjects.reveal({ a: 'not-sealed/1/cpf' }, asking),
  ]
  for (const each of await Promise.allSettled(refused))
    expect(each).toMatchObject({ status: 'rejected', reason: { code: 'INVALID_INPUT' } })
  await expect(averba.subjects.reveal(row, { ...asking, purpose: `para ${samples.cpf}` })).rejects.toMatchObject({
    code: 'PERSONAL_ID',
  })
  expect(await seen()).toHaveLength(1)

  await averba.subjects.erase({ subject }, asked)
  expect(await averba.subjects.reveal(row, asking)).toEqual({ ...row, record: null })
})

test('old and new subject share no value after an erasure, and no CPF leads to the old one', async () => {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store } })
  const { averba, samples } = world
  const { cpf } = samples
  const claims = { nome: 'X' }
  const subject = await averba.consents.enrol({ cpf }, { commandId: 'enrol-1' })
  await averba.consents.enrol({ cpf }, { commandId: 'enrol-2' })
  await averba.consents.enrol({ cpf: '52998224725' }, { commandId: 'enrol-of-another' })
  valueOf(await averba.validations.validate({ id: 'p1', cpf, claims }))
  await averba.consents.sync({ subject })
  const [active] = await averba.consents.list({ subject, status: 'ATIVO' })
  const basis = { purpose: 'crédito', legalBasis: 'LGPD 7 I' }
  await averba.consents.use({ subject, id: active?.id ?? '' }, { commandId: 'use-1', basis })
  const erasing = { ...asked, commandId: 'erase-1' }
  const receipt = await averba.subjects.erase({ cpf }, erasing)
  // A repeated command id works although the CPF no longer leads to the person.
  expect(await averba.subjects.erase({ cpf }, erasing)).toEqual(receipt)
  await expect(averba.subjects.erase({ cpf: '52998224725' }, erasing)).rejects.toMatchObject({
    code: 'COMMAND_REUSED',
  })

  const again = [
    averba.consents.enrol({ cpf }, { commandId: 'enrol-1' }),
    averba.consents.enrol({ cpf }, { commandId: 'enrol-2' }),
    averba.validations.validate({ id: 'p1', cpf, claims }),
  ]
  for (const each of await Promise.allSettled(again))
    expect(each).toMatchObject({ status: 'rejected', reason: { code: 'SUBJECT_ERASED' } })
  await expect(averba.validations.validate({ id: 'p1', cpf, claims })).rejects.toMatchObject({
    message: expect.stringMatching(/its data subject was erased\. Its call was made$/),
  })
  await expect(averba.consents.enrol({ cpf }, { commandId: 'enrol-of-another' })).rejects.toMatchObject({
    code: 'COMMAND_REUSED',
  })
  const next = await averba.consents.enrol({ cpf }, { commandId: 'enrol-3' })
  expect(next).not.toBe(subject)
  expect((await averba.subjects.erase({ cpf }, asked)).subject).toBe(next)
  expect((await averba.subjects.erase({ cpf }, erasing)).subject).toBe(subject)
  // A person enrolled since is another subject: erasing that one does not return the first receipt.
  await averba.consents.enrol({ cpf }, { commandId: 'enrol-4' })
  const met = await averba.consents.enrol({ cpf }, { commandId: 'enrol-5' })
  await expect(averba.subjects.erase({ cpf }, erasing)).rejects.toMatchObject({ code: 'COMMAND_REUSED' })
  expect(await averba.subjects.receipt(met)).toBeUndefined()
  await world.close()

  const file = new Sqlite(store, { readOnly: true })
  const rows = file.rows<{ id: string; digest: Buffer }>('select command_id as id, digest from receipt')
  file.close()
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
  const { problems } = await diagnoseStore({ store, isDeep: true })
  expect(problems).toEqual([])
})
