import { expect, test } from 'vitest'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const [block, stop] = ['PUCX-ER1001', 'PUCX-ER0401']
/** When a block at 10:20 in Brasilia ends, and the nightly stop. */
const [blockEnds, stopEnds] = ['2026-11-20T14:01:00.000Z', '2026-11-20T06:01:00.000Z']

/** A world at a time of day in Brasilia, whose portal answers with a code while one is set. */
async function givenPortalAt(time: string, store = ':memory:') {
  const portal = { code: '', status: 422, sent: 0 }
  const clock = new VirtualClock(`2026-11-20T${time}:00.000-03:00`)
  const world = await openWorld({
    averba: { clock, store },
    intercept: async (request, forward) => {
      portal.sent += 1
      const { code, status } = portal
      return code === '' ? forward(request) : Response.json({ message: 'Indisponível', code }, { status })
    },
  })
  const { averba } = world
  return {
    ...{ averba, clock, portal },
    /** Asks for the failures while the portal answers so, and returns the call. */
    async ask(code: string, status = 422) {
      Object.assign(portal, { code, status })
      await averba.subscriptions.failures().catch(() => undefined)
      return (await averba.effects.list()).filter(each => each.type === 'portal.listFailures').at(-1)
    },
    close: () => world.close(),
  }
}

test.each([422, 429, 200])(
  'a function blocked for the hour (status %s) is not called until the hour ends',
  async status => {
    const { clock, averba, portal, ask } = await givenPortalAt('10:20')
    const deferred = { state: 'deferred', dueAt: blockEnds }
    expect(await ask(block, status)).toMatchObject({ ...deferred, reason: expect.stringContaining(block) })
    // Another call to the same function would lengthen the block: it is not sent.
    expect(await ask(block, status)).toMatchObject(deferred)
    expect(portal.sent).toBe(1)
    portal.code = ''
    await averba.subscriptions.plan()
    expect(portal.sent).toBe(2)
    await clock.advance(hourMs)
    expect(await averba.settle()).toEqual({ settled: 2, deferred: 0, unknown: 0 })
  },
)

test('each further block of a day is an hour longer, until midnight in Brasilia', async () => {
  const { clock, averba, ask } = await givenPortalAt('19:30')
  const next = async (hours: number) => {
    await passTime({ averba, clock }, hours * hourMs)
    return (await averba.effects.list()).at(-1)?.dueAt
  }
  expect(await ask(block)).toMatchObject({ dueAt: '2026-11-20T23:01:00.000Z' }) // 20:01 there
  expect(await next(1)).toBe('2026-11-21T01:01:00.000Z') // 22:01, asked at 20:30
  expect(await next(2)).toBe('2026-11-21T03:01:00.000Z') // midnight, asked at 22:30
  expect(await next(2)).toBe('2026-11-21T04:01:00.000Z') // a new day, asked at 0:30: the first again
})

test.each([stop, 'PUCX-ER0014'])('during the nightly stop (%s) nothing is sent', async code => {
  const { averba, portal, ask } = await givenPortalAt('01:10')
  expect(await ask(code)).toMatchObject({ state: 'deferred', dueAt: stopEnds })
  await averba.subscriptions.plan().catch(() => undefined)
  expect(portal.sent).toBe(1)
})

test('a stop at another time of day is retried like other failures', async () => {
  const { ask } = await givenPortalAt('15:00')
  const isSoon = (at: string) => Date.parse(at) < Date.parse('2026-11-20T18:01:00.000Z')
  expect(await ask(stop)).toMatchObject({ state: 'deferred', dueAt: expect.toSatisfy(isSoon) })
})

test.each([
  ['a block', block, '10:20', blockEnds],
  ['the nightly stop', stop, '01:10', stopEnds],
])('%s is remembered after a restart, and nothing is sent until it ends', async (_, code, time, until) => {
  const store = temporaryStore()
  const [one, other] = [await givenPortalAt(time, store), await givenPortalAt(time, store)]
  expect(await one.ask(code)).toMatchObject({ dueAt: until })
  expect(await other.ask('')).toMatchObject({ state: 'deferred', dueAt: until })
  for (const each of [one, other]) await each.close()
  const later = await givenPortalAt(time, store)
  expect(await later.ask(code)).toMatchObject({ state: 'deferred', dueAt: until })
  expect([other.portal.sent, later.portal.sent]).toEqual([0, 0])
})

test('the number of blocks of a day is remembered after a restart', async () => {
  const store = temporaryStore()
  const before = await givenPortalAt('10:20', store)
  expect(await before.ask(block)).toMatchObject({ dueAt: blockEnds })
  await before.close()
  const after = await givenPortalAt('11:10', store)
  expect(await after.ask(block)).toMatchObject({ dueAt: '2026-11-20T16:01:00.000Z' })
})

test.each([
  ['a block', block],
  ['the nightly stop', stop],
])('%s received while the clock was a year ahead ends when the clock is corrected', async (_, code) => {
  const store = temporaryStore()
  const before = await givenPortalAt('00:30', store)
  before.clock.jump(365 * dayMs)
  await before.ask(code)
  before.clock.jump(-365 * dayMs)
  await before.ask('')
  expect(before.portal.sent).toBe(2)
  await before.close()
  const after = await givenPortalAt('12:00', store)
  await after.ask('')
  expect(after.portal.sent).toBe(1)
})
