import { expect, test } from 'vitest'
import { type Averba, valueOf } from '../../../src/index.ts'
import type { WorldOptions } from '../../../src/simulation/index.ts'
import { hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'

async function given(options: WorldOptions = {}) {
  const subscriptions = [{ evento, chaveSecreta: 'chave-um' }]
  const world = await openWorld({ ...options, averba: { ...options.averba, subscriptions } })
  const { averba, faults, portal, samples } = world
  await applyPlan(averba)
  const about = { evento, destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj } as const
  const notify = (body: unknown) => portal.notify({ ...about, body })
  const lose = async (body: unknown) => {
    await faults.add({ kind: 'refuse', service: 'receiver', times: 1 })
    await notify(body)
  }
  return { ...world, notify, lose }
}

const bodiesOf = ({ notifications }: Averba): Promise<unknown[]> =>
  Array.fromAsync(notifications.list(), ({ body }) => body)

/** The portal's records, each listed with its day in Brasilia. */
function listing(records: readonly { readonly data: string }[], request: Request): Response {
  const day = new URL(request.url).searchParams.get('data') ?? ''
  const shown = `${day.slice(0, 2)}-${day.slice(2, 4)}-${day.slice(4)}`
  return Response.json(records.filter(({ data }) => data.startsWith(shown)))
}

test('failures during an outage of the portal cause one pending reading and one after it', async () => {
  let isDown = true
  const world = await given({
    intercept: async (request, forward) =>
      isDown && request.url.includes('/falhas') ? new Response(null, { status: 503 }) : forward(request),
  })
  const { averba, clock } = world
  const waiting = async () => (await averba.effects.list({ state: 'deferred' })).map(each => each.type)
  for (let i = 0; i < 30 * 6; i++) {
    if (i === 0 || i === 179) await world.lose({ i })
    await averba.subscriptions.recoverSoon('unstored')
    await clock.advance(10 * minuteMs)
    await clock.finish(averba.settle())
  }
  // One for each of the two days.
  expect(await waiting()).toEqual(['portal.listFailures', 'portal.listFailures'])
  isDown = false
  for (let i = 0; i < 12; i++) {
    await clock.advance(5 * minuteMs)
    await clock.finish(averba.settle())
  }
  expect(new Set(await bodiesOf(averba))).toEqual(new Set([{ i: 0 }, { i: 179 }]))
  expect(await bodiesOf(averba)).toHaveLength(2)
  expect(await waiting()).toEqual([])
  let readings = 0
  for await (const _ of averba.log.read({ types: ['portal.failuresListed'] })) readings += 1
  expect(readings).toBe(4)
  expect((await averba.health()).checks.filter(each => !each.ok)).toEqual([])
})

test('a delivery that fails as an outage ends is found soon', async () => {
  let isDown = true
  const read: number[] = []
  const world = await given({
    intercept: async (request, forward) => {
      if (!request.url.includes('/falhas')) return forward(request)
      if (isDown) return new Response(null, { status: 503 })
      read.push(world.clock.now())
      return forward(request)
    },
  })
  const { averba, clock } = world
  const pass = async (ms: number) => {
    await clock.advance(ms)
    await clock.finish(averba.settle())
  }
  await averba.subscriptions.recoverSoon('unstored')
  for (let i = 0; i < 60; i++) {
    await pass(minuteMs)
    if (i % 20 === 5) await averba.subscriptions.recoverSoon('unstored')
  }
  isDown = false
  await clock.advance(9_000)
  const failedAt = clock.now()
  await averba.subscriptions.recoverSoon('unstored')
  // Attempts are at most half an hour apart.
  for (let i = 0; i < 31; i++) await pass(minuteMs)
  expect(read.at(-1)).toBeGreaterThanOrEqual(failedAt + 10_000)
})

test('a delivery that fails while its day is read is found by the next reading', async () => {
  const [arrived, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isFirst = true
  const world = await given({
    async intercept(request, forward) {
      const answer = await forward(request)
      if (!isFirst || !request.url.includes('/falhas')) return answer
      isFirst = false
      arrived.resolve()
      await opened.promise
      return answer
    },
  })
  const { averba, clock } = world
  await world.lose({ n: 1 })
  await averba.subscriptions.recoverSoon('unstored')
  await clock.advance(10_000)
  const settling = averba.settle()
  await arrived.promise
  await clock.advance(20 * minuteMs)
  await world.lose({ n: 2 })
  await averba.subscriptions.recoverSoon('unstored')
  await averba.subscriptions.recoverSoon('late')
  opened.resolve()
  await settling
  expect(await bodiesOf(averba)).toEqual([{ n: 1 }])
  await passTime({ averba, clock }, 10_000)
  expect(await bodiesOf(averba)).toEqual([{ n: 1 }, { n: 2 }])
})

test('a delivery around midnight matches one failure, whichever day lists it', async () => {
  const body = '{"aviso":"greve"}'
  const record = (id: number, data: string) => ({ id, data, descricao: 'x', evento, conteudo: body })
  const records = [record(1, '20-11-2026 23:59:58'), record(2, '21-11-2026 00:00:03')]
  const world = await given({
    intercept: async (request, forward) =>
      request.url.includes('/falhas') ? listing(records, request) : forward(request),
  })
  const { averba, clock } = world
  await clock.advance(Date.parse('2026-11-21T02:59:52Z') - clock.now())
  await world.notify({ aviso: 'greve' })
  await clock.advance(hourMs)
  expect((await averba.subscriptions.recover()).map(valueOf)).toMatchObject([{ stored: 1 }, { recovered: 1 }])
})

test('a damaged content does not stop the recovery of its day', async () => {
  const store = temporaryStore()
  const world = await given({ store })
  const { averba } = world
  await world.lose({ n: 1 })
  await averba.subscriptions.failures()
  await world.lose({ n: 2 })
  const database = new Sqlite(store)
  const flip = "update part set sealed = zeroblob(length(sealed)) where name = 'content'"
  expect(database.prepare(flip).run().changes).toBe(1)
  database.close()
  await averba.subscriptions.recover()
  expect(await bodiesOf(averba)).toEqual([{ n: 1 }, { n: 2 }])
})

test.each(['20-11-2027 09:00:00', '20-11-2020 09:00:00'])(
  'a record of another year, %s, does not affect the health of its subscription',
  async data => {
    const records = [{ id: 1, data, descricao: 'x', evento, conteudo: '{"n":1}' }]
    const world = await given({
      intercept: async (request, forward) =>
        request.url.includes('data=20112026') ? Response.json(records) : forward(request),
    })
    const { averba, clock } = world
    await averba.subscriptions.recover()
    expect(await averba.subscriptions.list()).toMatchObject([{ health: 'failing', daysLeft: 29 }])
    await clock.advance(24 * hourMs)
    await world.notify({ n: 2 })
    await averba.subscriptions.recover()
    expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy' }])
  },
)

test('reading failures yields, however many notifications have the same length', async () => {
  const world = await given()
  const { averba } = world
  const stored = 1_000
  for (let i = 0; i < stored; i++) await world.notify({ n: 10_000 + i })
  await world.lose({ n: 20_000 })
  let [turns, isOver] = [0, false]
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  count()
  const reading = averba.subscriptions.failures({ recover: true })
  await reading
  isOver = true
  expect(turns).toBeGreaterThan(stored / 50)
  expect(await bodiesOf(averba)).toHaveLength(stored + 1)
})

test('a parked reading does not hide later failures of its day', async () => {
  let isDown = true
  const world = await given({
    intercept: async (request, forward) =>
      isDown && request.url.includes('/falhas') ? new Response(null, { status: 503 }) : forward(request),
  })
  const { averba, clock } = world
  await world.lose({ n: 1 })
  await averba.subscriptions.recoverSoon('unstored')
  await passTime({ averba, clock }, 10_000)
  const [waiting] = await averba.effects.list({ state: 'deferred' })
  await averba.effects.park(waiting?.id ?? '')
  isDown = false
  for (let i = 0; i < 20; i++) {
    await clock.advance(10 * minuteMs)
    await averba.subscriptions.recoverSoon('unstored')
    await averba.settle()
  }
  expect(await bodiesOf(averba)).toEqual([{ n: 1 }])
})

test('a parked reading does not hide failures after a downtime', async () => {
  let isDown = true
  const world = await given({
    averba: { schedules: true },
    intercept: async (request, forward) =>
      isDown && request.url.includes('/falhas') ? new Response(null, { status: 503 }) : forward(request),
  })
  const { averba, clock } = world
  await averba.settle()
  await world.lose({ n: 1 })
  await averba.subscriptions.recoverSoon('unstored')
  await passTime({ averba, clock }, 10_000)
  for (const { id } of await averba.effects.list({ state: 'deferred' })) await averba.effects.park(id)
  isDown = false
  await clock.advance(hourMs)
  const stop = new AbortController()
  const running = averba.run({ signal: stop.signal })
  await clock.advance(minuteMs)
  stop.abort()
  await clock.finish(running)
  expect(await bodiesOf(averba)).toEqual([{ n: 1 }])
})

test('a failure just after midnight that the portal lists with the day before counts once', async () => {
  const body = '{"aviso":"greve"}'
  const record = (id: number, data: string) => ({ id, data, descricao: 'x', evento, conteudo: body })
  const records = [record(1, '20-11-2026 23:59:58'), record(2, '21-11-2026 00:00:03')]
  const world = await given({
    intercept: async (request, forward) =>
      request.url.includes('/falhas') ? Response.json(records) : forward(request),
  })
  const { averba, clock } = world
  await clock.advance(Date.parse('2026-11-21T02:59:52Z') - clock.now())
  await world.notify({ aviso: 'greve' })
  await clock.advance(8_000)
  await world.notify({ aviso: 'greve' })
  await clock.advance(hourMs)
  const first = records.shift()
  await averba.subscriptions.failures({ day: '2026-11-21', recover: true })
  if (first) records.unshift(first)
  await averba.subscriptions.failures({ day: '2026-11-20', recover: true })
  expect(await bodiesOf(averba)).toHaveLength(1)
})
