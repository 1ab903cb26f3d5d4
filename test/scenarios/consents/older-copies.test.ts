import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { eventsOf, isDetail, isList } from '../subscriptions/given-troubled.ts'
import { givenConsent } from './given-consent.ts'

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }

/**
 * An active consent that was listed and read in full, at a service that from then on may answer from a copy: of lists,
 * of readings in full, or of both, as they were when they were last kept.
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

test('an end that is believed without its history is not undone by an older copy within the minute', async () => {
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

test('a revocation that was answered is not undone by an older reading in full, however old the known history is', async () => {
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

test('an end with which a consent is listed again is not undone by an older copy within the minute', async () => {
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

test('an end that a list showed is not undone by an older copy after the consent was not listed once', async () => {
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

/** A consent that was revoked and given anew, and whose older copies still show the revocation. */
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

test('a revocation that was put off leaves, although an older copy shows an end from before the consent was given anew', async () => {
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

test('a revocation that was put off does not leave once a list has shown the end, also where an earlier one was like it', async () => {
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

test('a revocation that was lost is not taken for made by an older copy of an end from before it', async () => {
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

test('what a list shows after another one is believed when the reading in full is declined, and can be revoked', async () => {
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

test('a revocation that was put off and then refused is told by health() while the consent stands', async () => {
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

test('an end that a list showed is announced, though the first history that is read has the consent given anew', async () => {
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
