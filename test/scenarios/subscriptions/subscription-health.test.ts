import { expect, test } from 'vitest'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs } from '../../support/pass-time.ts'
import { applyPlan, deliver } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'
import { deleteAtPortal, evento, lose, openSubscribed, subscriptions, tell, threatsOf } from './story.ts'

/** Subscribes with a secret that can be rotated. */
const derived = {
  receiver: { publicUrl: 'https://receptor.exemplo.br/averba', secretFrom: 'm'.repeat(32) },
  subscriptions: [{ evento }],
}

test('a list shows when the portal registered it and last delivered, from the first one on', async () => {
  const world = await openSubscribed()
  const { averba, clock } = world
  const deliverOne = async () => expect(await deliver(world, clock.now())).toMatchObject([{ isDelivered: true }])
  const times = async () => {
    const [held] = await averba.subscriptions.list()
    return [held?.dataRegistro, held?.dataUltimoSucesso, (await averba.figures()).deliveries.lastSuccessAt]
  }
  const registeredAt = '2026-11-20T12:00:00.000Z'
  expect(await times()).toEqual([null, null, null])
  await clock.advance(dayMs)
  await averba.subscriptions.plan()
  expect(await times()).toEqual([registeredAt, null, null])
  await deliverOne()
  await averba.subscriptions.plan()
  await averba.subscriptions.plan()
  const lastSuccessAt = '2026-11-21T12:00:00.000Z'
  expect(await times()).toEqual([registeredAt, lastSuccessAt, lastSuccessAt])
  // Each says what the portal showed, and no more.
  const shown = await eventsOf(world, 'subscription.dated', 'subscription.delivered')
  expect(shown.map(({ data }) => data)).toEqual([{ registeredAt }, { lastSuccessAt }])
  // A failure before it says nothing of the subscription's health.
  await lose(world, clock.now())
  await clock.advance(1_000)
  await deliverOne()
  await averba.subscriptions.plan()
  await averba.subscriptions.recover()
  expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy', failures: 0 }])
})

test.each([
  ['20-11-2099 12:00:00', ['50/15']],
  // Two days and a minute ahead; a portal with a clock ahead may show up to two days.
  ['22-11-2026 09:01:00', ['50/15']],
  ['22-11-2026 08:59:00', []],
])('a success dated far ahead, %s, hides no failure', async (dated, announced) => {
  let isWrong = false
  const world = await openSubscribed({
    async intercept(request, forward) {
      const answer = await forward(request)
      if (!isWrong || request.method !== 'GET' || !new URL(request.url).pathname.endsWith('/webhook')) return answer
      isWrong = false
      const rows = (await answer.json()) as object[] // As the portal lists them.
      return Response.json(rows.map(row => ({ ...row, dataUltimoSucesso: dated })))
    },
  })
  const { averba, clock } = world
  await lose(world, {})
  await averba.subscriptions.recover()
  isWrong = true
  for (let day = 0; day < 16; day++) {
    await averba.subscriptions.recover()
    await clock.advance(dayMs)
  }
  expect(isWrong).toBe(false)
  expect(await threatsOf(averba)).toEqual(announced)
})

tell({
  'a deletion is announced once each at 50, 75 and 90 percent of thirty days of errors': `
      lose, 15 × (recover; recover; threats; 1 d), 15 × (recover; recover; 1 d), threats 50/15 75/7 90/3,
      recover, deleted 2026-12-20`,
  // The portal's clock does not change.
  'an announcement by a clock that was ahead is repeated at its correct time': `
      lose, recover, portal clock -28 d, clock +28 d, plan, clock -28 d, portal up, threats 90/2,
      29 × (plan; 1 d), threats 90/2 50/15 75/7 90/3`,
  'a first check after four fifths of the time announces only the latest threshold':
    'lose a, recover, 24 d, plan, threats 75/6, failing 2026-11-20 6',
  'a success ends the threat, and the next thirty days are announced again': `
      lose a, recover, 16 d, plan, threats 50/14, deliver b, plan, healthy, 1 d, lose c, recover, 15 d, plan,
      threats 50/14 50/15`,
  'a success between failures that are read late restarts the thirty days':
    'lose a, recover, 10 d, deliver b, 1 min, lose c, recover, failing 2026-11-30 29, 6 d, plan, threats',
  'a failure from before the last success, read late, does not affect the health':
    'lose a, 1 d, lose b, read, 1 min, deliver c, plan, recover, healthy',
  'daily readings that find new failures or a success announce the deletion too': `
    schedules: 28 × (lose; 1 × 1 d), lose, 1 min, deliver, 1 × 1 d, healthy, lose, 1 × 1 d, threats 50/15 75/7 90/3`,
  // No process runs while deliveries fail until the portal deletes the subscription.
  'a recreated subscription has only its own errors, which are announced': `
    schedules: 30 × (lose; 1 d), apply, 2 × (settle; 1 d), healthy, recovered 30, threats, 18 × (settle; 1 d),
    17 × (lose; settle; 1 d), failing 2027-01-09T12:00:00.000Z 13, failures 17, threats 50/15`,
})

tell(
  {
    'changing the subscription does not end the days of errors': 'lose, recover, rotate, 15 d, plan, threats 50/15',
    'a parked change does not suppress the announcement of the deletion': `
      schedules: lose, recover, refuse portal, rotate later, 30 × 1 h, parked 1, portal up, due deletion, settle, 29 × 1 d,
      threats 50/14 75/6 90/2`,
  },
  { averba: derived },
)

tell(
  {
    // Midnight in Brasilia; a subscription recreated on that day fails from its registration at the earliest.
    'a failure with an unreadable time counts from the start of its day or subscription': `
      lose, 15 × 1 d, failing 2026-11-20T03:00:00.000Z 14, failures 1, threats 50/14, known on 2026-11-20 recovered,
      deliver, 1 × 1 d, healthy, lose, 16 × 1 d, failing 2026-12-06T03:00:00.000Z 13, threats 50/14 50/14,
      delete at portal, apply, lose, read, failing 2026-12-22T12:00:00.000Z 30, failures 1`,
  },
  {
    averba: { schedules: true },
    intercept: async (request, forward) => {
      const answer = await forward(request)
      if (!request.url.includes('/falhas')) return answer
      const records: { data: string }[] = await answer.json()
      return Response.json(records.map(each => ({ ...each, data: each.data.replaceAll('-', '/') })))
    },
  },
)

test('recreating a subscription with a clock ahead hides no errors once it is listed', async () => {
  const world = await openWorld({ averba: { subscriptions } })
  const { averba, faults } = world
  await faults.add({ kind: 'clockSkew', service: 'portal', ms: -3 * dayMs })
  await applyPlan(averba)
  await deleteAtPortal(world)
  await applyPlan(averba)
  await averba.subscriptions.plan()
  await averba.subscriptions.plan()
  const registeredAt = '2026-11-17T12:00:00.000Z'
  expect(await eventsOf(world, 'subscription.drifted')).toMatchObject([{ data: { generation: 1, registeredAt } }])
  await lose(world, {})
  await averba.subscriptions.failures()
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'failing', failingSince: registeredAt, areSecretsOurs: true },
  ])
})
