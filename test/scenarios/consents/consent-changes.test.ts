import { describe, expect, test } from 'vitest'
import { type Recorded, valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { givenConsent } from './given-consent.ts'

const minuteMs = 60_000

async function eventsAfter(world: World, after: number): Promise<Recorded[]> {
  const events: Recorded[] = []
  for await (const event of world.averba.log.read({ after })) events.push(event)
  return events
}

async function endOf(world: World): Promise<number> {
  for await (const { position } of world.averba.log.read({ backward: true })) return position
  return 0
}

const isDetail = (request: Request) => request.method === 'GET' && /consentimentos\/\d+\/\w+$/.test(request.url)

test('an approval and a revocation between two readings give both events with service times', async () => {
  const { world, subject, consent } = await givenConsent('PENDENTE')
  const { averba, clock, consentService, samples } = world
  const since = await endOf(world)
  await clock.advance(minuteMs)
  const approvedAt = toInstant(clock.now())
  consentService.change(samples.cpf, consent.id, 'ATIVO')
  await clock.advance(minuteMs)
  const revokedAt = toInstant(clock.now())
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  await clock.advance(minuteMs)
  expect(valueOf(await averba.consents.sync({ subject }))).toMatchObject({ changed: 1 })
  const recorded = (await eventsAfter(world, since)).filter(event => event.type.startsWith('consent.'))
  expect(recorded.map(event => [event.type, event.anomaly])).toEqual([
    ['consent.changeSeen', undefined],
    ['consent.described', undefined],
    ['consent.approved', undefined],
    ['consent.revoked', undefined],
  ])
  expect(recorded.slice(2).map(event => event.data)).toEqual([
    { status: 'ATIVO', by: 'service', since: approvedAt },
    { status: 'REVOGADO', by: 'service', since: revokedAt, askedAt: toInstant(clock.now()) },
  ])
  expect((await averba.consents.list({ subject })).find(each => each.id === consent.id)).toMatchObject({
    status: 'REVOGADO',
    knowledge: 'known',
  })
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
})

test('an event recorded during a list request does not hide what the list shows', async () => {
  const held = Promise.withResolvers<void>()
  let holds = false
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    const response = await forward(request)
    if (holds && !isDetail(request)) await held.promise
    return response
  })
  const { averba, consentService, samples } = world
  const which = { subject, id: consent.id }
  const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  holds = true
  const syncing = averba.consents.sync({ subject })
  await expect.poll(async () => (await averba.effects.list({ state: 'started' })).length).toBe(1)
  await averba.consents.use(which, { basis })
  held.resolve()
  expect(valueOf(await syncing)).toMatchObject({ changed: 1 })
  await expect(averba.consents.use(which, { basis })).rejects.toThrow('revoked')
  await world.close()
})

test('a reading without changes records two events on the subject and none on a consent', async () => {
  const { world, subject } = await givenConsent('ATIVO')
  const since = await endOf(world)
  expect(valueOf(await world.averba.consents.sync({ subject }))).toMatchObject({ read: 4, changed: 0 })
  const events = await eventsAfter(world, since)
  expect(events.map(event => [event.type, event.stream, event.parts])).toEqual([
    ['subject.syncRequested', `subject-${subject}`, undefined],
    ['subject.synced', `subject-${subject}`, undefined],
  ])
  await world.close()
})

test('concurrent callers share one reading, and a fresh one needs no request', async () => {
  const { world, subject, consent } = await givenConsent('ATIVO')
  const { consents } = world.averba
  const since = await endOf(world)
  await world.clock.advance(2 * minuteMs)
  const fresh = { subject, ageMaxMs: minuteMs }
  await Promise.all([
    ...Array.from({ length: 20 }, () => consents.list(fresh)),
    ...Array.from({ length: 20 }, () => consents.standing({ ...fresh, id: consent.id })),
  ])
  await consents.standing({ ...fresh, id: consent.id })
  expect((await eventsAfter(world, since)).map(event => event.type)).toEqual([
    'subject.syncRequested',
    'subject.synced',
  ])
  await world.close()
})

test('a new status with an unreadable history is shown at once, and its history follows later', async () => {
  let isDown = false
  const { world, subject, consent } = await givenConsent('ATIVO', (request, forward) => {
    if (isDown && isDetail(request)) throw new Error('reset')
    return forward(request)
  })
  const { averba, clock, consentService, samples } = world
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  isDown = true
  valueOf(await averba.consents.sync({ subject }))
  const held = (await averba.consents.list({ subject })).find(each => each.id === consent.id)
  expect(held).toMatchObject({ status: 'REVOGADO', knowledge: 'changed' })
  expect((await averba.consents.standing({ subject, id: consent.id })).reason).toBe('revoked')
  await expect(averba.consents.revoke({ subject, id: consent.id })).rejects.toMatchObject({ code: 'REFUSED' })
  isDown = false
  await clock.advance(60 * minuteMs)
  await averba.settle()
  const now = (await averba.consents.list({ subject })).find(each => each.id === consent.id)
  expect(now).toMatchObject({ status: 'REVOGADO', knowledge: 'known' })
  await world.close()
})

test('a status whose history the service declines is taken from the list', async () => {
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) =>
    isDetail(request) ? Response.json({}, { status: 403 }) : forward(request),
  )
  const { averba, consentService, samples } = world
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  const since = await endOf(world)
  valueOf(await averba.consents.sync({ subject }))
  const recorded = (await eventsAfter(world, since)).find(event => event.type === 'consent.revoked')
  expect(recorded?.data).toMatchObject({ status: 'REVOGADO', by: 'service' })
  expect(recorded?.data).not.toHaveProperty('since')
  await world.close()
})

describe('a status whose history cannot be read for a day is taken from the list', () => {
  test.each([
    { held: 'ATIVO', shown: 'REVOGADO', reason: 'revoked', type: 'consent.revoked', answer: 'an error' },
    { held: 'ATIVO', shown: 'REVOGADO', reason: 'revoked', type: 'consent.revoked', answer: 'garbage' },
    { held: 'PENDENTE', shown: 'ATIVO', reason: 'active', type: 'consent.approved', answer: 'an error' },
  ] as const)('$held, then $shown: $answer', async ({ held, shown, reason, type, answer }) => {
    let isDown = false
    const { world, subject, consent } = await givenConsent(held, async (request, forward) => {
      if (!isDown || !isDetail(request)) return forward(request)
      return answer === 'garbage' ? Response.json({ nada: 1 }) : Response.json({}, { status: 500 })
    })
    const { averba, clock, consentService, samples } = world
    const which = { subject, id: consent.id }
    const called: unknown[] = []
    averba.log.follow('acts', [type], async event => void called.push(event.data))
    consentService.change(samples.cpf, consent.id, shown)
    isDown = true
    valueOf(await averba.consents.sync({ subject }))
    for (let passed = 0; passed < 26 * 4; passed++) {
      await clock.advance(15 * minuteMs)
      await averba.settle()
    }
    expect(called).toMatchObject([{ status: shown, by: 'service' }])
    expect((await averba.consents.standing(which)).reason).toBe(reason)
    const [recorded] = (await averba.consents.list({ subject })).filter(each => each.id === consent.id)
    expect(recorded).toMatchObject({ status: shown, knowledge: 'known' })
    // An operator releases the reading: its history is recorded, and no event is repeated.
    isDown = false
    const [parked] = await averba.effects.list({ state: 'parked' })
    await averba.effects.retry(parked?.id ?? '')
    await averba.settle()
    expect(called).toHaveLength(1)
    if (held === 'PENDENTE') expect(valueOf(await averba.consents.revoke(which)).status).toBe('REVOGADO')
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
    await world.close()
  })
})

test('a consent unreadable for a day is read again when the next list shows it', async () => {
  let [isDown, isOdd] = [false, false]
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    if (isDown && isDetail(request)) return Response.json({}, { status: 500 })
    const response = await forward(request)
    if (!isOdd || isDetail(request)) return response
    const records = (await response.json()) as { id: string; status: string }[]
    return Response.json(records.map(each => (each.id === consent.id ? { ...each, status: '?' } : each)))
  })
  const { averba, clock } = world
  const [which, reason] = [{ subject, id: consent.id }, async () => averba.consents.standing(which)]
  isDown = true
  isOdd = true
  valueOf(await averba.consents.sync({ subject }))
  for (let passed = 0; passed < 26 * 4; passed++) {
    await clock.advance(15 * minuteMs)
    await averba.settle()
  }
  expect((await reason()).reason).toBe('uncertain')
  isDown = false
  valueOf(await averba.consents.sync({ subject }))
  expect((await reason()).reason).toBe('active')
  await world.close()
})

test('anything that the contract does not foresee is recorded as an anomaly and announced', async () => {
  let isEmpty = false
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    const response = await forward(request)
    const isList = request.method === 'GET' && /consentimentos\/\d+$/.test(request.url)
    return isList && isEmpty ? Response.json([]) : response
  })
  const { averba, consentService, samples } = world
  const announced: string[] = []
  for (const type of ['consent.vanished', 'consent.conflicted', 'subject.synced'] as const) {
    averba.on(type, event => void announced.push(`${event.type}: ${event.anomaly}`))
  }
  // A change that the table does not allow.
  consentService.change(samples.cpf, consent.id, 'PENDENTE')
  valueOf(await averba.consents.sync({ subject }))
  expect(announced).toContain('consent.conflicted: no move leads from ATIVO to PENDENTE')
  // A status that is not in the contract.
  consentService.change(samples.cpf, consent.id, 'SUSPENSO' as never)
  announced.length = 0
  expect(await averba.consents.sync({ subject })).toMatchObject({ status: 'deferred' })
  await world.close()

  const other = await givenConsent('ATIVO', async (request, forward) => {
    const response = await forward(request)
    if (isDetail(request) || request.method !== 'GET') return response
    const records = (await response.json()) as { id: string; status: string }[]
    return Response.json(isEmpty ? [] : records.map((each, i) => (i === 0 ? { ...each, status: 'SUSPENSO' } : each)))
  })
  other.world.averba.on('subject.synced', event => void announced.push(`${event.type}: ${event.anomaly}`))
  other.world.averba.on('consent.vanished', event => void announced.push(`${event.type}: ${event.anomaly}`))
  valueOf(await other.world.averba.consents.sync({ subject: other.subject }))
  expect(announced).toEqual(['subject.synced: records could not be read'])
  // A record that is no longer listed.
  isEmpty = true
  valueOf(await other.world.averba.consents.sync({ subject: other.subject }))
  const vanished = 'consent.vanished: the service no longer lists it'
  expect(announced.filter(each => each === vanished)).toHaveLength(3)
  await other.world.close()
})

test('a reading that contradicts a lost change records a conflict and reports it as not done', async () => {
  const { world, subject, consent } = await givenConsent('PENDENTE', async (request, forward) => {
    if (request.method === 'PUT') throw new Error('reset')
    return forward(request)
  })
  const { averba, consentService, samples } = world
  consentService.change(samples.cpf, consent.id, 'EXPIRADO')
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  const outcome = await averba.consents.approve({ subject, id: consent.id })
  expect(outcome).toMatchObject({ status: 'declined', problem: { code: 'NOT_DONE' } })
  const since = outcome.position
  const conflicts = (await eventsAfter(world, since)).filter(event => event.type === 'consent.conflicted')
  expect(conflicts.map(event => event.anomaly)).toEqual(['no move leads from EXPIRADO to REVOGADO'])
  await world.close()
})

test('reason and evidence of a decision are sealed under the subject with the requesting event', async () => {
  const { world, subject, consent } = await givenConsent('ATIVO')
  const { averba, samples } = world
  const evidence = { channel: 'app', screen: 'Maria de Exemplo', clicks: 2, rate: 0.5 }
  const why = {
    reason: `pedido de ${samples.cpf}`,
    evidence,
    actor: { kind: 'subject', ref: subject },
  } as const
  const outcome = await averba.consents.revoke({ subject, id: consent.id }, { ...why, commandId: 'r1' })
  const [asked] = (await eventsAfter(world, outcome.position - 1)).filter(
    event => event.type === 'consent.changeRequested',
  )
  expect(asked?.parts).toMatchObject([{ name: 'why', owner: `subject-${subject}` }])
  expect(JSON.stringify(await eventsAfter(world, 0))).not.toMatch(/Maria|25774435016/)
  const again = await averba.consents.revoke({ subject, id: consent.id }, { ...why, commandId: 'r1' })
  expect(again).toMatchObject({ status: 'settled', replayed: true })
  const other = averba.consents.revoke({ subject, id: consent.id }, { reason: 'outro', commandId: 'r1' })
  await expect(other).rejects.toMatchObject({ code: 'COMMAND_REUSED' })
  const loop: { self?: object } = {}
  loop.self = loop
  for (const wrong of [{ evidence: loop }, { evidence: 'x'.repeat(70_000) }, { reason: 7 as never }]) {
    const revoking = averba.consents.revoke({ subject, id: consent.id }, wrong)
    await expect(revoking).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
  await world.close()
})
