import { expect, test } from 'vitest'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

/** A world at a time of day in Brasilia, whose portal answers with a code while one is set. */
async function givenPortalAt(time: string, store = ':memory:') {
  let code = ''
  let status = 422
  const clock = new VirtualClock(`2026-11-20T${time}:00.000-03:00`)
  let sent = 0
  const world = await openWorld({
    averba: { clock, store },
    intercept: async (request, forward) => {
      sent += 1
      if (code === '') return forward(request)
      return Response.json({ message: 'Indisponível', code }, { status })
    },
  })
  return {
    clock,
    averba: world.averba,
    sent: () => sent,
    answer(to: string, under = 422) {
      code = to
      status = under
    },
    /** Requests the failures and returns the outcome. */
    async ask() {
      await world.averba.subscriptions.failures().catch(() => undefined)
      return (await world.averba.effects.list()).filter(each => each.type === 'portal.listFailures').at(-1)
    },
    dispose: () => world.close(),
  }
}

test.each([422, 429, 200])(
  'a function blocked for the hour (status %s) is not called until the hour ends',
  async status => {
    const { clock, averba, sent, answer, ask, dispose } = await givenPortalAt('10:20')
    answer('PUCX-ER1001', status)
    expect(await ask()).toMatchObject({
      state: 'deferred',
      dueAt: '2026-11-20T14:01:00.000Z',
      reason: expect.stringContaining('PUCX-ER1001'),
    })
    // Another call to the same function would lengthen the block: it is not sent.
    expect(await ask()).toMatchObject({ state: 'deferred', dueAt: '2026-11-20T14:01:00.000Z' })
    expect(sent()).toBe(1)
    answer('')
    await averba.subscriptions.plan()
    expect(sent()).toBe(2)
    await clock.advance(hourMs)
    expect(await averba.settle()).toEqual({ settled: 2, deferred: 0, unknown: 0 })
    await dispose()
  },
)

test('each further block of a day is an hour longer, until midnight in Brasilia', async () => {
  const { clock, averba, answer, ask, dispose } = await givenPortalAt('19:30')
  answer('PUCX-ER1001')
  await ask()
  const dueAt = async () => (await averba.effects.list()).at(-1)?.dueAt
  const next = async (hours: number) => {
    await passTime({ averba, clock }, hours * hourMs)
    return dueAt()
  }
  expect(await dueAt()).toBe('2026-11-20T23:01:00.000Z') // 20:01 there
  expect(await next(1)).toBe('2026-11-21T01:01:00.000Z') // 22:01, asked at 20:30
  expect(await next(2)).toBe('2026-11-21T03:01:00.000Z') // midnight, asked at 22:30
  expect(await next(2)).toBe('2026-11-21T04:01:00.000Z') // a new day, asked at 0:30: the first again
  await dispose()
})

test.each(['PUCX-ER0401', 'PUCX-ER0014'])('during the nightly stop (%s) nothing is sent', async code => {
  const { averba, sent, answer, ask, dispose } = await givenPortalAt('01:10')
  answer(code)
  expect(await ask()).toMatchObject({ state: 'deferred', dueAt: '2026-11-20T06:01:00.000Z' })
  await averba.subscriptions.plan().catch(() => undefined)
  expect(sent()).toBe(1)
  await dispose()
})

test('a stop at another time of day is retried like other failures', async () => {
  const { answer, ask, dispose } = await givenPortalAt('15:00')
  answer('PUCX-ER0401')
  const asked = await ask()
  expect(asked).toMatchObject({ state: 'deferred' })
  expect(Date.parse(asked?.dueAt ?? '')).toBeLessThan(Date.parse('2026-11-20T18:01:00.000Z'))
  await dispose()
})

test.each([
  ['a block', 'PUCX-ER1001', '10:20', '2026-11-20T14:01:00.000Z'],
  ['the nightly stop', 'PUCX-ER0401', '01:10', '2026-11-20T06:01:00.000Z'],
])('%s is remembered after a restart, and nothing is sent until it ends', async (_, code, time, until) => {
  const store = temporaryStore()
  const before = await givenPortalAt(time, store)
  before.answer(code)
  expect(await before.ask()).toMatchObject({ dueAt: until })
  await before.dispose()
  const after = await givenPortalAt(time, store)
  after.answer(code)
  expect(await after.ask()).toMatchObject({ state: 'deferred', dueAt: until })
  expect(after.sent()).toBe(0)
  await after.dispose()
})

test('the number of blocks of a day is remembered after a restart', async () => {
  const store = temporaryStore()
  const before = await givenPortalAt('10:20', store)
  before.answer('PUCX-ER1001')
  expect(await before.ask()).toMatchObject({ dueAt: '2026-11-20T14:01:00.000Z' })
  await before.dispose()
  const after = await givenPortalAt('11:10', store)
  after.answer('PUCX-ER1001')
  expect(await after.ask()).toMatchObject({ dueAt: '2026-11-20T16:01:00.000Z' })
  await after.dispose()
})

test('a block received by another process of the store stops this one too', async () => {
  const store = temporaryStore()
  const [one, other] = [await givenPortalAt('10:20', store), await givenPortalAt('10:20', store)]
  one.answer('PUCX-ER1001')
  await one.ask()
  expect(await other.ask()).toMatchObject({ state: 'deferred', dueAt: '2026-11-20T14:01:00.000Z' })
  expect(other.sent()).toBe(0)
  await one.dispose()
  await other.dispose()
})

test.each([
  ['a block', 'PUCX-ER1001'],
  ['the nightly stop', 'PUCX-ER0401'],
])('%s received while the clock was a year ahead ends when the clock is corrected', async (_, code) => {
  const store = temporaryStore()
  const before = await givenPortalAt('00:30', store)
  const yearMs = 365 * 24 * hourMs
  before.clock.jump(yearMs)
  before.answer(code)
  await before.ask()
  before.answer('')
  before.clock.jump(-yearMs)
  await before.ask()
  expect(before.sent()).toBe(2)
  await before.dispose()
  const after = await givenPortalAt('12:00', store)
  await after.ask()
  expect(after.sent()).toBe(1)
  await after.dispose()
})
