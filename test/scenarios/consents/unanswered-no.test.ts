import { expect, test } from 'vitest'
import { eventsOf, givenTroubled } from '../subscriptions/given-troubled.ts'
import { givenConsent } from './given-consent.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }

/** A deferred denial or revocation, while the consent is once unlisted and then listed with another status. */
async function givenListedAgain(verb: 'deny' | 'revoke') {
  const given = await givenTroubled(verb === 'deny' ? 'PENDENTE' : 'ATIVO')
  const { world, subject, service, which } = given
  const { averba, clock, consentService, samples } = world
  const { consents } = averba
  const ask = () => consents[verb](which, { commandId: 'no' })
  const list = async () => {
    await clock.advance(minuteMs)
    await consents.sync({ subject })
  }
  expect((await ask()).status).toBe('deferred')
  service.hidden = which.id
  await list()
  service.hidden = ''
  if (verb === 'deny') consentService.change(samples.cpf, which.id, 'ATIVO')
  else {
    service.older = which.id
    await list()
    service.older = ''
  }
  await list()
  return { ...given, ask }
}

test.each(['deny', 'revoke'] as const)(
  'no use is allowed while our denial or revocation is deferred, whatever a list shows: %s',
  async verb => {
    const { world, service, which, ask } = await givenListedAgain(verb)
    const { averba, clock } = world
    const { consents } = averba
    expect((await consents.standing(which)).reason).toBe('uncertain')
    await expect(consents.use(which, { basis })).rejects.toMatchObject({ code: 'CONSENT_NOT_EFFECTIVE' })
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    service.isTroubled = false
    await clock.advance(2 * hourMs)
    await averba.settle()
    expect(service.changes).toBe(1)
    // The table allows REVOGADO after ATIVO, but not NEGADO.
    expect((await ask()).status).toBe(verb === 'revoke' ? 'settled' : 'declined')
    await world.close()
  },
)

test("the person's denial of an unlisted consent counts when it is listed again as approved", async () => {
  const { world, service, which } = await givenTroubled('PENDENTE')
  const { averba, clock, consentService, samples } = world
  const { consents } = averba
  expect((await consents.approve(which)).status).toBe('deferred')
  service.hidden = which.id
  await consents.sync(which)
  expect((await consents.deny(which)).status).toBe('deferred')
  consentService.change(samples.cpf, which.id, 'ATIVO')
  service.hidden = ''
  await clock.advance(minuteMs)
  await consents.sync(which)
  await expect(consents.use(which, { basis })).rejects.toMatchObject({ standing: { reason: 'uncertain' } })
  await world.close()
})

test('a lost revocation that was made is settled although lists showed other statuses before', async () => {
  const { world, service, which, ask } = await givenListedAgain('revoke')
  const { averba, clock } = world
  service.trouble = 'made and lost'
  await clock.advance(2 * hourMs)
  await averba.settle()
  expect(await ask()).toMatchObject({ status: 'settled', value: { status: 'REVOGADO' } })
  await expect(averba.consents.use(which, { basis })).rejects.toMatchObject({
    standing: { reason: 'revoked' },
  })
  await world.close()
})

test('a deferred revocation does not end a consent given again after an end was shown', async () => {
  const { world, service, which } = await givenTroubled('ATIVO')
  const { averba, clock, consentService, samples } = world
  const { consents } = averba
  const revoke = () => consents.revoke(which, { commandId: 'r' })
  expect((await revoke()).status).toBe('deferred')
  for (const [status, reason] of [
    ['REVOGADO', 'revoked'],
    ['ATIVO', 'active'],
  ] as const) {
    await clock.advance(10 * minuteMs)
    consentService.change(samples.cpf, which.id, status)
    await consents.sync(which)
    expect((await consents.standing(which)).reason).toBe(reason)
  }
  service.isTroubled = false
  await clock.advance(hourMs)
  await averba.settle()
  expect(service.changes).toBe(0)
  expect((await revoke()).status).toBe('settled')
  expect(await eventsOf(world, 'consent.changeWithheld')).toMatchObject([{ data: { isDone: true } }])
  await consents.sync(which)
  expect((await consents.standing(which)).reason).toBe('active')
  await world.close()
})

test.each(['deny', 'revoke'] as const)(
  'a lost denial or revocation ends only by a reading a minute later, and is reported: %s',
  async verb => {
    const lines: { message: string }[] = []
    const logger = (line: { message: string }) => void lines.push(line)
    const given = await givenTroubled(verb === 'deny' ? 'PENDENTE' : 'ATIVO', 'busy', { averba: { logger } })
    const { world, service, which } = given
    const { averba, clock, consentService, samples } = world
    const { consents } = averba
    const ask = () => consents[verb](which, { commandId: 'no' })
    const health = async () => (await averba.health({ only: ['consents'] })).checks[0]?.ok
    expect((await ask()).status).toBe('deferred')
    if (verb === 'revoke') {
      service.older = which.id
      await consents.sync(which)
      service.older = ''
    }
    service.trouble = 'lost'
    await clock.advance(hourMs)
    await averba.settle()
    if (verb === 'deny') consentService.change(samples.cpf, which.id, 'ATIVO')
    await clock.advance(5_000)
    await consents.sync(which)
    await averba.settle()
    expect((await consents.standing(which)).reason).toBe('uncertain')
    await expect(consents.use(which, { basis })).rejects.toMatchObject({ code: 'CONSENT_NOT_EFFECTIVE' })
    expect((await ask()).status).toBe('unknown')
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    await clock.advance(minuteMs)
    await averba.settle()
    expect(await ask()).toMatchObject({ status: 'declined', problem: { code: 'NOT_DONE' } })
    expect((await consents.standing(which)).reason).toBe('active')
    expect(await eventsOf(world, 'consent.changeNotMade')).toHaveLength(1)
    expect(lines.filter(({ message }) => message.includes('was not made'))).toHaveLength(1)
    expect(await health()).toBe(false)
    service.isTroubled = false
    expect((await consents.revoke(which)).status).toBe('settled')
    expect(await health()).toBe(true)
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    await world.close()
  },
)

test('health reports a denial that was not made only once the consent is approved', async () => {
  const { world, which } = await givenTroubled('PENDENTE', 'lost')
  const { averba, clock, consentService, samples } = world
  const health = async () => (await averba.health({ only: ['consents'] })).checks[0]
  await averba.consents.deny(which)
  await clock.advance(minuteMs)
  await averba.settle()
  expect(await health()).toMatchObject({ ok: true })
  consentService.change(samples.cpf, which.id, 'ATIVO')
  await averba.consents.sync(which)
  await averba.settle()
  expect(await health()).toMatchObject({ ok: false, detail: expect.stringContaining('revoke it') })
  await world.close()
})

/** A consent read in full, which was then revoked and given again before our revocation, unread by us. */
async function givenReopened(trouble: 'busy' | 'lost') {
  const given = await givenTroubled('ATIVO', trouble)
  const { averba, clock, consentService, samples } = given.world
  await averba.consents.get(given.which)
  for (const status of ['REVOGADO', 'ATIVO'] as const) {
    await clock.advance(hourMs)
    consentService.change(samples.cpf, given.which.id, status)
  }
  await clock.advance(hourMs)
  return given
}

test('an end from before our revocation, read after it, does not settle it: deferred', async () => {
  const { world, service, which } = await givenReopened('busy')
  const { averba, clock } = world
  const revoke = () => averba.consents.revoke(which, { commandId: 'r' })
  expect((await revoke()).status).toBe('deferred')
  await averba.consents.get({ ...which, ageMaxMs: 0 })
  await expect(averba.consents.use(which, { basis })).rejects.toMatchObject({
    standing: { reason: 'uncertain' },
  })
  service.isTroubled = false
  await clock.advance(2 * hourMs)
  await averba.settle()
  expect(service.changes).toBe(1)
  expect(await revoke()).toMatchObject({ status: 'settled', value: { status: 'REVOGADO' } })
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
})

test('an end from before our revocation, read after it, does not settle it: lost', async () => {
  const { world, which } = await givenReopened('lost')
  const { averba, clock } = world
  const revoke = () => averba.consents.revoke(which, { commandId: 'r' })
  expect((await revoke()).status).toBe('unknown')
  await expect(averba.consents.use(which, { basis })).rejects.toMatchObject({
    standing: { reason: 'uncertain' },
  })
  await clock.advance(minuteMs)
  await averba.settle()
  expect(await revoke()).toMatchObject({ status: 'declined', problem: { code: 'NOT_DONE' } })
  expect(await eventsOf(world, 'consent.revoked')).toMatchObject([{ data: { by: 'service' } }])
  expect(await eventsOf(world, 'consent.changeNotMade')).toHaveLength(1)
  await world.close()
})

test('the history settles a lost revocation although the consent was given again since', async () => {
  const { world, service, which } = await givenTroubled('ATIVO', 'made and lost')
  const { averba, clock, consentService, faults, samples } = world
  const revoke = () => averba.consents.revoke(which, { commandId: 'r' })
  await clock.advance(hourMs)
  await faults.add({ kind: 'refuse', service: 'consentService', method: 'GET', times: 100 })
  expect((await revoke()).status).toBe('unknown')
  await clock.advance(30_000)
  consentService.change(samples.cpf, which.id, 'ATIVO')
  await faults.clear()
  service.isTroubled = false
  await clock.advance(hourMs)
  await averba.settle()
  expect((await revoke()).status).toBe('settled')
  expect(await eventsOf(world, 'consent.revoked')).toMatchObject([{ data: { by: 'us' } }])
  expect((await averba.consents.standing(which)).reason).toBe('active')
  await world.close()
})

test('an older copy does not undo an answered revocation within a minute', async () => {
  const copies = new Map<string, string>()
  let isBehind = false
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    if (request.method !== 'GET') return forward(request)
    const copy = copies.get(request.url)
    if (isBehind && copy !== undefined) return Response.json(JSON.parse(copy))
    const response = await forward(request)
    copies.set(request.url, await response.clone().text())
    return response
  })
  const { averba, clock } = world
  const which = { subject, id: consent.id }
  await averba.consents.get(which)
  await averba.consents.sync({ subject })
  await clock.advance(hourMs)
  expect((await averba.consents.revoke(which)).status).toBe('settled')
  isBehind = true
  await clock.advance(5_000)
  await averba.consents.sync({ subject })
  await averba.settle()
  expect((await averba.consents.standing(which)).reason).toBe('revoked')
  isBehind = false
  await clock.advance(minuteMs)
  await averba.settle()
  await averba.consents.sync({ subject })
  expect((await averba.consents.standing(which)).reason).toBe('revoked')
  expect(await eventsOf(world, 'consent.conflicted')).toEqual([])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
})

test('a consent given again right after our revocation is effective a minute later', async () => {
  const { world, subject, consent } = await givenConsent('ATIVO')
  const { averba, clock, consentService, samples } = world
  const which = { subject, id: consent.id }
  expect((await averba.consents.revoke(which)).status).toBe('settled')
  await clock.advance(5_000)
  consentService.change(samples.cpf, which.id, 'ATIVO')
  await averba.consents.sync({ subject })
  expect((await averba.consents.standing(which)).reason).toBe('revoked')
  await clock.advance(minuteMs)
  await averba.settle()
  expect((await averba.consents.standing(which)).reason).toBe('active')
  await world.close()
})

test('a repeated revocation keeps the doubt that began with the first', async () => {
  const { world, which } = await givenTroubled('ATIVO')
  const { averba, clock } = world
  await clock.advance(hourMs)
  expect((await averba.consents.revoke(which)).status).toBe('deferred')
  await clock.advance(hourMs / 2)
  const at = new Date(clock.now()).toISOString()
  expect((await averba.consents.standing(which, { at })).reason).toBe('uncertain')
  await clock.advance(minuteMs)
  expect((await averba.consents.revoke(which)).status).toBe('deferred')
  expect((await averba.consents.standing(which, { at })).reason).toBe('uncertain')
  await world.close()
})

test('lists end the doubt of a lost denial when no history can be read', async () => {
  const { world, service, which } = await givenTroubled('PENDENTE', 'lost')
  const { averba, clock, consentService, faults, samples } = world
  await faults.add({ kind: 'status', status: 403, service: 'consentService', method: 'GET', times: 1_000 })
  expect((await averba.consents.deny(which)).status).toBe('unknown')
  await averba.settle()
  await faults.clear()
  consentService.change(samples.cpf, which.id, 'ATIVO')
  await clock.advance(minuteMs)
  service.isTroubled = false
  await averba.consents.sync(which)
  expect(await eventsOf(world, 'consent.changeNotMade')).toMatchObject([{ data: { asked: 'NEGADO' } }])
  expect((await averba.consents.revoke(which)).status).toBe('settled')
  await world.close()
})

test('a refusal says what is known of the last change, and from when a reading can show it', async () => {
  const { world, which } = await givenTroubled('ATIVO', 'lost')
  const { consents } = world.averba
  expect((await consents.revoke(which)).status).toBe('unknown')
  await expect(consents.revoke(which)).rejects.toThrow(
    'the last change may have been made: a reading tells that begins after 2026-11-20T12:01:00.000Z',
  )
  await world.close()
})
