import { expect, test } from 'vitest'
import type { Averba } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { actionsOf, applyPlan, inboxOf, openBeside } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'
import { evento, lose, notify } from './story.ts'

const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', secretFrom: 'm'.repeat(32) }
const subscriptions = [{ evento }]

/** A portal that has the subscription of a lost log, and another log. */
async function given() {
  const world = await openWorld({ averba: { receiver, subscriptions } })
  await applyPlan(world.averba)
  return { world, open: () => openBeside(world, { receiver, subscriptions }) }
}

/** One notification is lost on each of some days. */
async function loseFor(world: World, days: number, averba?: Averba): Promise<void> {
  for (let day = 0; day < days; day++) {
    await lose(world, { day })
    if (averba) await settleFor(world, averba, 24)
    else await world.clock.advance(dayMs)
  }
}

const settleFor = ({ clock }: World, averba: Averba, hours: number) => passTime({ averba, clock }, hourMs, hours)

async function adopt(world: World, averba: Averba): Promise<void> {
  await applyPlan(averba)
  await settleFor(world, averba, 1)
}

const recoveredBy = async (averba: Averba) =>
  (await inboxOf(averba)).flatMap(({ body, origin }) => (origin === 'recovered' ? [body] : []))

test('failures from before an adoption are recovered and count towards the deletion', async () => {
  const { world, open } = await given()
  await loseFor(world, 20)
  const averba = await open()
  await adopt(world, averba)
  expect(await recoveredBy(averba)).toHaveLength(20)
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'failing', failingSince: '2026-11-20T12:00:00.000Z', daysOfErrors: 20, daysLeft: 9 },
  ])
  await averba.subscriptions.plan()
  const threat = { percent: 50, deletionAt: '2026-12-20T12:00:00.000Z' }
  expect(await eventsOf({ averba }, 'subscription.threatened')).toMatchObject([{ data: threat }])
})

test('failures read before the adoption are recovered after it', async () => {
  const { world, open } = await given()
  const averba = await open()
  await averba.settle()
  await loseFor(world, 5, averba)
  expect(await recoveredBy(averba)).toEqual([])
  await adopt(world, averba)
  expect(await recoveredBy(averba)).toEqual([0, 1, 2, 3, 4].map(day => ({ day })))
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'failing', failures: 5, failingSince: '2026-11-20T12:00:00.000Z' },
  ])
  // They are not recorded twice.
  await averba.subscriptions.recover('2026-11-21')
  expect((await averba.subscriptions.list())[0]).toMatchObject({ failures: 5 })
  expect(await averba.subscriptions.failures({ day: '2026-11-20' })).toMatchObject([{ recovery: 'recovered' }])
  expect(await recoveredBy(averba)).toHaveLength(5)
})

test('the days before an adoption are requested until the portal shows them', async () => {
  const { world, open } = await given()
  await loseFor(world, 3)
  const averba = await open()
  await world.faults.add({ kind: 'status', status: 503, service: 'portal', path: 'falhas' })
  await applyPlan(averba)
  await settleFor(world, averba, 4 * 24)
  await world.faults.clear()
  await settleFor(world, averba, 3)
  expect(await recoveredBy(averba)).toHaveLength(3)
  expect(await averba.effects.list({ state: 'parked' })).toEqual([])
})

test('errors before the last success do not affect the health of an adopted subscription', async () => {
  const { world, open } = await given()
  await loseFor(world, 3)
  expect(await notify(world, {})).toMatchObject([{ isDelivered: true }])
  const averba = await open()
  await adopt(world, averba)
  expect(await recoveredBy(averba)).toHaveLength(3)
  expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy', failingSince: null }])
})

test('errors of a former registration do not affect the health of an adopted subscription', async () => {
  const { world, open } = await given()
  await loseFor(world, 30)
  // The portal has deleted it by now, and another lost log registers it again.
  await applyPlan(world.averba)
  await loseFor(world, 1)
  const averba = await open()
  await adopt(world, averba)
  expect(await recoveredBy(averba)).toHaveLength(29)
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'failing', failures: 1, failingSince: '2026-12-20T12:00:00.000Z', daysLeft: 28 },
  ])
})

test('a created subscription recovers the failures of a deleted one from a lost log', async () => {
  const { world, open } = await given()
  await loseFor(world, 30)
  const averba = await open()
  expect(await actionsOf(averba)).toEqual(['create'])
  await adopt(world, averba)
  expect(await recoveredBy(averba)).toHaveLength(29)
  expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy', failingSince: null }])
})

test('creating a subscription that the portal never had reads no earlier days', async () => {
  const world = await openWorld({ averba: { receiver, subscriptions } })
  await applyPlan(world.averba)
  expect(await eventsOf(world, 'portal.recoveryHastened')).toEqual([])
})

test('earlier days are read once, not again for a subscription that is ours already', async () => {
  const { world, open } = await given()
  const averba = await open()
  await applyPlan(averba)
  await adopt(world, averba)
  const hastened = await eventsOf({ averba }, 'portal.recoveryHastened')
  expect(hastened).toMatchObject([{ data: { reason: 'adopted', days: { length: 31 } } }])
})
