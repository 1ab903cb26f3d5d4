import { expect, test } from 'vitest'
import { answering } from '../../support/answers.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'
import { subscriptions, tell } from './story.ts'

/** An outage of portal and receiver, in the middle of which a notification is lost. */
const outage = (half: string) => `
  schedules: handle, 8 × 3 h, refuse portal, refuse receiver, ${half}, lose a, ${half}, portal up, 3 × 1 h, handled a, 12 × 6 h,
  handled a, inbox a+, parked 0`

tell({
  'notifications lost in an outage of 20 hours are recovered once, automatically': outage('10 × 1 h'),
  'notifications lost in an outage of 70 hours are recovered once, automatically': outage('35 × 1 h'),
  'notifications lost in an outage of two weeks are recovered by a host that runs a few times a day':
    outage('28 × 6 h'),
  // The daily readings ask about them too.
  'a starting process reads the failures since the last event, once per downtime': `
    schedules: stop, lose a, 1 d, lose b, 1 d, start, run 1 min, asked about 20 21 22 20 21 22, inbox a+ b+,
    hastened downtime=3, run 1 min, settle, asked 6`,
})

test('an unreadable day is told of, requested hourly until the portal drops it, and then parked', async () => {
  let asked = 0
  const isUnreadable = ({ url }: Request) => url.endsWith('falhas?data=24112026')
  const world = await openWorld({
    averba: { schedules: true, subscriptions },
    intercept: answering(isUnreadable, () => {
      asked += 1
      return new Response('', { status: 503 })
    }),
  })
  const { lines } = world
  await applyPlan(world.averba)
  await passTime(world, hourMs, 7 * 24)
  // By then it is requested on three days: on the day itself, and once more after it ended.
  expect(asked).toBeGreaterThan(2 * 24)
  expect(asked).toBeLessThan(1.5 * 3 * 24)
  await passTime(world, 6 * hourMs, 23 * 4)
  const unread = 'the failure records of a day cannot be read: what failed then is not recovered'
  expect(lines.splice(0)).toEqual([{ level: 'error', message: unread, detail: '2026-11-24' }])
  await passTime(world, 6 * hourMs, 6 * 4)
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
