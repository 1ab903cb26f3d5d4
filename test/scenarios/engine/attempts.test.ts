import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent } from '../../support/given-consent.ts'
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
      if (request.method === 'PUT' && isDown) return Response.json({}, { status: 429 })
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

test('a retry is recorded with its time, reason and policy; nothing is recorded for a reading', async () => {
  const waits: HeadersInit[] = [{ 'retry-after': '120' }]
  let isDown = false
  const { world, subject, consent } = await givenConsent(
    'PENDENTE',
    async (request, forward) => {
      if (!isDown || !request.url.includes('/consentimento/')) return forward(request)
      return Response.json({}, { status: 429, headers: waits.shift() ?? {} })
    },
    { store: temporaryStore() },
  )
  const { averba, clock } = world
  isDown = true
  const { effect } = await averba.consents.approve({ subject, id: consent.id }, { correlationId: 'c' })
  await averba.consents.sync({ subject }, { waitMs: 0 })
  await passTime({ averba, clock }, 120_000)
  const deferred = await eventsOf(world, 'effect.deferred')
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
  expect((await averba.audit.verify()).faults).toEqual([])
})

test('an error thrown by the host’s fetch leaves none of its text in the log', async () => {
  const texts = [
    ['name', '25774435016'],
    ['name', `Erro_${samples.cpf}`],
    ['code', `https://consentimento.exemplo.br/v1/consentimentos/${samples.cpf}`],
    ['code', 'Bearer_de exemplo'],
  ] as const
  const thrown = new Set<Error>()
  let error = new Error()
  const { averba } = await openWorld({
    async intercept() {
      thrown.add(error)
      throw error
    },
  })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  for (const [member, text] of texts) {
    error = Object.assign(new Error(text), { [member]: text })
    expect(await averba.consents.sync({ subject })).toMatchObject({ status: 'deferred', reason: 'unknown' })
    expect(thrown).toContain(error)
  }
  const effects = JSON.stringify(await averba.effects.list())
  for (const [, text] of texts) expect(effects).not.toContain(text)
})
