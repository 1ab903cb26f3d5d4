import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { simulate, type World } from '../../../src/simulation/index.ts'

const evento = 'dimp-situacao-import'
const subscriptions = [{ evento, chaveSecreta: 'chave-um' }]
const dayMs = 86_400_000

async function given(): Promise<World> {
  const world = await simulate({ averba: { subscriptions } })
  for (const each of await world.averba.subscriptions.apply(await world.averba.subscriptions.plan())) valueOf(each)
  return world
}

async function deliver(world: World, how: 'fails' | 'succeeds'): Promise<void> {
  if (how === 'fails') await world.faults.add({ kind: 'status', status: 500, service: 'receiver', times: 1 })
  const destinatario = { destinatarioTipo: 'CNPJ', destinatarioId: world.samples.cnpj } as const
  const body = { at: world.clock.now() }
  const delivered = await world.portal.notify({ evento, ...destinatario, body })
  expect(delivered).toMatchObject([{ isDelivered: how === 'succeeds' }])
}

/** Deletes the subscription at the portal by hand. */
async function deleteAtPortal({ averba, portal }: World): Promise<void> {
  const id = (await averba.subscriptions.list())[0]?.id
  const request = new Request(`https://portal.exemplo.br/portal/api/ext/webhook/${id}`, {
    method: 'DELETE',
    headers: { 'content-type': 'application/json', authorization: 'sessao-de-exemplo' },
    body: JSON.stringify({ id }),
  })
  expect((await portal.fetch(request)).status).toBe(200)
}

/** Changes its secret at the portal by hand. */
async function changeAtPortal({ averba, portal }: World): Promise<void> {
  const [held] = await averba.subscriptions.list()
  const request = new Request(`https://portal.exemplo.br/portal/api/ext/webhook/${held?.id}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json', authorization: 'sessao-de-exemplo' },
    body: JSON.stringify({ id: held?.id, evento, endpoint: held?.endpoint, chaveSecreta: 'de outro' }),
  })
  expect((await portal.fetch(request)).status).toBe(200)
}

async function threats({ averba }: World): Promise<[percent: number, daysLeft: number][]> {
  const found: [number, number][] = []
  for await (const { data } of averba.log.read({ types: ['subscription.threatened'] })) {
    const { percent, daysLeft } = data as { percent: number; daysLeft: number } // subscription.threatened says so.
    found.push([percent, daysLeft])
  }
  return found
}

test('a deletion is announced once each at 50, 75 and 90 percent of thirty days of errors', async () => {
  const world = await given()
  const { averba, clock } = world
  await deliver(world, 'fails')
  for (let day = 0; day < 30; day++) {
    await averba.subscriptions.recover()
    await averba.subscriptions.recover()
    if (day < 15) expect(await threats(world)).toEqual([])
    await clock.advance(dayMs)
  }
  expect(await threats(world)).toEqual([
    [50, 15],
    [75, 7],
    [90, 3],
  ])
  await averba.subscriptions.recover()
  const [deleted] = await averba.subscriptions.list({ inactive: true })
  expect(deleted).toMatchObject({
    state: 'deleted',
    deletedBy: 'portal',
    dataExclusao: '2026-12-20T12:00:00.000Z',
    motivoExclusao: expect.stringContaining('30 dias'),
    daysLeft: null,
  })
  await world.close()
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
  expect(await threats(world)).toEqual([[90, 2]])
  for (let day = 0; day < 29; day++) {
    await averba.subscriptions.plan()
    await clock.advance(dayMs)
  }
  expect(await threats(world)).toEqual([
    [90, 2],
    [50, 15],
    [75, 7],
    [90, 3],
  ])
  await world.close()
})

test('daily readings that find new failures or a success announce the deletion too', async () => {
  const world = await simulate({ averba: { schedules: true, subscriptions } })
  const { averba, clock } = world
  for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  for (let day = 0; day <= 29; day++) {
    await deliver(world, 'fails')
    if (day === 28) {
      await clock.advance(60_000)
      await deliver(world, 'succeeds')
    }
    await clock.advance(dayMs)
    await averba.settle()
    if (day === 28) expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy' }])
  }
  expect(await threats(world)).toEqual([
    [50, 15],
    [75, 7],
    [90, 3],
  ])
  await world.close()
})

test('a first check after four fifths of the time announces only the latest threshold', async () => {
  const world = await given()
  await deliver(world, 'fails')
  await world.averba.subscriptions.recover()
  await world.clock.advance(24 * dayMs)
  await world.averba.subscriptions.plan()
  expect(await threats(world)).toEqual([[75, 6]])
  expect(await world.averba.subscriptions.list()).toMatchObject([
    {
      health: 'failing',
      failingSince: '2026-11-20T12:00:00.000Z',
      daysOfErrors: 24,
      deletionAt: '2026-12-20T12:00:00.000Z',
      daysLeft: 6,
    },
  ])
  await world.close()
})

test('a success ends the threat, and the next thirty days are announced again', async () => {
  const world = await given()
  const { averba, clock } = world
  await deliver(world, 'fails')
  await averba.subscriptions.recover()
  await clock.advance(16 * dayMs)
  await averba.subscriptions.plan()
  expect(await threats(world)).toEqual([[50, 14]])
  await deliver(world, 'succeeds')
  await averba.subscriptions.plan()
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'healthy', failures: 0, failingSince: null, daysLeft: null },
  ])
  await clock.advance(dayMs)
  await deliver(world, 'fails')
  await averba.subscriptions.recover()
  await clock.advance(15 * dayMs)
  await averba.subscriptions.plan()
  expect(await threats(world)).toEqual([
    [50, 14],
    [50, 15],
  ])
  await world.close()
})

test('a success between failures that are read late restarts the thirty days', async () => {
  const world = await given()
  const { averba, clock } = world
  await deliver(world, 'fails')
  await averba.subscriptions.recover()
  await clock.advance(10 * dayMs)
  await deliver(world, 'succeeds')
  await clock.advance(60_000)
  await deliver(world, 'fails')
  await averba.subscriptions.recover()
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'failing', failingSince: '2026-11-30T12:00:00.000Z', daysLeft: 29 },
  ])
  await clock.advance(6 * dayMs)
  await averba.subscriptions.plan()
  expect(await threats(world)).toEqual([])
  await world.close()
})

test('a failure from before the last success, read late, does not affect the health', async () => {
  const world = await given()
  const { averba, clock } = world
  await deliver(world, 'fails')
  const day = '2026-11-20'
  await clock.advance(dayMs)
  await deliver(world, 'fails')
  await averba.subscriptions.failures()
  await clock.advance(60_000)
  await deliver(world, 'succeeds')
  await averba.subscriptions.plan()
  expect(await averba.subscriptions.failures({ day })).toHaveLength(1)
  expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy', failingSince: null }])
  await world.close()
})

test('changing the subscription does not end the days of errors', async () => {
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', secretFrom: 'm'.repeat(32) }
  const world = await simulate({ averba: { subscriptions: [{ evento }], receiver } })
  const { averba, clock } = world
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  await deliver(world, 'fails')
  await averba.subscriptions.recover()
  valueOf(await averba.subscriptions.rotate(evento))
  await clock.advance(15 * dayMs)
  await averba.subscriptions.plan()
  expect(await threats(world)).toEqual([[50, 15]])
  await world.close()
})

test('a parked change does not suppress the announcement of the deletion', async () => {
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', secretFrom: 'm'.repeat(32) }
  const world = await simulate({ averba: { schedules: true, subscriptions: [{ evento }], receiver } })
  const { averba, clock, faults } = world
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  await deliver(world, 'fails')
  await averba.subscriptions.recover()
  await faults.add({ kind: 'refuse', service: 'portal' })
  const { effect } = await averba.subscriptions.rotate(evento, { waitMs: 0 })
  for (let hour = 0; hour < 30; hour++) {
    await clock.advance(dayMs / 24)
    await averba.settle()
  }
  expect(await averba.effects.list({ state: 'parked' })).toMatchObject([{ id: effect }])
  faults.clear()
  const until = new Date(clock.now() + 30 * dayMs).toISOString()
  expect((await averba.due(until)).map(each => each.what)).toContain('deletion')
  for (let day = 0; day < 30; day++) {
    await averba.settle()
    await clock.advance(dayMs)
  }
  expect((await threats(world)).map(([percent]) => percent)).toEqual([50, 75, 90])
  await world.close()
})

test('a recreated subscription has only its own errors, which are announced', async () => {
  const world = await simulate({ averba: { schedules: true, subscriptions } })
  const { averba, clock } = world
  const apply = async () => {
    for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  }
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
  expect(await threats(world)).toEqual([])
  await pass(18)
  const failingSince = new Date(clock.now()).toISOString()
  await pass(17, () => deliver(world, 'fails'))
  expect(await averba.subscriptions.list()).toMatchObject([{ failures: 17, failingSince }])
  expect(await threats(world)).toEqual([[50, 15]])
  await world.close()
})

test('a failure with an unreadable time counts from the start of its day or subscription', async () => {
  const world = await simulate({
    averba: { schedules: true, subscriptions },
    intercept: async (request, forward) => {
      const answer = await forward(request)
      if (!request.url.includes('/falhas')) return answer
      const records: { data: string }[] = await answer.json()
      return Response.json(records.map(each => ({ ...each, data: each.data.replaceAll('-', '/') })))
    },
  })
  const { averba, clock } = world
  for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  const fromDay = async (days: number) => {
    await deliver(world, 'fails')
    await clock.advance(dayMs)
    await averba.settle()
    for (let day = 1; day < days; day++) {
      await clock.advance(dayMs)
      await averba.settle()
    }
  }
  await fromDay(15)
  expect(await averba.subscriptions.list()).toMatchObject([
    // Midnight in Brasilia.
    { health: 'failing', failures: 1, failingSince: '2026-11-20T03:00:00.000Z', daysLeft: 14 },
  ])
  expect(await threats(world)).toEqual([[50, 14]])
  expect(await averba.subscriptions.failures({ day: '2026-11-20' })).toHaveLength(1)
  await deliver(world, 'succeeds')
  await clock.advance(dayMs)
  await averba.settle()
  expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy' }])
  await fromDay(16)
  expect(await averba.subscriptions.list()).toMatchObject([{ failingSince: '2026-12-06T03:00:00.000Z' }])
  expect(await threats(world)).toEqual([
    [50, 14],
    [50, 14],
  ])
  // A subscription recreated on that day fails from its registration at the earliest.
  await deleteAtPortal(world)
  for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  await deliver(world, 'fails')
  const failingSince = new Date(clock.now()).toISOString()
  await averba.subscriptions.failures()
  expect(await averba.subscriptions.list()).toMatchObject([{ failures: 1, failingSince }])
  await world.close()
})

test('recreating a subscription with a clock ahead hides no errors once it is listed', async () => {
  const world = await simulate({ averba: { subscriptions } })
  const { averba, faults } = world
  await faults.add({ kind: 'clockSkew', service: 'portal', ms: -3 * dayMs })
  const apply = async () => {
    for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  }
  await apply()
  await deleteAtPortal(world)
  await apply()
  await averba.subscriptions.plan()
  await averba.subscriptions.plan()
  const drifts: unknown[] = []
  for await (const { data } of averba.log.read({ types: ['subscription.drifted'] })) drifts.push(data)
  expect(drifts).toMatchObject([{ areSecretsOurs: true, registeredAt: '2026-11-17T12:00:00.000Z' }])
  await deliver(world, 'fails')
  await averba.subscriptions.failures()
  expect(await averba.subscriptions.list()).toMatchObject([
    { health: 'failing', failingSince: '2026-11-17T12:00:00.000Z', areSecretsOurs: true },
  ])
  await world.close()
})

test.each([
  ['a change of its secret', changeAtPortal, 'subscription.drifted'],
  ['its deletion', deleteAtPortal, 'subscription.deleted'],
])('%s is announced within a day, although failures of the event are read every day', async (_, change, type) => {
  const world = await simulate({ averba: { subscriptions, schedules: true } })
  const { averba, clock, faults, portal, samples } = world
  for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  await clock.finish(averba.settle())
  await change(world)
  // Another subscription to the same event fails: a failure record does not name its subscription.
  const other = { evento, endpoint: 'https://outro.exemplo.br/', chaveSecreta: 'de outro' }
  await portal.fetch(
    new Request('https://portal.exemplo.br/portal/api/ext/webhook', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'sessao-de-exemplo' },
      body: JSON.stringify(other),
    }),
  )
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
  await world.close()
})

test.each([
  ['20-11-2099 12:00:00', [[50, 15]]],
  // Two days and a minute ahead; a portal with a clock ahead may show up to two days.
  ['22-11-2026 09:01:00', [[50, 15]]],
  ['22-11-2026 08:59:00', []],
])('a success dated far ahead, %s, hides no failure', async (dated, announced) => {
  let isWrong = false
  const world = await simulate({
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
  expect(await threats(world)).toEqual(announced)
  await world.close()
})
