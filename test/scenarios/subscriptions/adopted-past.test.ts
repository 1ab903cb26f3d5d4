import { expect, test } from 'vitest'
import { type Averba, staticHeaders } from '../../../src/index.ts'
import { seededEntropy, type World } from '../../../src/simulation/index.ts'
import { applyPlan } from '../../support/portal.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const hourMs = 3_600_000
const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', secretFrom: 'm'.repeat(32) }
const subscriptions = [{ evento }]

/** A subscription at the portal from a lost log, and a switch for the portal's failures. */
async function given() {
  const world = await openWorld({ averba: { receiver, subscriptions } })
  await applyPlan(world.averba)
  const portal = { showsFailures: true }
  const open = () =>
    openEngine({
      ...{ store: ':memory:', clock: world.clock, entropy: seededEntropy(9), receiver, subscriptions },
      schedules: true,
      portal: {
        baseUrl: 'https://portal.exemplo.br',
        authenticate: staticHeaders({ authorization: 'sessao-de-exemplo' }),
      },
      fetch: async request =>
        portal.showsFailures || !request.url.includes('/falhas')
          ? world.portal.fetch(request)
          : new Response('', { status: 503 }),
    })
  return { world, portal, open }
}

async function lose({ clock, faults, portal, samples }: World, days: number, averba?: Averba): Promise<void> {
  await faults.add({ kind: 'status', status: 500, service: 'receiver' })
  for (let day = 0; day < days; day++) {
    await portal.notify({ evento, destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj, body: { day } })
    await settleFor(clock, 24, averba)
  }
  await faults.clear()
}

async function settleFor(clock: World['clock'], hours: number, averba?: Averba): Promise<void> {
  for (let hour = 0; hour < hours; hour++) {
    await clock.advance(hourMs)
    await averba?.settle()
  }
}

async function inbox(averba: Averba): Promise<unknown[]> {
  const bodies: unknown[] = []
  for await (const { body, origin } of averba.notifications.list()) if (origin === 'recovered') bodies.push(body)
  return bodies
}

test('failures from before an adoption are recovered and count towards the deletion', async () => {
  const { world, open } = await given()
  await lose(world, 20)
  const averba = await open()
  await applyPlan(averba)
  await settleFor(world.clock, 1, averba)
  expect(await inbox(averba)).toHaveLength(20)
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'failing', failingSince: '2026-11-20T12:00:00.000Z', daysOfErrors: 20, daysLeft: 9 },
  ])
  await averba.subscriptions.plan()
  const threats = await Array.fromAsync(averba.log.read({ types: ['subscription.threatened'] }), ({ data }) => data)
  expect(threats).toMatchObject([{ percent: 50, deletionAt: '2026-12-20T12:00:00.000Z' }])
})

test('failures read before the adoption are recovered after it', async () => {
  const { world, open } = await given()
  const averba = await open()
  await averba.settle()
  await lose(world, 5, averba)
  expect(await inbox(averba)).toEqual([])
  await applyPlan(averba)
  await settleFor(world.clock, 1, averba)
  expect(await inbox(averba)).toEqual([0, 1, 2, 3, 4].map(day => ({ day })))
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'failing', failures: 5, failingSince: '2026-11-20T12:00:00.000Z' },
  ])
  // They are not recorded twice.
  await averba.subscriptions.recover('2026-11-21')
  expect((await averba.subscriptions.list())[0]).toMatchObject({ failures: 5 })
  expect(await averba.subscriptions.failures({ day: '2026-11-20' })).toMatchObject([{ recovery: 'recovered' }])
  expect(await inbox(averba)).toHaveLength(5)
})

test('the days before an adoption are requested until the portal shows them', async () => {
  const { world, portal, open } = await given()
  await lose(world, 3)
  const averba = await open()
  portal.showsFailures = false
  await applyPlan(averba)
  await settleFor(world.clock, 4 * 24, averba)
  portal.showsFailures = true
  await settleFor(world.clock, 3, averba)
  expect(await inbox(averba)).toHaveLength(3)
  expect(await averba.effects.list({ state: 'parked' })).toEqual([])
})

test('errors before the last success do not affect the health of an adopted subscription', async () => {
  const { world, open } = await given()
  await lose(world, 3)
  const company = { destinatarioTipo: 'CNPJ', destinatarioId: world.samples.cnpj } as const
  expect(await world.portal.notify({ evento, ...company, body: {} })).toMatchObject([{ isDelivered: true }])
  const averba = await open()
  await applyPlan(averba)
  await settleFor(world.clock, 1, averba)
  expect(await inbox(averba)).toHaveLength(3)
  expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy', failingSince: null }])
})

test('errors of a former registration do not affect the health of an adopted subscription', async () => {
  const { world, open } = await given()
  await lose(world, 30)
  // The portal has deleted it by now, and another lost log registers it again.
  await applyPlan(world.averba)
  await lose(world, 1)
  const averba = await open()
  await applyPlan(averba)
  await settleFor(world.clock, 1, averba)
  expect(await inbox(averba)).toHaveLength(29)
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'failing', failures: 1, failingSince: '2026-12-20T12:00:00.000Z', daysLeft: 28 },
  ])
})

test('a created subscription recovers the failures of a deleted one from a lost log', async () => {
  const { world, open } = await given()
  await lose(world, 30)
  const averba = await open()
  expect((await averba.subscriptions.plan()).changes).toMatchObject([{ action: 'create' }])
  await applyPlan(averba)
  await settleFor(world.clock, 1, averba)
  expect(await inbox(averba)).toHaveLength(29)
  expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy', failingSince: null }])
})

test('creating a subscription that the portal never had reads no earlier days', async () => {
  const world = await openWorld({ averba: { receiver, subscriptions } })
  await applyPlan(world.averba)
  for await (const { type } of world.averba.log.read()) expect(type).not.toBe('portal.recoveryHastened')
})

test('earlier days are read once, not again for a subscription that is ours already', async () => {
  const { world, open } = await given()
  const averba = await open()
  await applyPlan(averba)
  await applyPlan(averba)
  await settleFor(world.clock, 1, averba)
  const days = await Array.fromAsync(averba.log.read({ types: ['portal.recoveryHastened'] }), ({ data }) => data)
  expect(days).toMatchObject([{ reason: 'adopted', days: { length: 31 } }])
})
