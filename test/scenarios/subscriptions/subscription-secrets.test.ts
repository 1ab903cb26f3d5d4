import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { staticHeaders, valueOf } from '../../../src/index.ts'
import type { simulate } from '../../../src/simulation/index.ts'
import { applyPlan, openBeside, secretsAt, statusOf } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const [one, two] = ['dimp-situacao-import', 'talp-altsit-lpco-anu'] as const
const subscriptions = [{ evento: one }, { evento: two }]
const publicUrl = 'https://receptor.exemplo.br/averba'
const master = 'um-segredo-mestre-de-trinta-e-dois-ou-mais'
const receiver = { publicUrl, secretFrom: master }
const hourMs = 3_600_000

async function given(options: Parameters<typeof simulate>[0] = {}) {
  const world = await openWorld({ ...options, averba: { subscriptions, receiver, ...options.averba } })
  await applyPlan(world.averba)
  return world
}

test('derived secrets are printable, short and different for each event', async () => {
  const world = await given()
  const secrets = await secretsAt(world)
  expect(Object.values(secrets)).toEqual([expect.stringMatching(/^[\w-]{43}$/), expect.stringMatching(/^[\w-]{43}$/)])
  expect(await statusOf(world.averba, secrets[one] ?? '')).toBe(200)
  expect(await statusOf(world.averba, secrets[two] ?? '')).toBe(401)
  expect(await statusOf(world.averba, secrets[two] ?? '', two)).toBe(200)
})

test('neither the master nor a derived secret is stored', async () => {
  const store = temporaryStore()
  const world = await given({ averba: { store } })
  valueOf(await world.averba.subscriptions.rotate(one))
  const secrets = Object.values(await secretsAt(world))
  await world.close()
  const bytes = readFileSync(store, 'latin1')
  for (const secret of [...secrets, master]) expect(bytes.includes(secret)).toBe(false)
})

test('a rotation sends the next generation and accepts the old one for another hour', async () => {
  const world = await given()
  const { averba, clock } = world
  const before = (await secretsAt(world))[one] ?? ''
  expect(valueOf(await averba.subscriptions.rotate(one))).toMatchObject({ generation: 2, state: 'active' })
  const after = (await secretsAt(world))[one] ?? ''
  expect(after).not.toBe(before)
  expect([await statusOf(world.averba, before), await statusOf(world.averba, after)]).toEqual([200, 200])
  expect((await averba.subscriptions.plan()).changes.map(each => each.action)).toEqual(['leave', 'leave'])
  await clock.advance(hourMs + 2_000)
  expect([await statusOf(world.averba, before), await statusOf(world.averba, after)]).toEqual([401, 200])
  // The other event keeps its own.
  expect(await statusOf(world.averba, (await secretsAt(world))[two] ?? '', two)).toBe(200)
})

test('a rotation with another declared endpoint is refused until plan and apply', async () => {
  const store = temporaryStore()
  const world = await given({ averba: { store } })
  const before = await secretsAt(world)
  const moved = await openBeside(world, {
    ...{ store, schedules: false, subscriptions },
    receiver: { ...receiver, publicUrl: 'https://novo.exemplo.br/averba' },
  })
  await expect(moved.subscriptions.rotate(one)).rejects.toMatchObject({
    code: 'REFUSED',
    message: expect.stringContaining('plan and apply first'),
  })
  expect(await secretsAt(world)).toEqual(before)
  await applyPlan(moved)
  expect(valueOf(await moved.subscriptions.rotate(one))).toMatchObject({
    endpoint: 'https://novo.exemplo.br/averba',
    generation: 2,
  })
})

test('a delivery during the change of a secret is accepted with either secret', async () => {
  const taken: number[] = []
  const world = await given({
    intercept: async (request, forward) => {
      if (request.method !== 'PUT') return forward(request)
      const before = (await secretsAt(world))[one] ?? ''
      taken.push(await statusOf(world.averba, before))
      const response = await forward(request)
      // The portal has changed it, and we have no answer yet.
      taken.push(
        await statusOf(world.averba, (await secretsAt(world))[one] ?? ''),
        await statusOf(world.averba, before),
      )
      return response
    },
  })
  valueOf(await world.averba.subscriptions.rotate(one))
  expect(taken).toEqual([200, 200, 200])
})

test('another process of the store accepts a rotated secret at once', async () => {
  const store = temporaryStore()
  const world = await given({ averba: { store } })
  const other = await openEngine({
    store,
    clock: world.clock,
    subscriptions,
    receiver,
  })
  const first = (await secretsAt(world))[one] ?? ''
  expect(await statusOf(other, first)).toBe(200)
  valueOf(await world.averba.subscriptions.rotate(one))
  const second = (await secretsAt(world))[one] ?? ''
  expect(await statusOf(other, second)).toBe(200)
  await world.clock.advance(1_000)
  valueOf(await world.averba.subscriptions.rotate(one))
  expect([await statusOf(other, (await secretsAt(world))[one] ?? ''), await statusOf(other, second)]).toEqual([
    200, 200,
  ])
})

test.each([
  ['lose', 2],
  ['reset', 1],
] as const)('a rotation whose answer was lost (%s) ends with the list, at generation %i', async (kind, generation) => {
  const world = await given()
  const { averba, faults } = world
  await faults.add({ kind, service: 'portal', method: 'PUT', times: 1 })
  const outcome = await averba.subscriptions.rotate(one)
  expect(outcome.status).toBe(generation === 2 ? 'settled' : 'declined')
  expect((await averba.subscriptions.list())[0]).toMatchObject({ generation, areSecretsOurs: true })
  expect((await averba.subscriptions.plan()).changes.map(each => each.action)).toEqual(['leave', 'leave'])
  expect(await statusOf(world.averba, (await secretsAt(world))[one] ?? '')).toBe(200)
})

test('another log with the same master adopts subscriptions of any generation', async () => {
  const world = await given()
  valueOf(await world.averba.subscriptions.rotate(one))
  valueOf(await world.averba.subscriptions.rotate(one))
  const other = await openBeside(world, { subscriptions, receiver })
  const plan = await other.subscriptions.plan()
  expect(plan.changes.map(each => each.action)).toEqual(['adopt', 'adopt'])
  for (const each of await other.subscriptions.apply(plan)) valueOf(each)
  expect(await other.subscriptions.list()).toMatchObject([{ generation: 3 }, { generation: 1 }])
  expect((await other.subscriptions.plan()).changes.map(each => each.action)).toEqual(['leave', 'leave'])
})

test('another master is drift of every derived secret', async () => {
  const store = temporaryStore()
  const world = await given({ averba: { store } })
  const other = await openBeside(world, {
    store,
    subscriptions,
    receiver: { publicUrl, secretFrom: master.toUpperCase() },
  })
  const plan = await other.subscriptions.plan()
  expect(plan.changes.map(each => each.reason)).toEqual([
    'the portal has other secrets',
    'the portal has other secrets',
  ])
})

test('a given secret is not rotated, and a short master is refused', async () => {
  const given = await openWorld({
    averba: { subscriptions: [{ evento: one, chaveSecreta: 'dada' }], receiver },
  })
  await expect(given.averba.subscriptions.rotate(one)).rejects.toMatchObject({ code: 'REFUSED' })
  await given.close()
  const short = await openWorld({ averba: { subscriptions, receiver: { publicUrl, secretFrom: 'curto' } } })
  await expect(short.averba.subscriptions.plan()).rejects.toMatchObject({ code: 'MISCONFIGURED' })
})

test('a page of a proxy in front of the portal confirms no new secret and no deletion', async () => {
  const store = temporaryStore()
  const page = () => new Response('<html>Manutenção</html>', { headers: { 'content-type': 'text/html' } })
  const world = await given({
    store,
    intercept: async (request, forward) => (request.method === 'PUT' ? page() : forward(request)),
  })
  const before = await secretsAt(world)
  expect(await world.averba.subscriptions.rotate(one)).toMatchObject({ status: 'declined' })
  // A secret is accepted as long as the portal has it.
  await world.clock.advance(2 * hourMs)
  expect(await statusOf(world.averba, before[one] ?? '')).toBe(200)
  const baseUrl = 'https://portal.exemplo.br'
  const portal = { baseUrl, authenticate: staticHeaders({ authorization: 'sessao-de-exemplo' }) }
  const fetch = async (request: Request) => (request.method === 'DELETE' ? page() : world.reach.portal(request))
  const without = await openEngine({ store, clock: world.clock, fetch, portal, receiver })
  const plan = await without.subscriptions.plan()
  const deleted = await without.subscriptions.apply(plan, { deletions: 'allow' })
  expect(deleted.map(each => each.status)).toEqual(['declined', 'declined'])
  expect((await without.subscriptions.list()).map(each => each.state)).toEqual(['active', 'active'])
})

test('two rotations within an hour leave two former secrets, each for an hour', async () => {
  const world = await given()
  const { averba, clock } = world
  const held = async () => (await secretsAt(world))[one] ?? ''
  const first = await held()
  valueOf(await averba.subscriptions.rotate(one))
  const second = await held()
  await clock.advance(30 * 60_000)
  valueOf(await averba.subscriptions.rotate(one))
  await clock.advance(2_000)
  const taken = async () => [await statusOf(world.averba, first), await statusOf(world.averba, second)]
  expect(await taken()).toEqual([200, 200])
  await clock.advance(30 * 60_000)
  expect(await taken()).toEqual([401, 200])
  await clock.advance(30 * 60_000)
  expect(await taken()).toEqual([401, 401])
  expect(await statusOf(world.averba, await held())).toBe(200)
})
