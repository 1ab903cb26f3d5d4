import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { diagnoseStore, valueOf, verifyLog } from '../../src/index.ts'
import { checkErasureReceipt } from '../../src/proof/erasure.ts'
import { simulate } from '../../src/simulation/index.ts'

const newStore = () => join(mkdtempSync(join(tmpdir(), 'averba-erasure-')), 'log.sqlite')
const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

test('a person is erased in one transaction, and a deep look finds every missing part explained', async () => {
  const store = newStore()
  const world = await simulate({ averba: { store } })
  const { averba, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  const [consent] = await averba.consents.list({ subject })
  valueOf(await averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } }))
  const receipt = await averba.subjects.erase({ cpf: samples.cpf }, asked)

  expect(receipt).toMatchObject({ subject, ...asked, keeps: [], epochsDestroyedAt: null })
  expect(receipt.completed).toMatchObject({ epoch: 2, previous: [1], found: 0 })
  expect(receipt.completed?.searchedFor).toBeGreaterThan(4)
  expect(receipt.destroyed.parts.map(part => part.name)).toEqual(
    expect.arrayContaining(['cpf', 'record', 'claims', 'result']),
  )
  expect(checkErasureReceipt(receipt)).toEqual([])

  const later = [
    averba.consents.sync({ subject }),
    averba.consents.list({ subject }),
    averba.consents.approve({ subject, id: consent?.id ?? '' }),
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
  expect(checked?.erasedParts).toBe(receipt.destroyed.parts.length)
})

test('a log is verified whole after an erasure that cancelled what was owed', async () => {
  const store = newStore()
  const world = await simulate({ averba: { store } })
  const { averba, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: 86_400_000 })
  const [owed] = await averba.effects.list()
  await averba.subjects.erase({ subject }, asked)
  expect(await averba.effects.get(owed?.id ?? '')).toMatchObject({ state: 'cancelled' })
  await world.close()
  expect((await verifyLog({ store })).faults).toEqual([])
})

test('a reveal is an event before anything is opened, and gives nothing of what was destroyed', async () => {
  const world = await simulate()
  const { averba, samples } = world
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
  const seen = async () => {
    const events = []
    for await (const event of averba.log.read({ types: ['reveal.recorded'] })) events.push(event)
    return events
  }
  expect(await seen()).toMatchObject([
    {
      actor: asking.actor,
      data: { parts: [row.record], owners: [`subject-${subject}`], purpose: asking.purpose },
    },
  ])

  const refused = [
    averba.subjects.reveal(row, { ...asking, actor: undefined as never }),
    averba.subjects.reveal(row, { ...asking, purpose: '' }),
    averba.subjects.reveal({ a: 'not-sealed/1/cpf' }, asking),
  ]
  for (const each of await Promise.allSettled(refused))
    expect(each).toMatchObject({ status: 'rejected', reason: { code: 'INVALID_INPUT' } })
  await expect(
    averba.subjects.reveal(row, { ...asking, purpose: `para ${samples.cpf}` }),
  ).rejects.toMatchObject({ code: 'PERSONAL_ID' })
  expect(await seen()).toHaveLength(1)

  await averba.subjects.erase({ subject }, asked)
  expect(await averba.subjects.reveal(row, asking)).toEqual({ ...row, record: null })
  await world.close()
})
