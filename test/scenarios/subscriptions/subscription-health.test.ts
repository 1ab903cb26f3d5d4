import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs, passTime } from '../../support/pass-time.ts'
import { applyPlan, callPortal } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'
import { evento, lose, notify, subscriptions, tell, threatsOf } from './story.ts'

async function given(): Promise<World> {
  const world = await openWorld({ averba: { subscriptions } })
  await applyPlan(world.averba)
  return world
}

const deliver = async (world: World, how: 'fails' | 'succeeds') => {
  const body = { at: world.clock.now() }
  if (how === 'fails') await lose(world, body)
  else expect(await notify(world, body)).toMatchObject([{ isDelivered: true }])
}

/** Deletes the subscription at the portal by hand. */
async function deleteAtPortal(world: World): Promise<void> {
  const id = (await world.averba.subscriptions.list())[0]?.id
  await callPortal(world, 'DELETE', { id }, `/${id}`)
}

/** Deletes it for another one with the same event. Failures of that one look like ours: a record names the event only. */
async function replaceAtPortal(world: World): Promise<void> {
  await deleteAtPortal(world)
  await callPortal(world, 'POST', { evento, endpoint: 'https://outro.exemplo.br/', chaveSecreta: 'de outro' })
}

/** Changes its secret at the portal by hand. */
async function changeAtPortal(world: World): Promise<void> {
  const [held] = await world.averba.subscriptions.list()
  const { id, endpoint } = { ...held }
  await callPortal(world, 'PUT', { id, evento, endpoint, chaveSecreta: 'de outro' }, `/${id}`)
}

test('a list shows when the portal registered it and last delivered, from the first one on', async () => {
  const world = await given()
  const { averba, clock } = world
  const times = async () => {
    const [held] = await averba.subscriptions.list()
    return [held?.dataRegistro, held?.dataUltimoSucesso, (await averba.figures()).deliveries.lastSuccessAt]
  }
  const registeredAt = '2026-11-20T12:00:00.000Z'
  expect(await times()).toEqual([null, null, null])
  await clock.advance(dayMs)
  await averba.subscriptions.plan()
  expect(await times()).toEqual([registeredAt, null, null])
  await deliver(world, 'succeeds')
  await averba.subscriptions.plan()
  await averba.subscriptions.plan()
  const deliveredAt = '2026-11-21T12:00:00.000Z'
  expect(await times()).toEqual([registeredAt, deliveredAt, deliveredAt])
  // Each says what the portal showed, and no more.
  expect((await eventsOf(world, 'subscription.dated')).map(({ data }) => data)).toEqual([{ registeredAt }])
  expect((await eventsOf(world, 'subscription.delivered')).map(({ data }) => data)).toEqual([
    { lastSuccessAt: deliveredAt },
  ])
  // A failure before it says nothing of the subscription's health.
  await deliver(world, 'fails')
  await clock.advance(1_000)
  await deliver(world, 'succeeds')
  await averba.subscriptions.plan()
  await averba.subscriptions.recover()
  expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy', failures: 0 }])
})

test('a deletion is announced once each at 50, 75 and 90 percent of thirty days of errors', async () => {
  const world = await given()
  const { averba, clock } = world
  await deliver(world, 'fails')
  for (let day = 0; day < 30; day++) {
    await averba.subscriptions.recover()
    await averba.subscriptions.recover()
    if (day < 15) expect(await threatsOf(averba)).toEqual([])
    await clock.advance(dayMs)
  }
  expect(await threatsOf(averba)).toEqual(['50/15', '75/7', '90/3'])
  await averba.subscriptions.recover()
  const [deleted] = await averba.subscriptions.list({ inactive: true })
  expect(deleted).toMatchObject({
    state: 'deleted',
    health: 'unknown',
    deletedBy: 'portal',
    dataExclusao: '2026-12-20T12:00:00.000Z',
    motivoExclusao: expect.stringContaining('30 dias'),
    daysLeft: null,
  })
})

test('an announcement by a clock that was ahead is repeated at its correct time', async () => {
  const world = await given()
  const { averba, clock } = world
  await deliver(world, 'fails')
  await averba.subscriptions.recover()
  // The portal's clock does not change.
  await world.faults.add({ kind: 'clockSkew', service: 'portal', ms: -28 * dayMs })
  clock.jump(28 * dayMs)
  await averba.subscriptions.plan()
  clock.jump(-28 * dayMs)
  await world.faults.clear()
  expect(await threatsOf(averba)).toEqual(['90/2'])
  for (let day = 0; day < 29; day++) {
    await averba.subscriptions.plan()
    await clock.advance(dayMs)
  }
  expect(await threatsOf(averba)).toEqual(['90/2', '50/15', '75/7', '90/3'])
})

test('daily readings that find new failures or a success announce the deletion too', async () => {
  const world = await openWorld({ averba: { schedules: true, subscriptions } })
  const { averba, clock } = world
  await applyPlan(averba)
  for (let day = 0; day <= 29; day++) {
    await deliver(world, 'fails')
    if (day === 28) {
      await clock.advance(60_000)
      await deliver(world, 'succeeds')
    }
    await passTime({ averba, clock }, dayMs)
    if (day === 28) expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy' }])
  }
  expect(await threatsOf(averba)).toEqual(['50/15', '75/7', '90/3'])
})

test('changing the subscription does not end the days of errors', async () => {
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', secretFrom: 'm'.repeat(32) }
  const world = await openWorld({ averba: { subscriptions: [{ evento }], receiver } })
  const { averba, clock } = world
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  await deliver(world, 'fails')
  await averba.subscriptions.recover()
  valueOf(await averba.subscriptions.rotate(evento))
  await clock.advance(15 * dayMs)
  await averba.subscriptions.plan()
  expect(await threatsOf(averba)).toEqual(['50/15'])
})

test('a parked change does not suppress the announcement of the deletion', async () => {
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', secretFrom: 'm'.repeat(32) }
  const world = await openWorld({ averba: { schedules: true, subscriptions: [{ evento }], receiver } })
  const { averba, clock, faults } = world
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  await deliver(world, 'fails')
  await averba.subscriptions.recover()
  await faults.add({ kind: 'refuse', service: 'portal' })
  const { effect } = await averba.subscriptions.rotate(evento, { waitMs: 0 })
  await passTime({ averba, clock }, dayMs / 24, 30)
  expect(await averba.effects.list({ state: 'parked' })).toMatchObject([{ id: effect }])
  faults.clear()
  const until = new Date(clock.now() + 30 * dayMs).toISOString()
  expect((await averba.due(until)).map(each => each.what)).toContain('deletion')
  for (let day = 0; day < 30; day++) {
    await averba.settle()
    await clock.advance(dayMs)
  }
  expect((await threatsOf(averba)).map(each => each.slice(0, 2))).toEqual(['50', '75', '90'])
})

test('a recreated subscription has only its own errors, which are announced', async () => {
  const world = await openWorld({ averba: { schedules: true, subscriptions } })
  const { averba, clock } = world
  const apply = () => applyPlan(averba)
  const pass = async (days: number, happens = async () => {}) => {
    for (let day = 0; day < days; day++) {
      await happens()
      await averba.settle()
      await clock.advance(dayMs)
    }
  }
  await apply()
  // No process runs while deliveries fail until the portal deletes the subscription.
  for (let day = 0; day < 30; day++) {
    await deliver(world, 'fails')
    await clock.advance(dayMs)
  }
  await apply()
  await pass(2)
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'healthy', failures: 0, failingSince: null, deletionAt: null },
  ])
  let recovered = 0
  for await (const { origin } of averba.notifications.list()) if (origin === 'recovered') recovered += 1
  expect(recovered).toBeGreaterThan(25)
  expect(await threatsOf(averba)).toEqual([])
  await pass(18)
  const failingSince = new Date(clock.now()).toISOString()
  await pass(17, () => deliver(world, 'fails'))
  expect(await averba.subscriptions.list()).toMatchObject([{ failures: 17, failingSince }])
  expect(await threatsOf(averba)).toEqual(['50/15'])
})

test('a failure with an unreadable time counts from the start of its day or subscription', async () => {
  const world = await openWorld({
    averba: { schedules: true, subscriptions },
    intercept: async (request, forward) => {
      const answer = await forward(request)
      if (!request.url.includes('/falhas')) return answer
      const records: { data: string }[] = await answer.json()
      return Response.json(records.map(each => ({ ...each, data: each.data.replaceAll('-', '/') })))
    },
  })
  const { averba, clock } = world
  await applyPlan(averba)
  const fromDay = async (days: number) => {
    await deliver(world, 'fails')
    await passTime({ averba, clock }, dayMs, days)
  }
  await fromDay(15)
  expect(await averba.subscriptions.list()).toMatchObject([
    // Midnight in Brasilia.
    { health: 'failing', failures: 1, failingSince: '2026-11-20T03:00:00.000Z', daysLeft: 14 },
  ])
  expect(await threatsOf(averba)).toEqual(['50/14'])
  expect(await averba.subscriptions.failures({ day: '2026-11-20' })).toHaveLength(1)
  await deliver(world, 'succeeds')
  await passTime({ averba, clock }, dayMs)
  expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy' }])
  await fromDay(16)
  expect(await averba.subscriptions.list()).toMatchObject([{ failingSince: '2026-12-06T03:00:00.000Z' }])
  expect(await threatsOf(averba)).toEqual(['50/14', '50/14'])
  // A subscription recreated on that day fails from its registration at the earliest.
  await deleteAtPortal(world)
  await applyPlan(averba)
  await deliver(world, 'fails')
  const failingSince = new Date(clock.now()).toISOString()
  await averba.subscriptions.failures()
  expect(await averba.subscriptions.list()).toMatchObject([{ failures: 1, failingSince }])
})

test('recreating a subscription with a clock ahead hides no errors once it is listed', async () => {
  const world = await openWorld({ averba: { subscriptions } })
  const { averba, faults } = world
  await faults.add({ kind: 'clockSkew', service: 'portal', ms: -3 * dayMs })
  const apply = () => applyPlan(averba)
  await apply()
  await deleteAtPortal(world)
  await apply()
  await averba.subscriptions.plan()
  await averba.subscriptions.plan()
  const drifts = await Array.fromAsync(averba.log.read({ types: ['subscription.drifted'] }), ({ data }) => data)
  expect(drifts).toMatchObject([{ areSecretsOurs: true, registeredAt: '2026-11-17T12:00:00.000Z' }])
  await deliver(world, 'fails')
  await averba.subscriptions.failures()
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'failing', failingSince: '2026-11-17T12:00:00.000Z', areSecretsOurs: true },
  ])
})

test.each([
  ['a change of its secret', changeAtPortal, 'subscription.drifted'],
  ['its deletion', replaceAtPortal, 'subscription.deleted'],
])('%s is announced within a day, although failures of the event are read every day', async (_, change, type) => {
  const world = await openWorld({ averba: { subscriptions, schedules: true } })
  const { averba, clock, faults, portal, samples } = world
  await applyPlan(averba)
  await clock.finish(averba.settle())
  await change(world)
  const meddledAt = clock.now()
  for (let day = 0; day < 2; day++) {
    await faults.add({ kind: 'status', status: 500, service: 'receiver', times: 2 })
    const to = { destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj } as const
    await portal.notify({ evento, ...to, body: { day } })
    for (let hour = 0; hour < 24; hour++) {
      await clock.advance(dayMs / 24)
      await clock.finish(averba.settle())
    }
  }
  const [told, failures]: [number[], string[]] = [[], []]
  for await (const event of averba.log.read()) {
    if (event.type === type) told.push(Date.parse(event.at) - meddledAt)
    if (event.type === 'subscription.failing') failures.push(event.at)
  }
  expect(told).toEqual([expect.toSatisfy((ms: number) => ms > 0 && ms <= dayMs)])
  expect(failures).not.toEqual([])
})

test.each([
  ['20-11-2099 12:00:00', ['50/15']],
  // Two days and a minute ahead; a portal with a clock ahead may show up to two days.
  ['22-11-2026 09:01:00', ['50/15']],
  ['22-11-2026 08:59:00', []],
])('a success dated far ahead, %s, hides no failure', async (dated, announced) => {
  let isWrong = false
  const world = await openWorld({
    averba: { subscriptions },
    async intercept(request, forward) {
      const answer = await forward(request)
      if (!isWrong || request.method !== 'GET' || !new URL(request.url).pathname.endsWith('/webhook')) return answer
      isWrong = false
      const rows = (await answer.json()) as object[] // As the portal lists them.
      return Response.json(rows.map(row => ({ ...row, dataUltimoSucesso: dated })))
    },
  })
  const { averba, clock } = world
  const plan = await averba.subscriptions.plan()
  for (const each of await averba.subscriptions.apply(plan)) valueOf(each)
  await deliver(world, 'fails')
  await averba.subscriptions.recover()
  isWrong = true
  for (let day = 0; day < 16; day++) {
    await averba.subscriptions.recover()
    await clock.advance(dayMs)
  }
  expect(isWrong).toBe(false)
  expect(await threatsOf(averba)).toEqual(announced)
})

tell([
  [
    'a first check after four fifths of the time announces only the latest threshold',
    'lose a, recover, 24 d, plan, threats 75/6, failing 2026-11-20 6',
  ],
  [
    'a success ends the threat, and the next thirty days are announced again',
    `lose a, recover, 16 d, plan, threats 50/14, deliver b, plan, healthy, 1 d, lose c, recover, 15 d, plan,
    threats 50/14 50/15`,
  ],
  [
    'a success between failures that are read late restarts the thirty days',
    'lose a, recover, 10 d, deliver b, 1 min, lose c, recover, failing 2026-11-30 29, 6 d, plan, threats',
  ],
  [
    'a failure from before the last success, read late, does not affect the health',
    'lose a, 1 d, lose b, read, 1 min, deliver c, plan, recover, healthy',
  ],
])
