import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { eventsOf, isDetail, isList } from '../subscriptions/given-troubled.ts'
import { givenConsent } from './given-consent.ts'

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }

/**
 * An active consent, listed and read in full, at a service that then may answer lists, details or both from an older
 * copy.
 */
async function given() {
  const service = { list: 'now', detail: 'now', change: 'now', isKeeping: true, changes: 0 }
  const copies = new Map<string, string>()
  const answer = async (request: Request, mode: string, forward: (request: Request) => Promise<Response>) => {
    if (mode === 'old') return new Response(copies.get(request.url), { headers: json })
    if (mode === 'empty') return Response.json([])
    if (mode !== 'now') return Response.json({}, { status: Number(mode) })
    const response = await forward(request)
    if (service.isKeeping) copies.set(request.url, await response.clone().text())
    return response
  }
  const found = await givenConsent('ATIVO', async (request, forward) => {
    if (isList(request)) return answer(request, service.list, forward)
    if (isDetail(request)) return answer(request, service.detail, forward)
    if (request.method !== 'PUT') return forward(request)
    service.changes += 1
    if (service.change === 'lost') throw new TypeError('reset')
    if (service.change === 'now') return forward(request)
    return Response.json({}, { status: Number(service.change), headers: { 'retry-after': '30' } })
  })
  const { world, subject, consent } = found
  const { averba, clock, consentService, samples } = world
  const which = { subject, id: consent.id }
  const change = (status: 'ATIVO' | 'REVOGADO') => consentService.change(samples.cpf, which.id, status)
  const list = async () => {
    valueOf(await averba.consents.sync({ subject }))
    await averba.settle()
  }
  const standing = async () => (await averba.consents.standing(which)).reason
  await averba.consents.get({ ...which, ageMaxMs: 0 })
  await list()
  await clock.advance(hourMs)
  return { world, which, service, change, list, standing, ...averba, clock }
}

const json = { 'content-type': 'application/json' }

test('an older copy does not undo an end without history within a minute', async () => {
  const { world, service, change, list, standing, clock } = await given()
  service.isKeeping = false
  change('REVOGADO')
  service.detail = '403'
  await list()
  expect(await standing()).toBe('revoked')
  await clock.advance(5 * secondMs)
  service.list = 'old'
  await list()
  expect(await standing()).toBe('revoked')
  await world.close()
})

test('an older reading in full does not undo an answered revocation, however old the history is', async () => {
  const { world, which, service, change, standing, consents, clock } = await given()
  service.isKeeping = false
  change('REVOGADO')
  await clock.advance(secondMs)
  change('ATIVO')
  await consents.get({ ...which, ageMaxMs: 0 })
  await clock.advance(hourMs)
  expect((await consents.revoke(which)).status).toBe('settled')
  await clock.advance(5 * secondMs)
  service.detail = 'old'
  await consents.get({ ...which, ageMaxMs: 0 })
  expect(await standing()).toBe('revoked')
  await world.close()
})

test('an older copy does not undo the end of a relisted consent within a minute', async () => {
  const { world, service, change, list, standing, clock } = await given()
  service.isKeeping = false
  service.list = 'empty'
  await list()
  change('REVOGADO')
  service.list = 'now'
  await clock.advance(minuteMs)
  await list()
  expect(await standing()).toBe('revoked')
  await clock.advance(5 * secondMs)
  Object.assign(service, { list: 'old', detail: 'old' })
  await list()
  expect(await standing()).toBe('revoked')
  await world.close()
})

test('an older copy does not undo an end from a list after the consent was once unlisted', async () => {
  const { world, service, change, list, standing, clock } = await given()
  service.isKeeping = false
  change('REVOGADO')
  service.detail = '503'
  await list()
  await clock.advance(5 * secondMs)
  service.list = 'empty'
  await list()
  await clock.advance(5 * secondMs)
  service.list = 'old'
  await list()
  expect(await standing()).toBe('vanished')
  service.list = 'now'
  await list()
  expect(await standing()).toBe('revoked')
  await world.close()
})

/** A consent that was revoked and given again. The older copies still show the revocation. */
async function givenAnew() {
  const all = await given()
  const { service, change, list, standing, clock } = all
  change('REVOGADO')
  await list()
  await clock.advance(hourMs)
  await list()
  service.isKeeping = false
  change('ATIVO')
  await clock.advance(5 * secondMs)
  await list()
  expect(await standing()).toBe('active')
  await clock.advance(5 * secondMs)
  return all
}

test('a deferred revocation is sent although an older copy shows an earlier end', async () => {
  const { world, which, service, list, standing, consents, clock } = await givenAnew()
  const revoke = () => consents.revoke(which, { commandId: 'no' })
  service.change = '503'
  expect((await revoke()).status).toBe('deferred')
  await clock.advance(5 * secondMs)
  service.list = 'old'
  await list()
  Object.assign(service, { list: 'now', change: 'now' })
  await clock.advance(hourMs)
  await list()
  expect((await revoke()).status).toBe('settled')
  expect(await standing()).toBe('revoked')
  expect(service.changes).toBe(2)
  await world.close()
})

test('a deferred revocation is not sent after a list showed the end, even with an earlier one', async () => {
  const { world, which, service, change, list, standing, consents, clock } = await givenAnew()
  const revoke = () => consents.revoke(which, { commandId: 'no' })
  await consents.get({ ...which, ageMaxMs: 0 })
  service.change = '503'
  expect((await revoke()).status).toBe('deferred')
  change('REVOGADO')
  await clock.advance(5 * secondMs)
  await list()
  change('ATIVO')
  service.change = 'now'
  await clock.advance(hourMs)
  await list()
  expect((await revoke()).status).toBe('settled')
  expect(service.changes).toBe(1)
  expect(await standing()).toBe('active')
  await world.close()
})

test('an older copy of an earlier end does not settle a lost revocation', async () => {
  const { world, which, service, list, consents, clock } = await givenAnew()
  const revoke = () => consents.revoke(which, { commandId: 'no' })
  Object.assign(service, { change: 'lost', detail: '503' })
  expect((await revoke()).status).toBe('unknown')
  await clock.advance(5 * secondMs)
  service.list = 'old'
  await list()
  Object.assign(service, { list: 'now', detail: 'now', change: 'now' })
  await clock.advance(hourMs)
  await list()
  expect(await revoke()).toMatchObject({ status: 'declined', problem: { code: 'NOT_DONE' } })
  expect((await world.averba.health({ only: ['consents'] })).checks).toMatchObject([{ ok: false }])
  await world.close()
})

test('a later list counts when the reading in full is declined, and the consent can be revoked', async () => {
  const { world, which, service, change, list, standing, consents, clock } = await given()
  service.detail = '503'
  change('REVOGADO')
  await list()
  change('ATIVO')
  await clock.advance(2 * minuteMs)
  await list()
  expect(await standing()).toBe('uncertain')
  service.detail = '403'
  await clock.advance(2 * hourMs)
  await list()
  expect(await standing()).toBe('active')
  expect((await consents.use(which, { basis })).reason).toBe('active')
  expect((await consents.revoke(which)).status).toBe('settled')
  await world.close()
})

test('health reports a deferred revocation that was then refused while the consent is active', async () => {
  const { world, which, service, consents, health, clock } = await given()
  service.change = '503'
  expect((await consents.revoke(which, { commandId: 'no' })).status).toBe('deferred')
  service.change = '403'
  await clock.advance(hourMs)
  await world.averba.settle()
  expect(await eventsOf(world, 'consent.changeDeclined')).toMatchObject([{ data: { asked: 'REVOGADO' } }])
  const detail = expect.stringContaining('1 denial or revocation was not made')
  expect((await health({ only: ['consents'] })).checks).toMatchObject([{ ok: false, detail }])
  service.change = 'now'
  expect((await consents.revoke(which)).status).toBe('settled')
  expect((await health({ only: ['consents'] })).checks).toMatchObject([{ ok: true }])
  await world.close()
})

test('an end from a list is announced even if the first history shows the consent given again', async () => {
  let isUnread = true
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    return isDetail(request) && isUnread ? Response.json({}, { status: 503 }) : forward(request)
  })
  const { averba, clock, consentService, samples } = world
  await clock.advance(hourMs)
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  await averba.consents.sync({ subject })
  await clock.advance(minuteMs)
  consentService.change(samples.cpf, consent.id, 'ATIVO')
  isUnread = false
  await clock.advance(hourMs)
  await averba.settle()
  expect(await eventsOf(world, 'consent.revoked', 'consent.conflicted')).toMatchObject([
    { type: 'consent.revoked', data: { status: 'REVOGADO' } },
    { type: 'consent.conflicted', data: { status: 'ATIVO' } },
  ])
  await world.close()
})
