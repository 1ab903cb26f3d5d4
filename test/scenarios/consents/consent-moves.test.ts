import { describe, expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { eventsOf, isDetail } from '../subscriptions/given-troubled.ts'
import { givenConsent } from './given-consent.ts'

const hourMs = 60 * 60_000
const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }
const moves = [
  'consent.approved',
  'consent.denied',
  'consent.revoked',
  'consent.expired',
  'consent.conflicted',
] as const

interface Entry {
  readonly status: string
  readonly dataHora: string
}

/** A service whose histories have other dates, whose changes are lost or deferred, or whose details fail. */
async function givenService(status: 'PENDENTE' | 'ATIVO', date: (iso: string) => string = iso => iso) {
  const service = { change: 'made' as 'made' | 'made and lost' | 'deferred', isDown: false, sent: 0 }
  const given = await givenConsent(status, async (request, forward) => {
    if (request.method === 'PUT') {
      service.sent += 1
      if (service.change === 'deferred') return Response.json({}, { status: 503, headers: { 'retry-after': '3600' } })
      const answer = await forward(request)
      if (service.change === 'made and lost') throw new TypeError('reset')
      return answer
    }
    if (!isDetail(request)) return forward(request)
    if (service.isDown) return Response.json({}, { status: 503 })
    const response = await forward(request)
    const { historico, ...rest } = (await response.json()) as { historico: Entry[] }
    return Response.json({
      ...rest,
      historico: historico.map(each => ({ ...each, dataHora: date(each.dataHora) })),
    })
  })
  const which = { subject: given.subject, id: given.consent.id }
  return { ...given, service, which }
}

test('a later history does not record answered changes again', async () => {
  const { world, which } = await givenService('PENDENTE')
  const { averba, clock } = world
  for (const step of ['get', 'approve', 'revoke', 'get'] as const) {
    if (step === 'get') await averba.consents.get({ ...which, ageMaxMs: 0 })
    else valueOf(await averba.consents[step](which))
    await clock.advance(hourMs)
  }
  expect((await eventsOf(world, ...moves)).map(({ type, data }) => [type, data])).toMatchObject([
    ['consent.approved', { by: 'us' }],
    ['consent.revoked', { by: 'us' }],
  ])
  await world.close()
})

test('a later history records once what happened after an answered change', async () => {
  const { world, which } = await givenService('PENDENTE')
  const { averba, clock, consentService, samples } = world
  await averba.consents.get(which)
  valueOf(await averba.consents.approve(which))
  for (const status of ['REVOGADO', 'ATIVO'] as const) {
    await clock.advance(hourMs)
    consentService.change(samples.cpf, which.id, status)
  }
  for (let readings = 0; readings < 2; readings += 1) {
    await clock.advance(hourMs)
    await averba.consents.get({ ...which, ageMaxMs: 0 })
  }
  expect((await eventsOf(world, ...moves)).map(({ type }) => type)).toEqual([
    'consent.approved',
    'consent.revoked',
    'consent.conflicted',
  ])
  await world.close()
})

describe('a lost change that was made is recognised as ours, even with times in whole seconds', () => {
  const toSeconds = (iso: string) => iso.replace(/\.\d+Z$/, 'Z')
  test.each([
    { verb: 'revoke', from: 'ATIVO', after: 'ATIVO', type: 'consent.revoked' },
    { verb: 'approve', from: 'PENDENTE', after: 'REVOGADO', type: 'consent.approved' },
  ] as const)('$verb, and then it is $after', async ({ verb, from, after, type }) => {
    const { world, service, which } = await givenService(from, toSeconds)
    const { averba, clock, consentService, samples } = world
    const ask = () => averba.consents[verb](which, { commandId: 'c' })
    await clock.advance(hourMs + 400)
    Object.assign(service, { change: 'made and lost', isDown: true })
    expect((await ask()).status).toBe('unknown')
    await clock.advance(30_000)
    consentService.change(samples.cpf, which.id, after)
    service.isDown = false
    await clock.advance(2 * 60_000)
    await averba.settle()
    expect((await ask()).status).toBe('settled')
    expect(await eventsOf(world, type)).toMatchObject([{ data: { by: 'us' } }])
    await world.close()
  })
})

test('a revocation is sent when the clocks cannot show that an end came after its request', async () => {
  const ahead = (iso: string) => new Date(Date.parse(iso) + 60_000).toISOString()
  const { world, service, which } = await givenService('ATIVO', ahead)
  const { averba, clock, consentService, samples } = world
  await averba.consents.get(which)
  await clock.advance(hourMs)
  for (const status of ['REVOGADO', 'ATIVO'] as const) {
    consentService.change(samples.cpf, which.id, status)
    await clock.advance(1_000)
  }
  await clock.advance(30_000)
  service.change = 'deferred'
  const revoke = () => averba.consents.revoke(which, { commandId: 'r' })
  expect((await revoke()).status).toBe('deferred')
  await averba.consents.get({ ...which, ageMaxMs: 0 })
  await clock.advance(60_000)
  await expect(averba.consents.use(which, { basis })).rejects.toMatchObject({ code: 'CONSENT_NOT_EFFECTIVE' })
  service.change = 'made'
  await clock.advance(hourMs)
  await averba.settle()
  expect(service.sent).toBe(2)
  expect(await revoke()).toMatchObject({ status: 'settled', value: { status: 'REVOGADO' } })
  await world.close()
})

test.each(['ours', 'of the person'])(
  'an older copy does not undo an end from a history within a minute: %s',
  async whose => {
    const copies = new Map<string, string>()
    const state = { isBehind: false, isLost: false }
    const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
      const copy = copies.get(request.url)
      if (state.isBehind && copy !== undefined) return Response.json(JSON.parse(copy))
      const response = await forward(request)
      if (request.method !== 'GET' && state.isLost) throw new TypeError('reset')
      if (request.method === 'GET' && !state.isLost) copies.set(request.url, await response.clone().text())
      return response
    })
    const { averba, clock, consentService, samples } = world
    const which = { subject, id: consent.id }
    await averba.consents.get(which)
    await averba.consents.sync({ subject })
    await clock.advance(hourMs)
    state.isLost = true
    if (whose === 'ours') await averba.consents.revoke(which)
    else consentService.change(samples.cpf, which.id, 'REVOGADO')
    await averba.consents.sync({ subject })
    await averba.settle()
    expect((await averba.consents.standing(which)).reason).toBe('revoked')
    state.isBehind = true
    await clock.advance(5_000)
    await averba.consents.sync({ subject })
    await averba.settle()
    await expect(averba.consents.use(which, { basis })).rejects.toMatchObject({
      standing: { reason: 'revoked' },
    })
    state.isBehind = false
    await clock.advance(60_000)
    await averba.settle()
    expect((await averba.consents.standing(which)).reason).toBe('revoked')
    expect((await eventsOf(world, ...moves)).map(({ type }) => type)).toEqual(['consent.revoked'])
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    await world.close()
  },
)

test('the daily reading accepts a history whose newest entry the service took back', async () => {
  const taken = { isBack: true }
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    const response = await forward(request)
    if (!isDetail(request) || !taken.isBack) return response
    const { historico, ...rest } = (await response.json()) as { historico: Entry[] }
    const last = { ...historico[0], status: 'EXPIRADO', dataHora: '2026-11-20T12:30:00.000Z' }
    return Response.json({ ...rest, historico: [...historico, last] })
  })
  const { averba, clock } = world
  const which = { subject, id: consent.id }
  await averba.consents.get(which)
  await clock.advance(hourMs)
  expect((await averba.consents.standing(which)).reason).toBe('uncertain')
  taken.isBack = false
  for (let hours = 0; hours < 28; hours += 1) {
    await clock.advance(hourMs)
    await averba.consents.sync({ subject })
    await averba.settle()
  }
  expect((await averba.consents.standing(which)).reason).toBe('active')
  await world.close()
})

test('a change from a history is recorded after an earlier change with another answer', async () => {
  const state = { isContrary: true }
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    if (request.method !== 'PUT') return forward(request)
    if (!state.isContrary) {
      await forward(request)
      throw new TypeError('reset')
    }
    const { id, dataHora, dataExpiracao } = consentOf()
    return Response.json({
      id,
      status: 'ATIVO',
      dataHora,
      dataExpiracao,
      cnpjUsuario: consentOf().cnpjUsuario,
      href: 'x',
    })
  })
  const consentOf = () => consent
  const { averba, clock, consentService, faults, samples } = world
  const which = { subject, id: consent.id }
  await averba.consents.get(which)
  await averba.consents.revoke(which)
  await clock.advance(2 * 60_000)
  await averba.settle()
  expect(await eventsOf(world, 'consent.changeNotMade')).toHaveLength(1)
  state.isContrary = false
  await clock.advance(24 * hourMs)
  await faults.add({ kind: 'refuse', service: 'consentService', method: 'GET', times: 100 })
  const revoke = () => averba.consents.revoke(which, { commandId: 'second' })
  expect((await revoke()).status).toBe('unknown')
  await clock.advance(20_000)
  consentService.change(samples.cpf, which.id, 'ATIVO')
  await faults.clear()
  await clock.advance(hourMs)
  await averba.settle()
  expect((await revoke()).status).toBe('settled')
  expect(await eventsOf(world, 'consent.revoked')).toMatchObject([{ data: { by: 'us' } }])
  await world.close()
})

test.each(['lost', 'of the person'])(
  'an older copy does not undo an end from a list within a minute: %s',
  async whose => {
    const copies = new Map<string, string>()
    const state = { isBehind: false, isLost: false, isDown: false }
    const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
      const copy = copies.get(request.url)
      if (isDetail(request) && state.isDown) return Response.json({}, { status: 503 })
      if ((state.isBehind || (isDetail(request) && state.isLost)) && copy !== undefined)
        return Response.json(JSON.parse(copy))
      const response = await forward(request)
      if (request.method === 'PUT') throw new TypeError('reset')
      if (!state.isLost) copies.set(request.url, await response.clone().text())
      return response
    })
    const { averba, clock, consentService, samples } = world
    const which = { subject, id: consent.id }
    await averba.consents.get(which)
    await averba.consents.sync({ subject })
    await clock.advance(hourMs)
    Object.assign(state, { isLost: true, isDown: whose === 'lost' })
    if (whose === 'lost') await averba.consents.revoke(which)
    else consentService.change(samples.cpf, which.id, 'REVOGADO')
    await clock.advance(1_000)
    await averba.consents.sync({ subject })
    await averba.settle()
    Object.assign(state, { isBehind: true, isDown: false })
    await clock.advance(5_000)
    await averba.consents.sync({ subject })
    await averba.settle()
    await expect(averba.consents.use(which, { basis })).rejects.toMatchObject({
      standing: { reason: 'revoked' },
    })
    Object.assign(state, { isBehind: false, isLost: false })
    await clock.advance(hourMs)
    await averba.settle()
    await averba.consents.sync({ subject })
    expect((await averba.consents.standing(which)).reason).toBe('revoked')
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    await world.close()
  },
)
