import { describe, expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { samples, scenario, type World } from '../../../src/simulation/index.ts'
import { passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'

const leaseMs = 60_000
const subscriptions = [{ evento: 'dimp-situacao-import' }]

/** A process that dies during a request. `done` says whether the service did the work. */
async function givenCrashDuring(isTheOne: (request: Request) => boolean, done: boolean): Promise<World> {
  let isFirst = true
  const world: World = await openWorld({
    averba: { subscriptions },
    intercept: async (request, forward) => {
      if (!isFirst || !isTheOne(request)) return forward(request)
      isFirst = false
      if (done) await forward(request)
      world.crash()
      return new Response()
    },
  })
  return world
}

/** The next process begins when the dead one’s leases have expired. */
async function restart(world: World, afterMs = leaseMs + 1): Promise<void> {
  await world.clock.runUntil(() => world.isDown)
  await world.clock.advance(afterMs)
  await world.restart()
}

test('a validation in progress at a crash becomes inconclusive and is never sent again', async () => {
  const world = await givenCrashDuring(request => request.url.includes('/validate/'), true)
  const input = { id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } }
  void world.averba.validations.validate(input)
  await restart(world)
  expect(await world.averba.settle()).toEqual({ settled: 0, deferred: 0, unknown: 1 })
  expect(await world.averba.validations.validate(input)).toMatchObject({
    status: 'unknown',
    next: 'person',
    replayed: true,
  })
  expect(world.validationService.answered).toBe(1)
})

/** A person whose consents were read, and one that is pending. */
async function somePending({ averba }: World) {
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  return { subject, id: pending?.id ?? '' }
}

test.each([
  [true, 'settled', 'ATIVO', 'known'],
  [false, 'declined', 'PENDENTE', 'changing'],
])('an approval in progress at a crash is read back, and asked for again if not done (done: %s)', async (...given) => {
  const [done, state, status, knowledge] = given
  const world = await givenCrashDuring(request => request.method === 'PUT', done)
  const { subject, id } = await somePending(world)
  void world.averba.consents.approve({ subject, id }, { commandId: 'c1' })
  await restart(world)
  const { averba } = world
  await averba.settle()
  // The service may still do it within a minute.
  await passTime({ averba, clock: world.clock }, 60_000)
  const outcome = await averba.consents.approve({ subject, id }, { commandId: 'c1' })
  expect(outcome).toMatchObject({ status: state, replayed: true })
  const find = async () => (await averba.consents.list({ subject })).find(each => each.id === id)
  expect(await find()).toMatchObject({ status, knowledge })
  await passTime({ averba, clock: world.clock }, 60_000)
  expect(await find()).toMatchObject({ status: 'ATIVO', knowledge: 'known' })
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('a reading in progress at a crash is repeated', async () => {
  const world = await givenCrashDuring(request => /consentimentos\/\d+$/.test(request.url), true)
  const subject = await world.averba.consents.enrol({ cpf: samples.cpf })
  void world.averba.consents.sync({ subject })
  await restart(world)
  expect(await world.averba.settle()).toEqual({ settled: 1, deferred: 0, unknown: 0 })
  expect(await world.averba.consents.list({ subject })).toHaveLength(4)
})

describe('wherever the process dies', () => {
  test('a consent is as at the service, and was changed there at most once', async () => {
    const { crashes } = await scenario({
      given: somePending,
      when: ({ averba }, which) => averba.consents.approve(which, { commandId: 'c1' }),
      survivesCrashes: true,
      expected: {
        result: { status: 'settled' },
        always: async ({ averba, requests }, { subject, id }) => {
          const before = (await averba.consents.list({ subject })).find(each => each.id === id)
          valueOf(await averba.consents.sync({ subject }))
          const after = (await averba.consents.list({ subject })).find(each => each.id === id)
          expect([before?.status, before?.knowledge]).toEqual([after?.status, 'known'])
          expect(requests.filter(each => each.method === 'PUT').length).toBeLessThanOrEqual(1)
        },
      },
    })
    expect(crashes).toBeGreaterThan(5)
  })

  test('an acknowledged notification is stored exactly once', async () => {
    const notice = { evento: 'e', destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj, body: {} } as const
    await scenario({
      world: { averba: { subscriptions: [{ evento: 'e' }] } },
      given: ({ averba }) => applyPlan(averba),
      when: ({ portal }) => portal.notify(notice),
      survivesCrashes: true,
      expected: {
        result: [{ isDelivered: true }],
        events: [{ type: 'notification.received' }],
        always: async ({ averba, portal }) => {
          const stored = await Array.fromAsync(averba.notifications.list())
          expect(stored.length).toBe(portal.deliveries.succeeded > 0 ? 1 : 0)
        },
      },
    })
  })
})

test('a registration in progress at a crash that is found before its lease expires leaves no doubt', async () => {
  const isSubscribe = (request: Request) => request.method === 'POST' && request.url.includes('/webhook')
  const world = await givenCrashDuring(isSubscribe, true)
  void applyPlan(world.averba)
  await restart(world, 1_000)
  await applyPlan(world.averba)
  expect(await world.averba.subscriptions.list()).toMatchObject([{ id: 1001, state: 'active' }])
  await passTime(world, leaseMs)
  const states = (await world.averba.effects.list()).map(each => each.state)
  expect(new Set(states)).toEqual(new Set(['settled']))
})
