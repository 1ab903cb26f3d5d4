import { expect, test } from 'vitest'
import { valueOf, verifyLog } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

test('attempts that may change something or cost money are recorded before the request; readings are not', async () => {
  const known: { request: string; attempts: unknown[] }[] = []
  let isDown = true
  const world = await openWorld({
    intercept: async (request, forward) => {
      const attempts: unknown[] = []
      for await (const event of world.averba.log.read({ types: ['effect.attempted'] })) {
        if (event.type === 'effect.attempted') attempts.push(`${event.data.type} ${event.data.attempts}`)
      }
      known.push({ request: request.method, attempts })
      if (request.method === 'PUT' && isDown) return new Response('', { status: 429 })
      return forward(request)
    },
  })
  const { averba, samples, clock } = world
  const actor = { kind: 'person', ref: 'clerk-7' } as const
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.consents.sync({ subject })
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  const which = { subject, id: pending?.id ?? '' }
  await averba.consents.approve(which, { actor, correlationId: 'case-1' })
  isDown = false
  await passTime({ averba, clock }, 60_000)
  valueOf(await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } }))
  const change = ['consentService.changeStatus 1', 'consentService.changeStatus 2']
  const paid = [...change, 'validationService.validatePerson 1']
  expect(known).toEqual([
    { request: 'GET', attempts: [] },
    { request: 'PUT', attempts: change.slice(0, 1) },
    { request: 'PUT', attempts: change },
    { request: 'POST', attempts: [...paid, 'tokenService.requestToken 1'] },
    { request: 'POST', attempts: [...paid, 'tokenService.requestToken 1'] },
  ])
  const recorded = await Array.fromAsync(averba.log.read({ types: ['effect.attempted'] }))
  expect(recorded[0]).toMatchObject({ actor, correlationId: 'case-1', moves: { to: 'started' } })
})

/** A change of a consent that the service postpones with these answers, one after the other. */
async function givenChangePutOff(answers: (HeadersInit | undefined)[]) {
  const store = temporaryStore()
  let isDown = false
  const world = await openWorld({
    averba: { store },
    intercept: async (request, forward) => {
      if (!isDown || !request.url.includes('/consentimento/')) return forward(request)
      const headers = answers.length > 1 ? answers.shift() : answers[0]
      return new Response('', { status: 429, ...(headers && { headers }) })
    },
  })
  const { averba, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.consents.sync({ subject })
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  isDown = true
  const { effect } = await averba.consents.approve({ subject, id: pending?.id ?? '' }, { correlationId: 'c' })
  const recorded = () => Array.fromAsync(averba.log.read({ kind: 'effect' }))
  return { world, averba, subject, effect, recorded, store }
}

test('a retry is recorded with its time, reason and policy; nothing is recorded for a reading', async () => {
  const given = await givenChangePutOff([{ 'retry-after': '120' }, undefined])
  const { world, averba, subject, effect, recorded } = given
  await averba.consents.sync({ subject }, { waitMs: 0 })
  await passTime({ averba, clock: world.clock }, 120_000)
  const deferred = (await recorded()).filter(event => event.type === 'effect.deferred')
  const choice = { effect, type: 'consentService.changeStatus', policy: 'day-1' }
  const reason = 'the consent service answered 429'
  expect(deferred).toMatchObject([
    { data: { ...choice, reason, attempts: 1, wait: 'known', elapsedMs: 0 }, correlationId: 'c' },
    { data: { ...choice, reason, attempts: 2, wait: 'backoff', elapsedMs: 120_000 } },
  ])
  const [first, second] = deferred.map(each => each.data as { dueAt: string })
  const waitedMs = (event: number, dueAt = '') => Date.parse(dueAt) - Date.parse(deferred[event]?.at ?? '')
  expect(waitedMs(0, first?.dueAt)).toBe(120_000)
  expect(waitedMs(1, second?.dueAt)).toBeGreaterThan(0)
  expect(waitedMs(1, second?.dueAt)).toBeLessThanOrEqual(4_000)
  expect(await averba.effects.get(effect)).toMatchObject({ state: 'deferred', dueAt: second?.dueAt, reason })
  expect(deferred[1]?.moves).toEqual({ effect, to: 'deferred' })
  await world.close()
  expect(await verifyLog({ store: given.store })).toMatchObject({ faults: [] })
})

test.each([
  ['does not say when', undefined],
  ['says "in a second" each time', { 'retry-after': '1' }],
])('a service that is down for a day and %s causes a limited number of events per call', async (_, headers) => {
  const { world, averba, effect, recorded } = await givenChangePutOff([headers])
  // Continues from one due time to the next.
  for (let turns = 0; turns < 1_000; turns++) {
    const pending = await averba.effects.get(effect)
    if (pending?.state !== 'deferred') break
    await passTime({ averba, clock: world.clock }, Math.max(Date.parse(pending.dueAt) - world.clock.now(), 0))
  }
  const events = await recorded()
  expect(events.at(-1)).toMatchObject({ type: 'effect.parked', data: { by: 'policy', policy: 'day-1' } })
  expect(events.length).toBeGreaterThan(100)
  expect(events.length).toBeLessThanOrEqual(2 * 250)
})

test.each([
  ['name', '25774435016'],
  ['name', `Erro_${samples.cpf}`],
  ['code', `https://consentimento.exemplo.br/v1/consentimentos/${samples.cpf}`],
  ['code', 'Bearer_de exemplo'],
])('an error thrown by the host’s fetch leaves none of its text in the log: %s %s', async (member, text) => {
  let isDown = false
  const { averba } = await openWorld({
    intercept: async (request, forward) => {
      if (isDown) throw Object.assign(new Error(text), { [member]: text })
      return forward(request)
    },
  })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  isDown = true
  expect(await averba.consents.sync({ subject })).toMatchObject({ status: 'deferred', reason: 'unknown' })
  expect(JSON.stringify(await averba.effects.list())).not.toContain(text)
})
