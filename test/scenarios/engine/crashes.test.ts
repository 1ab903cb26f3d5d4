import { expect, test } from 'vitest'
import { type SubjectRef, valueOf } from '../../../src/index.ts'
import { scenario, type World } from '../../../src/simulation/index.ts'
import { answering } from '../../support/answers.ts'
import { isChange } from '../../support/consent-requests.ts'
import { readConsent } from '../../support/given-consent.ts'
import { passTime } from '../../support/pass-time.ts'
import { applyPlan, deliver } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'

const leaseMs = 60_000
const subscriptions = [{ evento: 'dimp-situacao-import' }]

/** A process that dies during a request. `done` says whether the service did the work. */
async function givenCrashDuring(isTheOne: (request: Request) => boolean, done: boolean): Promise<World> {
  let crashes = 0
  const intercept = answering(isTheOne, async (request, forward) => {
    if (crashes++ > 0) return undefined
    if (done) await forward(request)
    world.crash()
    return new Response()
  })
  const world: World = await openWorld({ averba: { subscriptions }, intercept })
  return world
}

/** The next process begins when the dead one’s leases have expired. */
async function restart(world: World, afterMs = leaseMs + 1): Promise<void> {
  await world.clock.runUntil(() => world.isDown)
  await world.clock.advance(afterMs)
  await world.restart()
}

/** A consent as it was last read. */
const lastRead = async ({ averba }: World, { subject, id }: { subject: SubjectRef; id: string }) =>
  (await averba.consents.list({ subject })).find(each => each.id === id)

test.each([
  [true, 'settled', 'ATIVO', 'known'],
  [false, 'declined', 'PENDENTE', 'changing'],
])('an approval in progress at a crash is read back, and asked for again if not done (done: %s)', async (...given) => {
  const [done, state, status, knowledge] = given
  const world = await givenCrashDuring(isChange, done)
  const { which } = await readConsent(world, 'PENDENTE')
  const approve = () => world.averba.consents.approve(which, { commandId: 'c1' })
  void approve()
  await restart(world)
  await world.averba.settle()
  // The service may still do it within a minute.
  await passTime(world, 60_000)
  expect(await approve()).toMatchObject({ status: state, replayed: true })
  expect(await lastRead(world, which)).toMatchObject({ status, knowledge })
  await passTime(world, 60_000)
  expect(await lastRead(world, which)).toMatchObject({ status: 'ATIVO', knowledge: 'known' })
  expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('wherever the process dies, a consent is as at the service, and was changed there at most once', async () => {
  const { crashes } = await scenario({
    given: async world => (await readConsent(world, 'PENDENTE')).which,
    when: ({ averba }, which) => averba.consents.approve(which, { commandId: 'c1' }),
    survivesCrashes: true,
    expected: {
      result: { status: 'settled' },
      always: async (world, which) => {
        const before = await lastRead(world, which)
        valueOf(await world.averba.consents.sync(which))
        const { status } = (await lastRead(world, which)) ?? {}
        expect(before).toMatchObject({ status, knowledge: 'known' })
        expect(world.requests.filter(isChange).length).toBeLessThanOrEqual(1)
      },
    },
  })
  expect(crashes).toBeGreaterThan(5)
})

test('wherever the process dies, an acknowledged notification is stored exactly once', async () => {
  await scenario({
    world: { averba: { subscriptions } },
    given: ({ averba }) => applyPlan(averba),
    when: world => deliver(world, {}),
    survivesCrashes: true,
    expected: {
      result: [{ isDelivered: true }],
      events: [{ type: 'notification.received' }],
      always: async ({ averba, portal }) => {
        const stored = await Array.fromAsync(averba.notifications.list())
        expect(stored.length).toBe(portal.deliveries.succeeded > 0 ? 1 : 0)
      },
    },
  })
})

test('a registration in progress at a crash that is found before its lease expires leaves no doubt', async () => {
  const isSubscribe = (request: Request) => request.method === 'POST' && request.url.includes('/webhook')
  const world = await givenCrashDuring(isSubscribe, true)
  void applyPlan(world.averba)
  await restart(world, 1_000)
  await applyPlan(world.averba)
  expect(await world.averba.subscriptions.list()).toMatchObject([{ id: 1001, state: 'active' }])
  await passTime(world, leaseMs)
  const states = (await world.averba.effects.list()).map(each => each.state)
  expect(new Set(states)).toEqual(new Set(['settled']))
})
