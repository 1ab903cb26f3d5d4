import { expect } from 'vitest'
import { type Averba, valueOf } from '../../../src/index.ts'
import type { World, WorldOptions } from '../../../src/simulation/index.ts'
import { eventsOf } from '../../support/events-of.ts'
import { applyPlan, callPortal, inboxOf } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { type StorySteps, tellEach, tellStory, toMs } from '../../support/tell-story.ts'
import { openWorld } from '../../support/world.ts'

export const evento = 'dimp-situacao-import'
export const subscriptions = [{ evento, chaveSecreta: 'chave-um' }]
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

/** Deletes the subscription at the portal by hand. */
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
 * | `run 1 min` | a process runs so long |
 * | `midnight -10 s` | it becomes midnight in Brasília, and a bit |
 * | `recover`, `recover 1+2` | reads the failures: so many recovered and stored on the last day |
 * | `read`, `read all` | reads the day, without and with recovery |
 * | `soon late`, `soon downtime 2026-11-20` | asks for a reading; for one of all days since then |
 * | `plan`, `apply`, `rotate`, `settle` | reads the portal's list; makes what is declared; does what is due |
 * | `portal 503`, `portal clock -2 d`, `portal up` | how the portal answers questions about failures; its clock; no fault |
 * | `delete at portal` | somebody deletes the subscription there |
 * | `waiting 2`, `park` | so many readings of failures wait, and no other call; parks them |
 * | `asked 2`, `listed 2` | so many readings of failures were asked for, or have been answered |
 * | `inbox a b+ c+x` | the content of all notifications, `+` if recovered, and another event than ours |
 * | `recovered 2` | how many were recovered |
 * | `healthy`, `failing 2026-11-20 14`, `deleted 2026-12-20` | the health: failing since, and the days left |
 * | `failures 2`, `known 1 on 2026-11-20` | the known failed deliveries; those that a reading of that day shows |
 * | `sound` | no check of the health finds anything |
 * | `threats 50/15` | all announcements of the deletion, with the days left |
 */
async function play(story: string, options: WorldOptions = {}): Promise<void> {
  const world = await openWorld({ ...options, averba: { subscriptions, ...options.averba } })
  const { averba, clock, faults, requests } = world
  await applyPlan(averba)
  let contents = 0
  const body = (text = '') => ({ numero: text || `${++contents}` })
  const waiting = () => averba.effects.list({ state: 'deferred' })
  const subscription = async () =>
    (await averba.subscriptions.list({ inactive: true }))[0] ?? expect.fail('There is no subscription')
  const steps: StorySteps = {
    deliver: async text => expect(await notify(world, body(text))).toMatchObject([{ isDelivered: true }]),
    lose: (text, _of, about) => lose(world, body(text), about),
    late: text => answerLate(world, body(text)),
    async run(n, unit) {
      const stop = startRun(world)
      await clock.advance(toMs(n, unit))
      await stop()
    },
    midnight: (n, unit) => clock.advance(midnightInBrasilia - clock.now() + toMs(n, unit)),
    async recover(expected) {
      const outcomes = await averba.subscriptions.recover()
      if (!expected) return
      const { recovered, stored } = valueOf(outcomes.at(-1) ?? expect.fail('No day was read'))
      expect(`${recovered}+${stored}`).toBe(expected)
    },
    read: all => averba.subscriptions.failures(all ? { recover: true } : {}),
    soon: (why, day) => averba.subscriptions.recoverSoon(why as 'late', day && `${day}T12:00:00.000Z`),
    plan: () => averba.subscriptions.plan(),
    apply: () => applyPlan(averba),
    rotate: async () => valueOf(await averba.subscriptions.rotate(evento)),
    settle: () => clock.finish(averba.settle()),
    portal: status => faults.add({ kind: 'status', status: Number(status), service: 'portal', path: 'falhas' }),
    'portal clock': (n, unit) => faults.add({ kind: 'clockSkew', service: 'portal', ms: toMs(n, unit) }),
    'portal up': () => faults.clear(),
    'delete at portal': () => deleteAtPortal(world),
    async waiting(n) {
      const types = (await waiting()).map(each => each.type)
      expect(types).toEqual(Array.from({ length: Number(n) }, () => 'portal.listFailures'))
    },
    park: async () => Promise.all((await waiting()).map(({ id }) => averba.effects.park(id))),
    asked: n => expect(requests.filter(each => each.path.includes('/falhas'))).toHaveLength(Number(n)),
    listed: async n => expect(await eventsOf(world, 'portal.failuresListed')).toHaveLength(Number(n)),
    sound: async () => expect((await averba.health()).checks.filter(each => !each.ok)).toEqual([]),
    async inbox(...all) {
      const told = (await inboxOf(averba)).map(({ body, origin, evento: about }) => {
        const { numero } = body as { numero: string } // As `body` makes them.
        return `${numero}${origin === 'recovered' ? '+' : ''}${about === evento ? '' : about}`
      })
      expect(told).toEqual(all)
    },
    async recovered(n) {
      const found = (await inboxOf(averba)).filter(({ origin }) => origin === 'recovered')
      expect(found).toHaveLength(Number(n))
    },
    healthy: async () =>
      expect(await averba.subscriptions.list()).toMatchObject([
        { health: 'healthy', failures: 0, failingSince: null, deletionAt: null, daysLeft: null },
      ]),
    async failing(since = '', daysLeft) {
      const { health, failingSince, daysLeft: left } = await subscription()
      expect([health, failingSince?.slice(0, since.length), `${left}`]).toEqual(['failing', since, daysLeft])
    },
    known: async (n, _on, day = '') => expect(await averba.subscriptions.failures({ day })).toHaveLength(Number(n)),
    failures: async n => expect((await subscription()).failures).toBe(Number(n)),
    deleted: async day =>
      expect(await subscription()).toMatchObject({
        ...{ state: 'deleted', deletedBy: 'portal', health: 'unknown', daysLeft: null },
        ...{ dataExclusao: `${day}T12:00:00.000Z`, motivoExclusao: expect.stringContaining('30 dias') },
      }),
    threats: async (...all) => expect(await threatsOf(averba)).toEqual(all),
  }
  await tellStory(world, steps, story)
}

/** Registers a test for each story, named by what it shows. */
export const tell = (stories: Parameters<typeof tellEach>[0], options?: WorldOptions): void =>
  tellEach(stories, story => play(story, options))
