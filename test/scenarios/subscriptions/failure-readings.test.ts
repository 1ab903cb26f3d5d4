import { expect, test } from 'vitest'
import type { Fetch } from '../../../src/index.ts'
import { countTurns } from '../../support/count-turns.ts'
import { hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { bodiesOf, deliver, inboxOf, openBeside } from '../../support/portal.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { evento, lose, openSubscribed, subscriptions, tell } from './story.ts'

/** Has the portal answer each question about failures with what is returned. */
const answering = (answer: (request: Request) => readonly unknown[]) => ({
  intercept: async (request: Request, forward: Fetch) =>
    request.url.includes('/falhas') ? Response.json(answer(request)) : forward(request),
})

tell({
  'a reading that is asked for after a failure begins ten seconds later at the earliest':
    'soon unstored, 9 × 1 s, asked 0, 1 × 1 s, asked 1',
  // A reading waits for each of the two days.
  'failures during an outage of the portal cause one pending reading and one after it': `
      portal 503, lose a, 179 × (soon unstored; 1 × 10 min), lose b, soon unstored, 1 × 10 min, waiting 2,
      portal up, 12 × 5 min, inbox a+ b+, waiting 0, listed 4, sound`,
  // Attempts are at most half an hour apart.
  'a delivery that fails as an outage ends is found soon': `
      portal 503, soon unstored, 3 × (6 × 1 min; soon unstored; 14 × 1 min), portal up, 9 s, lose a, soon unstored,
      31 × 1 min, inbox a+`,
  'a parked reading does not hide later failures of its day': `
      portal 503, lose a, soon unstored, 1 × 10 s, waiting 1, park, portal up,
      20 × (10 min; soon unstored; settle), inbox a+`,
  'a parked reading does not hide failures after a downtime': `
    schedules: portal 503, settle, lose a, soon unstored, 1 × 10 s, park, portal up, 1 h, run 1 min, inbox a+`,
})

test('a delivery that fails while its day is read is found by the next reading', async () => {
  const [arrived, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isFirst = true
  const world = await openSubscribed({
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
  await lose(world, 1)
  await averba.subscriptions.recoverSoon('unstored')
  await clock.advance(10_000)
  const settling = averba.settle()
  await arrived.promise
  await clock.advance(20 * minuteMs)
  await lose(world, 2)
  await averba.subscriptions.recoverSoon('unstored')
  await averba.subscriptions.recoverSoon('late')
  opened.resolve()
  await settling
  expect(await bodiesOf(averba)).toEqual([1])
  await passTime({ averba, clock }, 10_000)
  expect(await bodiesOf(averba)).toEqual([1, 2])
})

/** Two records of one content around a midnight, in the portal's form. */
const [before, after] = ['20-11-2026 23:59:58', '21-11-2026 00:00:03'].map((data, i) => ({
  ...{ id: i + 1, data, descricao: 'x', evento, conteudo: '{"aviso":"greve"}' },
}))

test('a failure just after midnight that the portal lists with the day before counts once', async () => {
  let listed = [after]
  const world = await openSubscribed(answering(() => listed))
  const { averba, clock } = world
  await clock.advance(Date.parse('2026-11-21T02:59:52Z') - clock.now())
  await deliver(world, { aviso: 'greve' })
  await clock.advance(8_000)
  await deliver(world, { aviso: 'greve' })
  await clock.advance(hourMs)
  await averba.subscriptions.failures({ day: '2026-11-21', recover: true })
  listed = [before, after]
  await averba.subscriptions.failures({ day: '2026-11-20', recover: true })
  expect(await bodiesOf(averba)).toHaveLength(1)
})

test('a damaged content does not stop the recovery of its day', async () => {
  const store = temporaryStore()
  const world = await openSubscribed({ store })
  const { averba } = world
  await lose(world, 1)
  await averba.subscriptions.failures()
  await lose(world, 2)
  const database = new Sqlite(store)
  const flip = "update part set sealed = zeroblob(length(sealed)) where name = 'content'"
  expect(database.prepare(flip).run().changes).toBe(1)
  database.close()
  await averba.subscriptions.recover()
  expect(await bodiesOf(averba)).toEqual([1, 2])
})

test.each(['20-11-2027 09:00:00', '20-11-2020 09:00:00'])(
  'a record of another year, %s, does not affect the health of its subscription',
  async data => {
    const record = { id: 1, data, descricao: 'x', evento, conteudo: '{"n":1}' }
    const world = await openSubscribed(answering(({ url }) => (url.includes('data=20112026') ? [record] : [])))
    const { averba, clock } = world
    await averba.subscriptions.recover()
    expect(await averba.subscriptions.list()).toMatchObject([{ health: 'failing', daysLeft: 29 }])
    await clock.advance(24 * hourMs)
    await deliver(world, { n: 2 })
    await averba.subscriptions.recover()
    expect(await averba.subscriptions.list()).toMatchObject([{ health: 'healthy' }])
  },
)

test('reading failures yields, however many notifications have the same length', async () => {
  const world = await openSubscribed()
  const { averba } = world
  const stored = 300
  for (let i = 0; i < stored; i++) await deliver(world, { n: 10_000 + i })
  await lose(world, { n: 20_000 })
  const { turns } = await countTurns(async () => averba.subscriptions.failures({ recover: true }))
  expect(turns).toBeGreaterThan(stored / 50)
  expect(await bodiesOf(averba)).toHaveLength(stored + 1)
})

/** Two processes, and a portal whose second answer has one more record of the same content. */
async function givenGrowing() {
  const [store, more] = [temporaryStore(), { data: '20-11-2026 09:00:01' }]
  const records = [
    { ...before, ...more },
    { ...after, ...more },
  ]
  let readings = 0
  const growing = answering(() => records.slice(0, ++readings))
  const world = await openSubscribed({ store, ...growing })
  const fetch = (request: Request) => growing.intercept(request, world.reach.portal)
  return { ...world, other: await openBeside(world, { store, subscriptions, fetch }) }
}

const day = '2026-11-20'
/** How two readings come one after another, or at once, and by how many processes. */
type Way = readonly [string, hoursApart: number | undefined, processes: 'one' | 'two']

const ways: readonly Way[] = [
  ['one after the other', 0, 'one'],
  ['hours apart', 8, 'one'],
  ['at once', undefined, 'one'],
  ['at once by two processes', undefined, 'two'],
  ['one after the other by two processes', 0, 'two'],
]

async function readTwice(all: Awaited<ReturnType<typeof givenGrowing>>, [, hoursApart, processes]: Way) {
  const { averba, other, clock } = all
  const read = async (by: typeof averba) => by.subscriptions.failures({ day, recover: true })
  const second = processes === 'two' ? other : averba
  if (hoursApart === undefined) return clock.finish(Promise.all([read(averba), read(second)]))
  await read(averba)
  await clock.advance(hoursApart * hourMs)
  return read(second)
}

test.each(ways)('two readings %s lose nothing: one stored, one never received', async (...way) => {
  const all = await givenGrowing()
  expect(await deliver(all, { aviso: 'greve' })).toMatchObject([{ isDelivered: true }])
  await all.clock.advance(minuteMs)
  await readTwice(all, way)
  expect(await inboxOf(all.averba)).toMatchObject([{ origin: 'delivered' }, { origin: 'recovered' }])
})

test.each(ways)('two readings %s recover once a notification that failed twice', async (...way) => {
  const all = await givenGrowing()
  const { averba, clock } = all
  let handled = 0
  averba.notifications.handle(evento, 'erp', async () => void handled++)
  await readTwice(all, way)
  await clock.finish(averba.settle())
  const failures = await averba.subscriptions.failures({ day })
  expect(failures.sort((one, another) => one.id - another.id)).toMatchObject([
    { id: 1, recovery: 'recovered' },
    { id: 2, recovery: 'stored' },
  ])
  expect(handled).toBe(1)
})
