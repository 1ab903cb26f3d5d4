import { copyFileSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { backupStore, restoreStore, valueOf } from '../../../src/index.ts'
import type { WorldOptions } from '../../../src/simulation/index.ts'
import { hourMs, minuteMs } from '../../support/pass-time.ts'
import { actionsOf, applyPlan, callPortal, openBeside, secretsAt, statusOf } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const [one, two] = ['dimp-situacao-import', 'talp-altsit-lpco-anu'] as const
const subscriptions = [{ evento: one }, { evento: two }]
const publicUrl = 'https://receptor.exemplo.br/averba'
const master = 'um-segredo-mestre-de-trinta-e-dois-ou-mais'
const receiver = { publicUrl, secretFrom: master }

async function given(options: WorldOptions = {}) {
  const world = await openWorld({ ...options, averba: { subscriptions, receiver, ...options.averba } })
  const { averba, clock } = world
  await applyPlan(averba)
  return {
    ...{ world, averba, clock },
    /** The secret that the portal has for an event. */
    secretAt: async (evento: string = one) => (await secretsAt(world))[evento] ?? expect.fail('It has none'),
    rotate: async () => valueOf(await averba.subscriptions.rotate(one)),
  }
}

test('derived secrets are printable, short and different for each event, and neither they nor the master are stored', async () => {
  const store = temporaryStore()
  const { world, averba, secretAt, rotate } = await given({ averba: { store } })
  const [first, second] = [await secretAt(one), await secretAt(two)]
  for (const secret of [first, second]) expect(secret).toMatch(/^[\w-]{43}$/)
  expect(await statusOf(averba, first)).toBe(200)
  expect(await statusOf(averba, second)).toBe(401)
  expect(await statusOf(averba, second, two)).toBe(200)
  await rotate()
  const secrets = Object.values(await secretsAt(world))
  await world.close()
  const bytes = readFileSync(store, 'latin1')
  for (const secret of [...secrets, master]) expect(bytes.includes(secret)).toBe(false)
})

test('tenants with one master have secrets and logs of their own, and none accepts those of another', async () => {
  // The address derives other secrets from it.
  const open = (name: string) => given({ averba: { receiver: { ...receiver, publicUrl: `${publicUrl}/${name}` } } })
  const [north, south] = [await open('norte'), await open('sul')]
  const [ofNorth, ofSouth] = [await north.secretAt(), await south.secretAt()]
  expect([await statusOf(north.averba, ofNorth), await statusOf(south.averba, ofSouth)]).toEqual([200, 200])
  expect([await statusOf(north.averba, ofSouth), await statusOf(south.averba, ofNorth)]).toEqual([401, 401])
  for (const { averba } of [north, south]) expect(await Array.fromAsync(averba.notifications.list())).toHaveLength(1)
})

test('a rotation with another declared endpoint is refused until plan and apply', async () => {
  const store = temporaryStore()
  const { world } = await given({ averba: { store } })
  const before = await secretsAt(world)
  const endpoint = 'https://novo.exemplo.br/averba'
  const moved = await openBeside(world, { store, subscriptions, receiver: { ...receiver, publicUrl: endpoint } })
  const message = expect.stringContaining('plan and apply first')
  await expect(moved.subscriptions.rotate(one)).rejects.toMatchObject({ code: 'REFUSED', message })
  expect(await secretsAt(world)).toEqual(before)
  await applyPlan(moved)
  expect(valueOf(await moved.subscriptions.rotate(one))).toMatchObject({ endpoint, generation: 2 })
})

test('a delivery during the change of a secret is accepted with either secret', async () => {
  const taken: number[] = []
  const { averba, secretAt, rotate } = await given({
    intercept: async (request, forward) => {
      if (request.method !== 'PUT') return forward(request)
      const before = await secretAt()
      taken.push(await statusOf(averba, before))
      const response = await forward(request)
      // The portal has changed it, and we have no answer yet.
      taken.push(await statusOf(averba, await secretAt()), await statusOf(averba, before))
      return response
    },
  })
  await rotate()
  expect(taken).toEqual([200, 200, 200])
})

test('another process of the store accepts a rotated secret at once', async () => {
  const store = temporaryStore()
  const { world, clock, secretAt, rotate } = await given({ averba: { store } })
  const other = await openBeside(world, { store, subscriptions, receiver })
  expect(await statusOf(other, await secretAt())).toBe(200)
  await rotate()
  const second = await secretAt()
  expect(await statusOf(other, second)).toBe(200)
  await clock.advance(1_000)
  await rotate()
  expect([await statusOf(other, await secretAt()), await statusOf(other, second)]).toEqual([200, 200])
})

test.each([
  ['lose', 2],
  ['reset', 1],
] as const)('a rotation whose answer was lost (%s) ends with the list, at generation %i', async (kind, generation) => {
  const { world, averba, secretAt } = await given()
  await world.faults.add({ kind, service: 'portal', method: 'PUT', times: 1 })
  const outcome = await averba.subscriptions.rotate(one)
  expect(outcome.status).toBe(generation === 2 ? 'settled' : 'declined')
  expect((await averba.subscriptions.list())[0]).toMatchObject({ generation, areSecretsOurs: true })
  expect(await actionsOf(averba)).toEqual(['leave', 'leave'])
  expect(await statusOf(averba, await secretAt())).toBe(200)
})

test('a given secret is not rotated, and a short master is refused', async () => {
  const given = await openWorld({ averba: { subscriptions: [{ evento: one, chaveSecreta: 'dada' }], receiver } })
  await expect(given.averba.subscriptions.rotate(one)).rejects.toMatchObject({ code: 'REFUSED' })
  const short = await openWorld({ averba: { subscriptions, receiver: { publicUrl, secretFrom: 'curto' } } })
  await expect(short.averba.subscriptions.plan()).rejects.toMatchObject({ code: 'MISCONFIGURED' })
})

test('a page of a proxy in front of the portal confirms no new secret and no deletion', async () => {
  const store = temporaryStore()
  const page = () => new Response('<html>Manutenção</html>', { headers: { 'content-type': 'text/html' } })
  const { world, averba, clock, secretAt } = await given({
    store,
    intercept: async (request, forward) => (request.method === 'PUT' ? page() : forward(request)),
  })
  const before = await secretAt()
  expect(await averba.subscriptions.rotate(one)).toMatchObject({ status: 'declined' })
  // A secret is accepted as long as the portal has it.
  await clock.advance(2 * hourMs)
  expect(await statusOf(averba, before)).toBe(200)
  const fetch = async (request: Request) => (request.method === 'DELETE' ? page() : world.reach.portal(request))
  const without = await openBeside(world, { store, fetch, receiver })
  const plan = await without.subscriptions.plan()
  const deleted = await without.subscriptions.apply(plan, { deletions: 'allow' })
  expect(deleted.map(each => each.status)).toEqual(['declined', 'declined'])
  expect((await without.subscriptions.list()).map(each => each.state)).toEqual(['active', 'active'])
})

test('a rotation sends the next generation, and each former secret is accepted for another hour', async () => {
  const { averba, clock, secretAt, rotate } = await given()
  const first = await secretAt()
  expect(await rotate()).toMatchObject({ generation: 2, state: 'active' })
  const second = await secretAt()
  expect(await actionsOf(averba)).toEqual(['leave', 'leave'])
  await clock.advance(30 * minuteMs)
  await rotate()
  const third = await secretAt()
  expect(new Set([first, second, third]).size).toBe(3)
  await clock.advance(2_000)
  const taken = () => Promise.all([first, second, third].map(secret => statusOf(averba, secret)))
  expect(await taken()).toEqual([200, 200, 200])
  await clock.advance(30 * minuteMs)
  expect(await taken()).toEqual([401, 200, 200])
  await clock.advance(30 * minuteMs)
  expect(await taken()).toEqual([401, 401, 200])
  // The other event keeps its own.
  expect(await statusOf(averba, await secretAt(two), two)).toBe(200)
})

/** A log restored from before the rotations; the first secret has leaked since. */
async function givenRestored(rotations: number) {
  const [store, restored] = [temporaryStore(), temporaryStore()]
  const { world, averba: before, secretAt, rotate } = await given({ averba: { store } })
  const leaked = await secretAt()
  await backupStore({ store, to: `${store}.backup` })
  for (let made = 0; made < rotations; made++) await rotate()
  await before.close()
  copyFileSync(`${store}.keys`, `${restored}.keys`)
  await restoreStore({ backup: `${store}.backup`, store: restored, acceptRollback: true, clock: world.clock })
  const averba = await openBeside(world, { store: restored, subscriptions, receiver })
  return { world, averba, leaked, current: await secretAt(), secretAt }
}

test.each([1, 20])('a secret rotated %i times since a backup is never rotated back', async rotations => {
  const { world, averba, leaked, current, secretAt } = await givenRestored(rotations)
  const asDeclared = { action: 'leave', reason: 'it is as declared' }
  expect((await averba.subscriptions.plan()).changes).toMatchObject([asDeclared, asDeclared])
  const rotated = { generation: rotations + 1, areSecretsOurs: true, state: 'active' }
  expect(await averba.subscriptions.list()).toMatchObject([rotated, { generation: 1 }])
  await world.clock.advance(2_000) // What the receiver knows is a second old at most.
  expect(await statusOf(averba, current)).toBe(200)
  expect(await statusOf(averba, leaked)).toBe(401)
  await applyPlan(averba)
  expect(await secretAt()).toBe(current)
  expect(valueOf(await averba.subscriptions.rotate(one))).toMatchObject({ generation: rotations + 2 })
})

test('a subscription deleted since a backup is registered without an earlier secret', async () => {
  const { world, averba, leaked, current, secretAt } = await givenRestored(2)
  const [{ id } = expect.fail('There is none')] = await averba.subscriptions.list()
  await callPortal(world, 'DELETE', { id }, `/${id}`)
  await applyPlan(averba)
  expect((await averba.subscriptions.list())[0]).toMatchObject({ state: 'active', generation: 3 })
  expect(await secretAt()).toBe(current)
  await world.clock.advance(2_000)
  expect(await statusOf(averba, leaked)).toBe(401)
})
