import { expect } from 'vitest'
import { type Averba, valueOf } from '../../../src/index.ts'
import type { World, WorldOptions } from '../../../src/simulation/index.ts'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs } from '../../support/pass-time.ts'
import { actionsOf, applyPlan, callPortal, deliver, inboxOf, openBeside } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { type StorySteps, tellEach, tellStory, toMs } from '../../support/tell-story.ts'
import { openWorld } from '../../support/world.ts'

export const evento = 'dimp-situacao-import'
export const subscriptions = [{ evento, chaveSecreta: 'chave-um' }]
const midnightInBrasilia = Date.parse('2026-11-21T03:00:00Z')

export async function openSubscribed(options: WorldOptions = {}) {
  const world = await openWorld({ ...options, averba: { subscriptions, ...options.averba } })
  await applyPlan(world.averba)
  return world
}

/** The delivery fails and does not reach the receiver. */
export async function lose(world: World, body: unknown, about = evento): Promise<void> {
  await world.faults.add({ kind: 'status', status: 500, service: 'receiver', times: 1 })
  expect(await deliver(world, body, about)).toMatchObject([{ isDelivered: false }])
}

/** The receiver stores it, but its answer is lost. */
async function answerLate(world: World, body: unknown): Promise<void> {
  await world.faults.add({ kind: 'lose', service: 'receiver', times: 1 })
  expect(await deliver(world, body)).toMatchObject([{ isDelivered: false }])
}

/** The number of a content, as the stories make them. */
const numberOf = ({ body }: { readonly body: unknown }) => (body as { numero: string } | null)?.numero ?? 'destroyed'

/** The percentages and days of the announced deletions. */
export async function threatsOf({ log }: Averba): Promise<string[]> {
  return Array.fromAsync(log.read({ types: ['subscription.threatened'] }), ({ data }) => {
    const { percent, daysLeft } = data as { percent: number; daysLeft: number } // subscription.threatened says so.
    return `${percent}/${daysLeft}`
  })
}

export async function deleteAtPortal(world: World): Promise<void> {
  const id = (await world.averba.subscriptions.list())[0]?.id
  await callPortal(world, 'DELETE', { id }, `/${id}`)
}

/**
 * Plays a story about the notifications of one subscription.
 *
 * | step | meaning |
 * | --- | --- |
 * | `deliver a`, `lose a`, `late a` | the content is delivered; is not; is, but its answer is lost |
 * | `deliver`, `lose`, `lose a of x` | the same with a new content; with that of another event |
 * | `run 1 min`, `stop`, `start` | the process runs so long; ends; starts again |
 * | `another log` | goes on with a new log, which knows nothing |
 * | `handle`, `handled a b` | handles notifications; these, and all are |
 * | `midnight -10 s` | it becomes midnight in Brasília, and a bit |
 * | `recover`, `recover 1+2` | reads the failures: so many recovered and stored on the last day |
 * | `recover on 2026-11-21` | reads those of this day and the one before |
 * | `read`, `read all` | reads the day, without and with recovery |
 * | `soon late`, `soon downtime 2026-11-20` | asks for a reading; for one of all days since then |
 * | `plan`, `plan leave` | reads the portal's list; what it would do with each event |
 * | `apply`, `rotate`, `rotate later`, `settle` | makes what is declared; another secret, now or when due; does what is due |
 * | `portal 503`, `portal clock -2 d` | how the portal answers questions about failures; its clock is set |
 * | `refuse portal`, `portal up` | no connection to it, or to the receiver; no fault any more |
 * | `delete at portal` | somebody deletes the subscription there |
 * | `waiting 2`, `park` | so many readings of failures wait, and no other call; parks them |
 * | `asked 2`, `asked about 20 21`, `listed 2` | the readings of failures that were asked for, of these days; the answered |
 * | `hastened downtime=3`, `parked 1`, `due deletion` | the readings before their time; parked calls; what is due within 30 days |
 * | `inbox a b+ c+x` | the content of all notifications, `+` if recovered, and another event than ours |
 * | `recovered 2` | how many were recovered |
 * | `healthy`, `failing 2026-11-20 14`, `deleted 2026-12-20` | the health: failing since, and the days left |
 * | `failures 2`, `days of errors 20` | the known failed deliveries, and days |
 * | `known on 2026-11-20 recovered stored` | what became of the failures that a reading of that day shows |
 * | `sound` | no check of the health finds anything |
 * | `threats 50/15` | all announcements of the deletion, with the days left |
 */
async function play(story: string, options: WorldOptions = {}): Promise<void> {
  const world = await openSubscribed(options)
  const { clock, faults, requests } = world
  const told = { averba: world.averba, clock }
  const handled: unknown[] = []
  let contents = 0
  const body = (text = '') => ({ numero: text || `${++contents}` })
  const waiting = () => told.averba.effects.list({ state: 'deferred' })
  const subscription = async () =>
    (await told.averba.subscriptions.list({ inactive: true }))[0] ?? expect.fail('There is no subscription')
  const steps: StorySteps = {
    deliver: async text => expect(await deliver(world, body(text))).toMatchObject([{ isDelivered: true }]),
    lose: (text, _of, about) => lose(world, body(text), about),
    late: text => answerLate(world, body(text)),
    async run(n, unit) {
      const stop = startRun(told)
      await clock.advance(toMs(n, unit))
      await stop()
    },
    midnight: (n, unit) => clock.advance(midnightInBrasilia - clock.now() + toMs(n, unit)),
    'recover on': day => told.averba.subscriptions.recover(day),
    async recover(expected) {
      const outcomes = await told.averba.subscriptions.recover()
      if (!expected) return
      const { recovered, stored } = valueOf(outcomes.at(-1) ?? expect.fail('No day was read'))
      expect(`${recovered}+${stored}`).toBe(expected)
    },
    read: all => told.averba.subscriptions.failures(all ? { recover: true } : {}),
    soon: (why, day) => told.averba.subscriptions.recoverSoon(why as 'late', day && `${day}T12:00:00.000Z`),
    async 'plan ...'(...actions) {
      const planned = await actionsOf(told.averba)
      if (actions.length > 0) expect(planned).toEqual(actions)
    },
    apply: () => applyPlan(told.averba),
    stop: () => told.averba.close(),
    async start() {
      told.averba = await world.restart()
    },
    async 'another log'() {
      told.averba = await openBeside(world, { subscriptions, ...options.averba })
    },
    handle: () => told.averba.notifications.handle(evento, 'erp', async each => void handled.push(numberOf(each))),
    'rotate later': () => told.averba.subscriptions.rotate(evento, { waitMs: 0 }),
    rotate: async () => valueOf(await told.averba.subscriptions.rotate(evento)),
    settle: () => clock.finish(told.averba.settle()),
    portal: status => faults.add({ kind: 'status', status: Number(status), service: 'portal', path: 'falhas' }),
    'portal clock': (n, unit) => faults.add({ kind: 'clockSkew', service: 'portal', ms: toMs(n, unit) }),
    'portal up': () => faults.clear(),
    refuse: service => faults.add({ kind: 'refuse', service: service as 'portal' }),
    'delete at portal': () => deleteAtPortal(world),
    async waiting(n) {
      const types = (await waiting()).map(each => each.type)
      expect(types).toEqual(Array.from({ length: Number(n) }, () => 'portal.listFailures'))
    },
    park: async () => Promise.all((await waiting()).map(({ id }) => told.averba.effects.park(id))),
    asked: n => expect(requests.filter(each => each.path.includes('/falhas'))).toHaveLength(Number(n)),
    listed: async n => expect(await eventsOf(told, 'portal.failuresListed')).toHaveLength(Number(n)),
    sound: async () => expect((await told.averba.health()).checks.filter(each => !each.ok)).toEqual([]),
    async 'inbox ...'(...all) {
      const found = (await inboxOf(told.averba)).map(
        ({ body, origin, evento: about }) =>
          `${numberOf({ body })}${origin === 'recovered' ? '+' : ''}${about === evento ? '' : about}`,
      )
      expect(found).toEqual(all)
    },
    async recovered(n) {
      const found = (await inboxOf(told.averba)).filter(({ origin }) => origin === 'recovered')
      expect(found).toHaveLength(Number(n))
    },
    healthy: async () =>
      expect(await told.averba.subscriptions.list()).toMatchObject([
        { health: 'healthy', failures: 0, failingSince: null, deletionAt: null, daysLeft: null },
      ]),
    async failing(since, daysLeft) {
      const { health, failingSince, daysLeft: left } = await subscription()
      expect([health, failingSince?.slice(0, since.length), `${left}`]).toEqual(['failing', since, daysLeft])
    },
    async 'known on ...'(day, ...recoveries) {
      const known = await told.averba.subscriptions.failures({ day })
      expect(known.map(({ recovery }) => recovery)).toEqual(recoveries)
    },
    'days of errors': async n => expect((await subscription()).daysOfErrors).toBe(Number(n)),
    async 'handled ...'(...all) {
      expect(handled).toEqual(all)
      expect((await inboxOf(told.averba)).map(({ state }) => state)).toEqual(all.map(() => 'handled'))
    },
    parked: async n => expect(await told.averba.effects.list({ state: 'parked' })).toHaveLength(Number(n)),
    'asked about ...': (...days) =>
      expect(requests.flatMap(each => /falhas\?data=(\d\d)/.exec(each.path)?.[1] ?? [])).toEqual(days),
    async 'hastened ...'(...all) {
      const data = (await eventsOf(told, 'portal.recoveryHastened')).map(each => each.data)
      expect(data.map(({ reason, days }) => `${reason}=${days.length}`)).toEqual(all)
    },
    async due(what) {
      const until = new Date(clock.now() + 30 * dayMs).toISOString()
      expect((await told.averba.due(until)).map(each => each.what)).toContain(what)
    },
    failures: async n => expect((await subscription()).failures).toBe(Number(n)),
    deleted: async day =>
      expect(await subscription()).toMatchObject({
        ...{ state: 'deleted', deletedBy: 'portal', health: 'unknown', daysLeft: null },
        ...{ dataExclusao: `${day}T12:00:00.000Z`, motivoExclusao: expect.stringContaining('30 dias') },
      }),
    'threats ...': async (...all) => expect(await threatsOf(told.averba)).toEqual(all),
  }
  await tellStory(told, steps, story)
}

/** Registers a test for each story, named by what it shows. `schedules: ` before its steps turns schedules on. */
export const tell = (stories: Parameters<typeof tellEach>[0], options: WorldOptions = {}): void =>
  tellEach(stories, story => {
    const steps = story.replace(/^\s*schedules: /, '')
    return play(steps, { ...options, averba: { ...(steps !== story && { schedules: true }), ...options.averba } })
  })
