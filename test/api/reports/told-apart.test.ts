import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { findDataSource } from '../../../src/pages/describe.ts'
import { isList } from '../../support/consent-requests.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { openWaiting } from '../../support/open-validating.ts'
import { readReport } from '../../support/reported-world.ts'
import { openWorld } from '../../support/world.ts'

const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

test('a call under way during an erasure may have been made, and key work has no recipient', async () => {
  const { averba, left, answer, samples } = await openWaiting()
  const subject = await averba.consents.enrol({ cpf: samples.cpf }, { syncEveryMs: 86_400_000 })
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

test.each([
  ['validation.inconclusive/unreadable', 'validationService'],
  ['validation.answered/result', 'validationService'],
  ['validation.declined/problem', 'validationService'],
  ['validation.withheld/problem', 'host'],
  ['validation.resolved/problem', 'host'],
  ['validation.requested/claims', 'host'],
  ['consent.appeared/record', 'consentService'],
  ['consent.changeDeclined/problem', 'consentService'],
  ['consent.changeWithheld/problem', 'host'],
  ['consent.changeRequested/why', 'host'],
  ['subject.enrolled/cpf', 'host'],
  ['subject.synced/unreadable', 'consentService'],
  ['portal.listed/list', 'portal'],
  ['portal.failuresListed/answered', 'portal'],
  ['subscription.failing/content', 'portal'],
  ['notification.received/body', 'portal'],
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
