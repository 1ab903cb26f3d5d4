import { describe, expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { eventsOf, givenTroubled, isList } from '../subscriptions/given-troubled.ts'
import { givenConsent } from './given-consent.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }

describe('after a revocation request no use is recorded, even after a list without the consent', () => {
  test.each([
    { trouble: 'busy', knowledge: 'changing' },
    { trouble: 'lost', knowledge: 'uncertain' },
  ] as const)('$trouble', async ({ trouble, knowledge }) => {
    const { world, subject, service, which } = await givenTroubled('ATIVO', trouble)
    const { averba, clock } = world
    const { consents } = averba
    const use = () => consents.use(which, { basis })
    await consents.revoke(which, { commandId: 'r' })
    service.hidden = which.id
    await clock.advance(5_000)
    await consents.sync({ subject })
    expect((await consents.standing(which)).reason).toBe('vanished')
    service.hidden = ''
    await clock.advance(5_000)
    await consents.sync({ subject })
    expect((await consents.standing(which)).reason).toBe('uncertain')
    expect((await consents.list({ subject })).find(each => each.id === which.id)).toMatchObject({ knowledge })
    await expect(use()).rejects.toMatchObject({ standing: { reason: 'uncertain' } })
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    service.isTroubled = false
    await clock.advance(hourMs)
    await averba.settle()
    // A deferred change is sent later; a reading ends the doubt of a lost one.
    const status = trouble === 'busy' ? 'settled' : 'declined'
    expect(await consents.revoke(which, { commandId: 'r' })).toMatchObject({ status, replayed: true })
    expect((await consents.standing(which)).reason).toBe(trouble === 'busy' ? 'revoked' : 'active')
    await world.close()
  })
})

test('a change lost while the consent is unlisted stays in doubt when it is listed again', async () => {
  const { world, subject, service, which } = await givenTroubled('ATIVO')
  const { averba, clock } = world
  await averba.consents.revoke(which)
  service.hidden = which.id
  await averba.consents.sync({ subject })
  service.trouble = 'lost'
  await clock.advance(hourMs)
  await averba.settle()
  expect((await averba.consents.standing(which)).reason).toBe('vanished')
  expect(await averba.consents.list({ subject })).not.toContainEqual(expect.objectContaining({ id: which.id }))
  service.hidden = ''
  await averba.consents.sync({ subject })
  expect((await averba.consents.standing(which)).reason).toBe('uncertain')
  await world.close()
})

test('the answer to a change of an unlisted consent counts and is recorded as an anomaly', async () => {
  const { world, subject, service, which } = await givenTroubled('ATIVO')
  const { averba, clock } = world
  const { consents } = averba
  await consents.revoke(which, { commandId: 'r' })
  service.hidden = which.id
  await consents.sync({ subject })
  service.isTroubled = false
  await clock.advance(hourMs)
  await averba.settle()
  expect(await consents.revoke(which, { commandId: 'r' })).toMatchObject({
    status: 'settled',
    value: { status: 'REVOGADO', knowledge: 'known' },
  })
  const [answered] = await eventsOf(world, 'consent.conflicted')
  expect(answered).toMatchObject({
    anomaly: 'the service no longer lists it',
    data: { status: 'REVOGADO', by: 'us', held: 'ATIVO', isVanished: true },
  })
  expect((await consents.standing(which)).reason).toBe('revoked')
  await world.close()
})

test.each([
  { said: 'no', to: ['NEGADO'], held: 'denied' },
  { said: 'yes, and then no', to: ['ATIVO', 'REVOGADO'], held: 'revoked' },
] as const)('a deferred approval is not sent once the person has refused: $said', async ({ to, held }) => {
  const { world, subject, service, which } = await givenTroubled('PENDENTE', 'busy', {
    policies: { consentService: { moveOutsideTable: 'accept' } },
  })
  const { averba, clock, consentService, samples } = world
  const { consents } = averba
  const approve = () => consents.approve(which, { commandId: 'a' })
  expect(await approve()).toMatchObject({ status: 'deferred' })
  for (const status of to) {
    await clock.advance(10 * minuteMs)
    consentService.change(samples.cpf, which.id, status)
    await consents.sync({ subject })
  }
  expect((await consents.standing(which)).reason).toBe(held)
  service.isTroubled = false
  await clock.advance(hourMs)
  await averba.settle()
  expect(service.changes).toBe(0)
  expect(await approve()).toMatchObject({ status: 'declined', problem: { status: 0, code: 'WITHDRAWN' } })
  expect(await eventsOf(world, 'consent.changeWithheld')).toMatchObject([
    { data: { asked: 'ATIVO', sentBefore: true } },
  ])
  const report = await averba.subjects.report({ subject }, { language: 'en' })
  expect(report).toContain('not repeated: it was sent and not processed, and then the consent had another status')
  expect((await consents.standing({ ...which, ageMaxMs: 0 })).reason).toBe(held)
  await world.close()
})

test('a deferred revocation is sent although an older copy once showed another status', async () => {
  const service = { isBusy: false, old: '', asked: [] as (string | undefined)[] }
  const { world, subject, consent } = await givenConsent('PENDENTE', async (request, forward) => {
    if (request.method === 'PUT') {
      if (service.isBusy) return Response.json({}, { status: 503, headers: { 'retry-after': '3600' } })
      service.asked.push(request.url.split('/').at(-1))
    }
    const response = await forward(request)
    if (!isList(request) || service.old === '') return response
    const records = (await response.json()) as { id: string }[]
    return Response.json(records.map(each => (each.id === service.old ? { ...each, status: 'PENDENTE' } : each)))
  })
  const { averba, clock } = world
  const which = { subject, id: consent.id }
  expect((await averba.consents.approve(which)).status).toBe('settled')
  service.isBusy = true
  expect((await averba.consents.revoke(which, { commandId: 'r' })).status).toBe('deferred')
  service.old = which.id
  await averba.consents.sync({ subject })
  service.old = ''
  await averba.consents.sync({ subject })
  await expect(averba.consents.use(which, { basis })).rejects.toMatchObject({
    standing: { reason: 'uncertain' },
  })
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  service.isBusy = false
  await clock.advance(2 * hourMs)
  await averba.settle()
  expect(service.asked).toEqual(['ATIVO', 'REVOGADO'])
  expect((await averba.consents.revoke(which, { commandId: 'r' })).status).toBe('settled')
  expect((await averba.consents.standing(which)).reason).toBe('revoked')
  await expect(averba.consents.use(which, { basis })).rejects.toMatchObject({
    standing: { reason: 'revoked' },
  })
  expect(await eventsOf(world, 'consent.changeWithheld')).toEqual([])
  await world.close()
})

test('no use is allowed while a denial is deferred, even if the consent is approved meanwhile', async () => {
  const { world, subject, service, which } = await givenTroubled('PENDENTE')
  const { averba, clock, consentService, samples } = world
  const deny = () => averba.consents.deny(which, { commandId: 'd' })
  expect((await deny()).status).toBe('deferred')
  consentService.change(samples.cpf, which.id, 'ATIVO')
  await averba.consents.sync({ subject })
  await expect(averba.consents.use(which, { basis })).rejects.toMatchObject({
    standing: { reason: 'uncertain' },
  })
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  service.isTroubled = false
  await clock.advance(2 * hourMs)
  await averba.settle()
  expect(service.changes).toBe(1)
  expect(await deny()).toMatchObject({ status: 'declined', problem: { status: 400 } })
  expect(await eventsOf(world, 'consent.changeDeclined')).toHaveLength(1)
  expect((await averba.consents.standing(which)).reason).toBe('active')
  await world.close()
})

test.each(['not listed yet', 'listed again'])(
  "the person's denial replaces a deferred approval of an unlisted consent: sent when it is %s",
  async when => {
    const { world, subject, service, which } = await givenTroubled('PENDENTE')
    const { averba, clock } = world
    const { consents } = averba
    const approve = () => consents.approve(which, { commandId: 'a' })
    const deny = () => consents.deny(which, { commandId: 'd' })
    const isListed = async () => (await consents.list({ subject })).some(({ id }) => id === which.id)
    expect((await approve()).status).toBe('deferred')
    service.hidden = which.id
    await clock.advance(minuteMs)
    await consents.sync({ subject })
    await expect(consents.revoke(which)).rejects.toMatchObject({ code: 'REFUSED' })
    expect(await deny()).toMatchObject({ status: 'deferred' })
    expect(await approve()).toMatchObject({ status: 'declined', problem: { code: 'WITHDRAWN' } })
    expect(await isListed()).toBe(false)
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    if (when === 'listed again') {
      service.hidden = ''
      await consents.sync({ subject })
      expect(await isListed()).toBe(true)
    }
    service.isTroubled = false
    await clock.advance(2 * hourMs)
    await averba.settle()
    expect(service.changes).toBe(1)
    expect(await deny()).toMatchObject({ status: 'settled', value: { status: 'NEGADO' } })
    expect((await consents.standing(which)).reason).toBe('denied')
    await expect(consents.use(which, { basis })).rejects.toMatchObject({ standing: { reason: 'denied' } })
    await world.close()
  },
)

test('a deferred revocation is settled without sending it when the service shows REVOGADO', async () => {
  const { world, subject, service, which } = await givenTroubled('ATIVO')
  const { averba, clock, consentService, samples } = world
  const revoke = () => averba.consents.revoke(which, { commandId: 'r' })
  expect((await revoke()).status).toBe('deferred')
  consentService.change(samples.cpf, which.id, 'REVOGADO')
  await averba.consents.sync({ subject })
  service.isTroubled = false
  await clock.advance(hourMs)
  await averba.settle()
  expect(service.changes).toBe(0)
  expect(valueOf(await revoke())).toMatchObject({ id: which.id, status: 'REVOGADO' })
  expect(await eventsOf(world, 'consent.changeWithheld')).toMatchObject([
    { data: { asked: 'REVOGADO', sentBefore: true, isDone: true } },
  ])
  const english = await averba.subjects.report({ subject }, { language: 'en' })
  expect(english).toContain('The change to REVOGADO was not sent again: the service had already shown this status')
  expect(english).toContain(
    'not repeated: it was sent and not processed, and then the consent had the requested status',
  )
  const portuguese = await averba.subjects.report({ subject })
  expect(portuguese).toContain('Mudança para REVOGADO não repetida: o serviço já havia mostrado essa situação')
  await world.close()
})

test('a change released by an operator is not sent when it is obsolete', async () => {
  const { world, subject, service, which } = await givenTroubled('PENDENTE')
  const { averba, consentService, samples } = world
  const { effect } = await averba.consents.approve(which)
  await averba.effects.park(effect)
  consentService.change(samples.cpf, which.id, 'NEGADO')
  await averba.consents.sync({ subject })
  service.isTroubled = false
  await averba.effects.retry(effect)
  await averba.settle()
  expect(await averba.effects.get(effect)).toMatchObject({ state: 'declined' })
  expect(service.changes).toBe(0)
  await world.close()
})

test.each([
  ['deferred by an answer: shared', true, ['Serviço de consentimento']],
  ['never sent: not shared', false, []],
])('the data of a withheld change, %s', async (_, isBusy, recipients) => {
  const { world, subject, service, which } = await givenTroubled('PENDENTE')
  const { averba, clock, consentService, samples, faults } = world
  service.isTroubled = isBusy
  if (!isBusy) await faults.add({ kind: 'refuse', service: 'consentService' })
  expect((await averba.consents.approve(which)).status).toBe('deferred')
  await faults.clear()
  consentService.change(samples.cpf, which.id, 'NEGADO')
  await averba.consents.sync({ subject })
  const from = new Date(clock.now() + minuteMs).toISOString()
  service.isTroubled = false
  await clock.advance(hourMs)
  await averba.settle()
  const until = new Date(clock.now() + minuteMs).toISOString()
  const operations = []
  for await (const operation of averba.audit.processing({ from, until })) operations.push(operation)
  expect(operations.flatMap(each => each.recipients)).toEqual(recipients)
  await world.close()
})

test("log and report do not call the person's revocation ours while ours is deferred", async () => {
  const { world, subject, which } = await givenTroubled('ATIVO')
  const { averba, consentService, samples } = world
  await averba.consents.revoke(which)
  consentService.change(samples.cpf, which.id, 'REVOGADO')
  await averba.consents.sync({ subject })
  const [revoked] = await eventsOf(world, 'consent.revoked')
  expect(revoked).toMatchObject({ data: { by: 'service' } })
  const { timeline } = JSON.parse(await averba.subjects.report({ subject })) as {
    timeline: { type: string; words: string }[]
  }
  const words = timeline.find(({ type }) => type === 'consent.revoked')?.words
  expect(words).toBe('Consentimento revogado conforme o serviço de consentimento')
  await world.close()
})

test('the report attributes a change to us although a reading showed it before the answer', async () => {
  const [left, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    const answer = await forward(request)
    if (request.method === 'PUT') {
      left.resolve()
      await held.promise
    }
    return answer
  })
  const { averba } = world
  const revoking = averba.consents.revoke({ subject, id: consent.id })
  await left.promise
  await averba.consents.sync({ subject })
  held.resolve()
  expect(await revoking).toMatchObject({ status: 'settled', value: { status: 'REVOGADO' } })
  const { timeline } = JSON.parse(await averba.subjects.report({ subject })) as {
    timeline: { type: string; words: string }[]
  }
  const report = timeline.filter(({ type }) => type === 'consent.revoked' || type === 'consent.answeredLate')
  expect(report.map(({ words }) => words)).toEqual([
    'Consentimento revogado conforme o serviço de consentimento',
    'O serviço respondeu que fez a mudança para REVOGADO, que uma leitura já havia mostrado',
  ])
  await world.close()
})

test('followers, logger and health report a lost revocation until it is requested again', async () => {
  const lines: unknown[] = []
  const logger = (line: unknown) => void lines.push(line)
  const { world, service, which } = await givenTroubled('ATIVO', 'lost', { averba: { logger } })
  const { averba, clock } = world
  const { consents } = averba
  const called: unknown[] = []
  averba.log.follow('asks-again', ['consent.changeNotMade'], async event => {
    called.push([(await consents.of(event))?.id, event.anomaly])
  })
  const health = async () => (await averba.health({ only: ['consents'] })).checks[0]
  expect(await health()).toMatchObject({ ok: true })
  lines.length = 0
  expect((await consents.revoke(which, { commandId: 'r' })).status).toBe('unknown')
  await clock.advance(minuteMs)
  await averba.settle()
  const declined = { status: 'declined', problem: { code: 'NOT_DONE' } }
  expect(await consents.revoke(which, { commandId: 'r' })).toMatchObject(declined)
  expect(called).toEqual([[which.id, 'the change to REVOGADO, whose answer was lost, was not made']])
  const [{ stream } = { stream: '' }] = await eventsOf(world, 'consent.changeNotMade')
  const message = 'a change of a consent was not made: request it again'
  expect(lines).toEqual([{ message, detail: `${stream}: REVOGADO` }])
  expect(await health()).toMatchObject({
    ok: false,
    detail: expect.stringMatching(/^1 denial or revocation was not made, and the consent is still active: revoke it; /),
  })
  service.hidden = which.id
  await consents.sync(which)
  // No change of an unlisted consent can be requested.
  expect(await health()).toMatchObject({ ok: true })
  service.hidden = ''
  await consents.sync(which)
  expect(await health()).toMatchObject({ ok: false })
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  service.isTroubled = false
  expect(await consents.revoke(which)).toMatchObject({ status: 'settled' })
  expect(await health()).toMatchObject({ ok: true })
  await world.close()
})

test('a revocation answered with ATIVO is reported as not made by the reading a minute later', async () => {
  const lines: unknown[] = []
  const logger = (line: unknown) => void lines.push(line)
  const { world, subject, consent } = await givenConsent(
    'ATIVO',
    async (request, forward) => {
      if (request.method !== 'PUT') return forward(request)
      const listed = await forward(new Request(request.url.replace(/\/[^/]+\/status\/.*/, '')))
      const records = (await listed.json()) as { id: string }[]
      return Response.json(records.find(({ id }) => request.url.includes(id)))
    },
    { averba: { logger } },
  )
  const { averba, clock } = world
  const which = { subject, id: consent.id }
  const health = async () => (await averba.health({ only: ['consents'] })).checks[0]
  expect(await averba.consents.revoke(which)).toMatchObject({ status: 'settled', value: { status: 'ATIVO' } })
  await clock.advance(5_000)
  await averba.consents.sync({ subject })
  expect((await averba.consents.standing(which)).reason).toBe('uncertain')
  expect(await eventsOf(world, 'consent.changeNotMade')).toEqual([])
  await clock.advance(minuteMs)
  await averba.settle()
  const [notMade] = await eventsOf(world, 'consent.changeNotMade')
  expect(notMade).toMatchObject({
    anomaly: 'the change to REVOGADO, whose answer showed another status, was not made',
    data: { asked: 'REVOGADO', status: 'ATIVO' },
  })
  const message = 'a change of a consent was not made: request it again'
  expect(lines).toContainEqual({ message, detail: `${notMade?.stream}: REVOGADO` })
  expect(await health()).toMatchObject({ ok: false })
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
})
