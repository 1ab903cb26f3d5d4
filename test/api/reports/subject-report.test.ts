import { afterAll, expect, test } from 'vitest'
import type { ConsentimentoDetalhado } from '../../../src/adapters/consent/wire.ts'
import { AverbaError, type SubjectRef, valueOf } from '../../../src/index.ts'
import { findDataSource } from '../../../src/pages/describe.ts'
import type { World } from '../../../src/simulation/index.ts'
import { isDetail, isList } from '../../support/consent-requests.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { openWaiting } from '../../support/open-validating.ts'
import { dayMs, passTime } from '../../support/pass-time.ts'
import { createReportedWorld, golden, readReport } from '../../support/reported-world.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openWorld } from '../../support/world.ts'

const reveal = { actor: { kind: 'person', ref: 'atendente-7' }, purpose: 'LGPD art. 18 II' } as const
const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

/** A world for the tests that only read it. */
const reported = await createReportedWorld()
afterAll(() => reported.world.close())
const { averba } = reported.world
const readOwn = () => readReport(averba, { subject: reported.subject })

test('the same log gives the same report, in Portuguese and in English', async () => {
  const { subject } = reported
  const { subjects } = averba
  const portuguese = await subjects.report({ subject })
  expect(await subjects.report({ subject }, { language: 'pt-BR', format: 'json' })).toBe(portuguese)
  await expect(portuguese).toMatchFileSnapshot(golden('subject.pt-BR.json'))
  const english = await subjects.report({ subject }, { language: 'en' })
  await expect(english).toMatchFileSnapshot(golden('subject.en.json'))
})

test('an actor finds nothing about other people in their own report', async () => {
  const { world, subject } = await createReportedWorld()
  const before = await readReport(world.averba, { subject })
  const actor = { kind: 'subject', ref: subject } as const
  valueOf(await world.averba.consents.sync({ cpf: '52998224725' }, { actor }))
  const after = await readReport(world.averba, { subject })
  expect(after.log.position).toBeGreaterThan(before.log.position)
  expect({ ...after, log: before.log }).toEqual(before)
})

test('a CPF is masked, and no personal data is opened', async () => {
  const { samples } = reported.world
  expect(await readOwn()).toMatchObject({ cpf: null })
  const report = await readReport(averba, { cpf: samples.cpf })
  expect(report).toMatchObject({ cpf: '***.744.350-**', subject: reported.subject })
  const text = JSON.stringify(report)
  const canaries = [samples.cpf, '257.744', 'Sousa', 'aplicativo', 'chave-secreta', reported.which.id]
  expect(canaries.filter(canary => text.includes(canary))).toEqual([])
})

test('the data itself is opened on request, once it is recorded who asks and why', async () => {
  const { world, subject } = await createReportedWorld()
  const { subjects, log } = world.averba
  const report = await readReport(world.averba, { subject }, { reveal })
  const [recorded] = await Array.fromAsync(log.read({ types: ['reveal.recorded'] }))
  expect(recorded).toMatchObject({ actor: reveal.actor, data: { purpose: reveal.purpose } })
  expect(recorded?.data).toMatchObject({ owners: [`subject-${subject}`] })
  const held = report.held.reduce((sum, each) => sum + each.held, 0)
  expect(report.data).toHaveLength(held)
  expect(recorded?.data).toMatchObject({ parts: { length: held } })
  const valueOf = (kind: string) => report.data?.find(each => each.kind === kind)?.value
  expect(valueOf('subject.enrolled/cpf')).toBe('25774435016')
  expect(valueOf('validation.requested/claims')).toEqual({ nome: 'Maria de Exemplo Sousa' })
  expect(valueOf('notification.received/body')).toMatchObject({ tipo: 'CPF', id: '25774435016', body: { numero: '1' } })
  // The controller's own officer is another person.
  const { usuario, titular } = valueOf('consent.described/detail') as ConsentimentoDetalhado // As it was sealed.
  expect(usuario?.responsavel).toMatchObject({ cpf: '***.444.777-**' })
  expect(titular.cpf).toBe('25774435016')
  const page = await subjects.report({ subject }, { reveal, format: 'html' })
  for (const data of ['25774435016', 'Maria de Exemplo Sousa', 'responsavel']) expect(page).toContain(data)
  expect(await subjects.report({ subject }, { format: 'html' })).not.toContain('Maria de Exemplo Sousa')
  const ofCpf = { ...reveal, actor: { kind: 'person', ref: '25774435016' } }
  for (const wrong of [{ ...reveal, purpose: '' }, { purpose: 'x' }, ofCpf]) {
    const asking = subjects.report({ subject }, { reveal: wrong as never }) // From an untyped host.
    await expect(asking).rejects.toThrow(AverbaError)
  }
})

test('the page names organisation, purposes and controllers, and folds the technical events', async () => {
  const organisation = { name: 'Loja de Exemplo Ltda.', contact: 'privacidade@loja.exemplo.br' }
  const { world, subject, which } = await givenConsent('ATIVO', undefined, { averba: { organisation } })
  const { consents, subjects } = world.averba
  await consents.get(which)
  const report = await readReport(world.averba, { subject })
  expect(report.organisation).toEqual(organisation)
  const names = report.consents.map(({ controllerName, purpose }) => [controllerName, purpose])
  expect(names).toContainEqual(['Controlador de Exemplo S.A.', 'Análise de crédito'])
  expect(names).toContainEqual([null, null])
  const page = await subjects.report({ subject }, { format: 'html' })
  for (const text of [organisation.name, organisation.contact]) expect(page.split(text)).toHaveLength(2)
  expect(page).toContain('<h3>Análise de crédito – Controlador de Exemplo S.A., 12.ABC.345/01DE-35</h3>')
  expect(page).toContain('<h3>Finalidade ainda não consultada – 12.ABC.345/01DE-35</h3>')
  const [shown = '', folded = ''] = page.split('<h2>Registro técnico</h2>')
  expect(folded).toMatch(new RegExp(`^\\s*<details><summary>${report.timeline.length} eventos</summary>`))
  // Each time once, and no id of ours, outside of what is folded.
  expect(shown).not.toContain('UTC</')
  expect(shown).not.toContain(subject)
  expect(shown).not.toMatch(/consent-\w{26}/)
})

test('CPFs of other people are masked in any form and place, revealed or not', async () => {
  const { world, subject, which } = await givenConsent('ATIVO', async (request, forward) => {
    const answer = await forward(request)
    if (!isDetail(request)) return answer
    const record = (await answer.json()) as ConsentimentoDetalhado // The service sends a record.
    const usuario = { ...record.usuario, nome: 'JOSE DA SILVA 11144477735', contato: 'Maria, 111.444.777-35' }
    const finalidade = { ...record.finalidade, rotulo: 'Compras de 111.444.777-35' }
    return Response.json({ ...record, usuario, finalidade, '11144477735': 11144477735 })
  })
  const { averba, samples } = world
  await averba.consents.get(which)
  const shown = await averba.subjects.report({ subject })
  const revealed = await averba.subjects.report({ subject }, { reveal })
  for (const text of [shown, revealed]) expect(text).not.toMatch(/111\.?444\.?777-?35/)
  expect(shown).toContain('"controllerName": "JOSE DA SILVA ***.444.777-**"')
  expect(shown).toContain('"purpose": "Compras de ***.444.777-**"')
  expect(revealed).toContain('"***.444.777-**": "***.444.777-**"')
  expect(revealed).toContain(samples.cpf)
})

test('a damaged part hides neither the report nor the other data', async () => {
  const store = temporaryStore()
  const { world, subject } = await createReportedWorld(store)
  await world.averba.close()
  useDatabase(store, database => {
    const damage = `update part set sealed = zeroblob(length(sealed)) where name = 'detail' and position =
      (select min(position) from part where name = 'detail')`
    expect(database.prepare(damage).run().changes).toBe(1)
  })
  const report = await readReport(await world.restart(), { subject }, { language: 'en', reveal })
  expect(report.data?.map(({ value }) => value)).toContain('damaged: it could not be opened')
  expect(report.data).toHaveLength(report.held.reduce((sum, each) => sum + each.held, 0))
})

test('an answer to a call that was not understood is in the timeline once', async () => {
  const { world, subject } = await givenConsent('ATIVO')
  world.faults.add({ kind: 'gateway', service: 'consentService', status: 404, times: 1 })
  await world.averba.consents.sync({ subject })
  const { timeline } = await readReport(world.averba, { subject })
  const positions = timeline.map(({ position }) => position)
  expect(timeline.map(({ type }) => type)).toContain('effect.deferred')
  expect(new Set(positions).size).toBe(positions.length)
})

test('an unknown subject and an unknown form are refused', async () => {
  const { subjects } = averba
  const codeOf = (work: Promise<unknown>) => work.catch((error: unknown) => (error as AverbaError).code)
  expect(await codeOf(subjects.report({ cpf: '11144477735' }))).toBe('NOT_FOUND')
  expect(await codeOf(subjects.report({ cpf: '11144477734' }))).toBe('INVALID_CPF')
  const wrong = { language: 'fr' } as never // From an untyped host.
  await expect(subjects.report({ subject: reported.subject }, wrong)).rejects.toThrow(AverbaError)
})

async function readOutcomes({ averba }: World, subject: SubjectRef): Promise<string[][]> {
  const { told } = await readReport(averba, { subject }, { language: 'en' })
  return told.map(({ operation, outcome }) => [operation.slice(operation.indexOf('.') + 1), outcome])
}

test('a reading that ended with its schedule is reported so, and not as an erasure', async () => {
  const world = await openWorld()
  const { consents } = world.averba
  const subject = await consents.enrol({ cpf: world.samples.cpf }, { syncEveryMs: 3_600_000 })
  await world.averba.settle()
  await consents.schedule({ subject }, { syncEveryMs: 7_200_000 })
  await consents.schedule({ subject }, { syncEveryMs: null })
  expect(await readOutcomes(world, subject)).toEqual([
    ['listConsents', 'answered'],
    ['listConsents', 'cancelled: another interval was set'],
    ['listConsents', 'cancelled: periodic readings were ended'],
  ])
  await world.averba.subjects.erase({ subject }, asked)
})

test('a call that the service has answered once is not reported as unsent after it is released', async () => {
  const world = await openWorld({ averba: { schedules: false } })
  const { averba, faults, samples } = world
  await faults.add({ kind: 'status', service: 'validationService', status: 429, retryAfterS: 3_600, times: 1 })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const { effect } = await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } })
  const outcome = async () => (await readOutcomes(world, subject)).find(([call]) => call === 'validatePerson')?.[1]
  expect(await outcome()).toBe('not done: it will be tried again')
  await averba.effects.retry(effect)
  expect(await outcome()).toBe('not done: it will be tried again')
  // No answer was lost.
  await averba.effects.withdraw(effect)
  expect(await outcome()).toBe('sent, and answered without being done; then cancelled')
})

test('a withdrawn change and one that was not made are reported as such', async () => {
  const { world, subject, which } = await givenConsent('PENDENTE')
  const { averba, faults } = world
  await faults.add({ kind: 'refuse', service: 'consentService' })
  await averba.consents.approve(which)
  await faults.clear()
  await faults.add({ kind: 'status', service: 'consentService', status: 503, times: 1 })
  expect((await averba.consents.deny(which)).status).toBe('unknown')
  await passTime(world, dayMs, 2)
  const changes = (await readOutcomes(world, subject)).filter(([call]) => call === 'changeStatus')
  expect(changes).toEqual([
    ['changeStatus', 'withdrawn: it was given up, or another call replaces it'],
    ['changeStatus', 'not done, as was found out later'],
    ['changeStatus', 'answered'],
  ])
})

test('a call under way during an erasure may have been made, and key work has no recipient', async () => {
  const { averba, left, answer, samples } = await openWaiting()
  const subject = await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: dayMs })
  const validating = averba.validations.validate({ id: 'a', cpf: samples.cpf, claims: { nome: 'X' } })
  await left
  await averba.subjects.erase({ subject }, asked)
  const calls = async () => {
    const { told } = await readReport(averba, { subject }, { language: 'en' })
    return told.map(({ service, state }) => `${service}: ${state}`)
  }
  const shown = ['Consent service: cancelled', 'Validation service: unknown']
  expect(await calls()).toEqual(shown)
  answer()
  await validating.catch(() => undefined)
  expect(await calls()).toEqual(shown)
})

test('a subject given by CPF and by ref is refused: it could be two persons', async () => {
  const { averba, samples } = await openWorld()
  await averba.consents.enrol({ cpf: samples.cpf })
  const subject = await averba.consents.enrol({ cpf: '52998224725' })
  const both = { cpf: samples.cpf, subject }
  const refused = { code: 'INVALID_INPUT', hint: expect.any(String) }
  await expect(averba.subjects.report(both)).rejects.toMatchObject(refused)
  await expect(averba.subjects.erase(both, asked)).rejects.toMatchObject(refused)
  await expect(averba.consents.list(both)).rejects.toMatchObject(refused)
  valueOf(await averba.validations.validate({ id: 'a', cpf: '52998224725', claims: { nome: 'X' } }))
  await averba.subjects.erase({ subject }, { ...asked, keep: ['validation.claims'] })
  await expect(averba.subjects.report(both)).rejects.toMatchObject(refused)
  await expect(averba.subjects.hold(both, 'processo 1')).rejects.toMatchObject(refused)
})

// Those of what most reports have are in their golden files.
test.each([
  ['validation.inconclusive/unreadable', 'validationService'],
  ['validation.declined/problem', 'validationService'],
  ['validation.withheld/problem', 'host'],
  ['validation.resolved/problem', 'host'],
  ['consent.changeDeclined/problem', 'consentService'],
  ['consent.changeWithheld/problem', 'host'],
  ['subject.synced/unreadable', 'consentService'],
  ['portal.listed/list', 'portal'],
  ['portal.failuresListed/answered', 'portal'],
  ['subscription.failing/content', 'portal'],
])('the source of %s is %s', (kind, source) => expect(findDataSource(kind)).toBe(source))

test('a list does not show a controller that the service no longer returns', async () => {
  let controller: unknown
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    const answer = await forward(request)
    if (controller === undefined || !isList(request)) return answer
    const list = (await answer.json()) as object[]
    return Response.json(list.map(each => ({ ...each, cnpjUsuario: controller })))
  })
  const shown = async () => (await world.averba.consents.list({ subject, status: 'ATIVO' }))[0]?.cnpjUsuario
  expect(await shown()).toBe(consent.cnpjUsuario)
  controller = null
  valueOf(await world.averba.consents.sync({ subject }))
  expect(await shown()).toBeNull()
})
