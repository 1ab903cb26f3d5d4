import { expect, test } from 'vitest'
import type { LogLine } from '../../../src/index.ts'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { applyPlan, inboxOf, openBeside } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'
import { evento, notify, subscriptions } from './story.ts'

/**
 * A host that settles every hour, like a cron job, and collects handled bodies and log lines. The portal does not show
 * the failures of the day `unread`.
 */
async function givenHost(unread?: string) {
  const lines: LogLine[] = []
  const handled: unknown[] = []
  const asked = { count: 0 }
  const world = await openWorld({
    averba: { schedules: true, subscriptions, logger: line => void lines.push(line) },
    async intercept(request, forward) {
      if (!request.url.endsWith(`falhas?data=${unread}`)) return forward(request)
      asked.count += 1
      return new Response('', { status: 503 })
    },
  })
  world.averba.notifications.handle(evento, 'erp', async ({ body }) => void handled.push(body))
  await applyPlan(world.averba)
  const settleFor = (hours: number, everyHours = 1) => passTime(world, everyHours * hourMs, hours / everyHours)
  return { world, lines, handled, asked, settleFor }
}

test.each([
  [20, 1],
  [70, 1],
  // The host runs a few times a day.
  [24 * 14, 6],
])('notifications lost in an outage of %i hours are recovered once, automatically', async (hours, everyHours) => {
  const { world, handled, settleFor } = await givenHost()
  await settleFor(24)
  // No request gets out or in.
  for (const service of ['portal', 'receiver'] as const) await world.faults.add({ kind: 'refuse', service })
  await settleFor(hours / 2, everyHours)
  expect(await notify(world, { numero: '26BR1' })).toMatchObject([{ isDelivered: false }])
  await settleFor(hours / 2, everyHours)
  await world.faults.clear()
  await settleFor(3)
  expect(handled).toEqual([{ numero: '26BR1' }])
  await settleFor(3 * 24)
  expect(handled).toEqual([{ numero: '26BR1' }])
  expect(await inboxOf(world.averba)).toMatchObject([
    { origin: 'recovered', body: { numero: '26BR1' }, state: 'handled' },
  ])
  // No effect is parked.
  expect(await world.averba.effects.list({ state: 'parked' })).toEqual([])
})

test('an unreadable day is told of, requested hourly until the portal drops it, and then parked', async () => {
  const { world, lines, asked, settleFor } = await givenHost('24112026')
  await settleFor(30 * 24)
  expect(asked.count).toBeGreaterThan(10 * 24)
  expect(asked.count).toBeLessThan(1.5 * 26 * 24)
  const unread = 'the failure records of a day cannot be read: what failed then is not recovered'
  expect(lines.splice(0)).toEqual([{ level: 'error', message: unread, detail: '2026-11-24' }])
  await settleFor(6 * 24)
  const parked = await world.averba.effects.list({ state: 'parked' })
  // It was requested on the day itself and once after it ended.
  expect(parked).toHaveLength(2)
  expect(lines).toHaveLength(2)
  for (const { id } of parked)
    expect(lines).toContainEqual({
      level: 'error',
      message: 'a call is parked: effects.retry releases it',
      detail: expect.stringMatching(`^portal.listFailures ${id}: given up after 72\\d hours$`),
    })
})

test('a starting process reads the failures since the last event, once per downtime', async () => {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store, subscriptions } })
  await applyPlan(world.averba)
  await world.averba.close()
  await world.faults.add({ kind: 'refuse', service: 'receiver' })
  for (const day of [0, 1]) {
    await notify(world, { day })
    await world.clock.advance(dayMs)
  }
  const averba = await openBeside(world, { store, subscriptions })
  const daysRead = () => world.requests.flatMap(each => /falhas\?data=(\d{8})/.exec(each.path)?.[1] ?? [])
  /** Runs until the failures due in ten seconds are read, and half a minute longer. */
  const runForAWhile = async () => {
    const stop = startRun({ averba, clock: world.clock })
    for (let second = 0; second < 40; second++) {
      await world.clock.advance(1_000)
      // Answers are received and recorded in turns of the event loop.
      await new Promise(resolve => setImmediate(resolve))
    }
    await stop()
    await averba.settle()
  }
  await runForAWhile()
  expect(new Set(daysRead())).toEqual(new Set(['20112026', '21112026', '22112026']))
  const found = (await inboxOf(averba)).map(({ body, origin }) => [origin, body])
  expect(found).toHaveLength(2)
  for (const day of [0, 1]) expect(found).toContainEqual(['recovered', { day }])
  const hastened = await eventsOf({ averba }, 'portal.recoveryHastened')
  expect(hastened).toMatchObject([{ data: { reason: 'downtime', days: [{}, {}, {}] } }])
  const read = daysRead().length
  await runForAWhile()
  expect(daysRead()).toHaveLength(read)
})
