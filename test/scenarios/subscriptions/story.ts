import { expect, test } from 'vitest'
import { type Averba, valueOf } from '../../../src/index.ts'
import type { World, WorldOptions } from '../../../src/simulation/index.ts'
import { dayMs, hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { playStory, type StoryStep } from '../../support/play-story.ts'
import { applyPlan } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'

export const evento = 'dimp-situacao-import'
export const subscriptions = [{ evento, chaveSecreta: 'chave-um' }]
const units = { s: 1_000, min: minuteMs, h: hourMs, d: dayMs } as const
const midnightInBrasilia = Date.parse('2026-11-21T03:00:00Z')

/** Has the portal notify the sample company. */
export const notify = ({ portal, samples }: World, body: unknown, about = evento) =>
  portal.notify({ evento: about, destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj, body })

/** The delivery fails and does not reach the receiver. */
export async function lose(world: World, body: unknown, about = evento): Promise<void> {
  await world.faults.add({ kind: 'status', status: 500, service: 'receiver', times: 1 })
  expect(await notify(world, body, about)).toMatchObject([{ isDelivered: false }])
}

/** The receiver stores it, but its answer is lost. */
export async function answerLate(world: World, body: unknown): Promise<void> {
  await world.faults.add({ kind: 'lose', service: 'receiver', times: 1 })
  expect(await notify(world, body)).toMatchObject([{ isDelivered: false }])
}

/** The percentages and days of the announced deletions. */
export async function threatsOf({ log }: Averba): Promise<string[]> {
  return Array.fromAsync(log.read({ types: ['subscription.threatened'] }), ({ data }) => {
    const { percent, daysLeft } = data as { percent: number; daysLeft: number } // subscription.threatened says so.
    return `${percent}/${daysLeft}`
  })
}

/**
 * A world with one subscription, and a story about its notifications: a list of steps, in their order.
 *
 * | step | meaning |
 * | --- | --- |
 * | `deliver a`, `lose a`, `late a` | the content is delivered; is not; is, but its answer is lost |
 * | `2 min`, `30 × 1 d` | time passes; as often, and each time all that is due is done |
 * | `clock +2 d`, `midnight -10 s` | sets the clock; moves it to the midnight in Brasília, and a bit |
 * | `recover`, `recover 1+2` | reads the failures: so many recovered and stored on the last day |
 * | `read`, `read all`, `soon late`, `soon unstored` | reads the day, without and with recovery; asks for it |
 * | `plan`, `settle` | reads the portal's list; does what is due |
 * | `portal 503`, `portal up` | how the portal answers questions about failures |
 * | `inbox a b` | the content of all notifications, `+` after those that were recovered |
 * | `healthy`, `failing 2026-11-20 14` | the health: failing since a day, and the days left |
 * | `threats 50/15` | all announcements of the deletion, with the days left |
 */
async function givenStory(options: WorldOptions = {}) {
  const world = await openWorld({ ...options, averba: { subscriptions, ...options.averba } })
  const { averba, clock, faults } = world
  await applyPlan(averba)
  const passed = (n: unknown, unit: unknown) => Number(n) * units[unit as keyof typeof units] // By the forms below.
  const body = (text = '') => ({ numero: text })

  async function recover(expected: string | undefined): Promise<void> {
    const outcomes = await averba.subscriptions.recover()
    if (expected === undefined) return
    const { recovered, stored } = valueOf(outcomes.at(-1) ?? expect.fail('No day was read'))
    expect(`${recovered}+${stored}`).toBe(expected)
  }

  const steps: readonly StoryStep[] = [
    [/^deliver (\w+)$/, async text => expect(await notify(world, body(text))).toMatchObject([{ isDelivered: true }])],
    [/^lose (\w+)$/, text => lose(world, body(text))],
    [/^late (\w+)$/, text => answerLate(world, body(text))],
    [/^(\d+) (s|min|h|d)$/, (n, unit) => clock.advance(passed(n, unit))],
    [/^(\d+) × (\d+) (s|min|h|d)$/, (times, n, unit) => passTime(world, passed(n, unit), Number(times))],
    [/^clock (.\d+) (h|d)$/, (n, unit) => clock.jump(passed(n, unit))],
    [/^midnight (.\d+) s$/, n => clock.advance(midnightInBrasilia - clock.now() + passed(n, 's'))],
    [/^recover(?: (.+))?$/, recover],
    [/^read( all)?$/, all => averba.subscriptions.failures(all ? { recover: true } : {})],
    [/^soon (late|unstored)$/, why => averba.subscriptions.recoverSoon(why as 'late')],
    [/^plan$/, () => averba.subscriptions.plan()],
    [/^settle$/, () => averba.settle()],
    [/^portal up$/, () => faults.clear()],
    [
      /^portal (\d+)$/,
      status => faults.add({ kind: 'status', status: Number(status), service: 'portal', path: 'falhas' }),
    ],
    [
      /^inbox(.*)$/,
      async all => {
        const told = await Array.fromAsync(averba.notifications.list(), ({ body, origin }) => {
          return ` ${(body as { numero: string }).numero}${origin === 'recovered' ? '+' : ''}` // As `body` makes them.
        })
        expect(told.join('')).toBe(all)
      },
    ],
    [
      /^healthy$/,
      async () =>
        expect(await averba.subscriptions.list()).toMatchObject([
          { health: 'healthy', failures: 0, failingSince: null, daysLeft: null },
        ]),
    ],
    [
      /^failing (\S+) (\d+)$/,
      async (day, daysLeft) => {
        const [{ health, failingSince, daysLeft: left } = expect.fail('There is none')] =
          await averba.subscriptions.list()
        expect([health, failingSince?.slice(0, 10), `${left}`]).toEqual(['failing', day, daysLeft])
      },
    ],
    [/^threats ?(.*)$/, async all => expect((await threatsOf(averba)).join(' ')).toBe(all)],
  ]

  const play = (story: string) => playStory(steps, story)

  return { ...world, world, play }
}

/** Registers a test for each story, named by what it shows. */
export function tell(stories: readonly (readonly [shows: string, story: string])[], options?: WorldOptions): void {
  test.each(stories)('%s', async (_, story) => {
    const { play } = await givenStory(options)
    await play(story)
  })
}
