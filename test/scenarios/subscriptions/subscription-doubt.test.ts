import { describe, expect, test } from 'vitest'
import { type Averba, valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const declared = [{ evento, chaveSecreta: 'chave-um', recreate: 'announce' as const }]

type Answer = (request: Request, forward: () => Promise<Response>) => Promise<Response>
const forwarded: Answer = (_, forward) => forward()

/** A portal and one log that is opened several times, with different options. */
async function given() {
  const store = temporaryStore()
  const world = await openWorld()
  let answer = forwarded
  let seed = 2
  const open = async (subscriptions: typeof declared) => {
    const fetch = (request: Request) => answer(request, () => world.reach.portal(request))
    const { averba } = await openWorld({
      seed: seed++,
      averba: { store, clock: world.clock, subscriptions, fetch },
    })
    const apply = async () => {
      const plan = await averba.subscriptions.plan()
      return averba.subscriptions.apply(plan, { deletions: 'allow' })
    }
    return { averba, apply }
  }
  return {
    ...world,
    open,
    answers(next: Answer) {
      answer = next
    },
  }
}

/** Loses the answer to a call, and declines the list that is to find its outcome. */
function loseAnswerTo(method: string): Answer {
  const left = new Set([method, 'GET'])
  return async ({ method: asked, url }, forward) => {
    const isList = asked === 'GET' && new URL(url).pathname.endsWith('/webhook')
    if (isList && !left.has(method) && left.delete('GET')) return new Response('{}', { status: 403 })
    const answer = await forward()
    if (asked === method && left.delete(method)) throw new TypeError('the connection broke')
    return answer
  }
}

/** Changes or deletes a subscription at the portal by hand. */
async function changeAtPortal(
  { portal }: Pick<World, 'portal'>,
  method: string,
  body: { id?: number | null | undefined; chaveSecreta?: string },
) {
  const headers = { 'content-type': 'application/json', authorization: 'sessao-de-exemplo' }
  const url = `https://portal.exemplo.br/portal/api/ext/webhook/${body.id}`
  const request = new Request(url, { method, headers, body: JSON.stringify(body) })
  expect((await portal.fetch(request)).status).toBe(200)
}

test.each(['POST', 'PUT', 'DELETE'] as const)(
  'a %s whose answer was lost stays unknown until a list succeeds',
  async method => {
    const { open, answers, ...world } = await given()
    const first = await open(declared)
    if (method !== 'POST') {
      for (const made of await first.apply()) valueOf(made)
      const [held] = await first.averba.subscriptions.list()
      if (method === 'PUT') await changeAtPortal(world, 'PUT', { ...held, chaveSecreta: 'de outro' })
    }
    await first.averba.close()
    const { averba, apply } = await open(method === 'DELETE' ? [] : declared)
    answers(loseAnswerTo(method))
    await apply()
    await averba.settle()
    expect(await averba.effects.list({ state: 'unknown' })).toHaveLength(1)
    answers(forwarded)
    await averba.subscriptions.plan()
    expect(await averba.effects.list({ state: 'unknown' })).toEqual([])
    const [shown] = await averba.subscriptions.list({ inactive: true })
    const expected = method === 'DELETE' ? { state: 'deleted', deletedBy: 'us' } : { state: 'active' }
    expect(shown).toMatchObject(expected)
  },
)

test('the answer to a deferred deletion does not end a later registration', async () => {
  const { open, answers, clock, ...world } = await given()
  const first = await open(declared)
  for (const made of await first.apply()) valueOf(made)
  const [gone] = await first.averba.subscriptions.list()
  await first.averba.close()
  // The portal blocks us for the hour.
  const blocked = () => new Response('{"code":"PUCX-ER1001"}', { status: 422 })
  answers((request, forward) => (request.method === 'DELETE' ? Promise.resolve(blocked()) : forward()))
  const second = await open([])
  expect(await second.apply()).toMatchObject([{ status: 'deferred' }])
  // It is deleted by hand meanwhile, and registered again.
  await changeAtPortal(world, 'DELETE', { id: gone?.id })
  const { averba, apply } = await open(declared)
  await averba.subscriptions.plan()
  for (const made of await apply()) valueOf(made)
  const [ours] = await averba.subscriptions.list()
  expect(ours?.id).not.toBe(gone?.id)
  let late = 0
  answers((request, forward) => {
    if (request.method !== 'DELETE') return forward()
    late += 1
    return Promise.resolve(new Response(null, { status: 204 }))
  })
  // By a process that does not declare it yet.
  await passTime({ averba: second.averba, clock }, 3 * hourMs)
  expect(late).toBe(1)
  expect(await averba.subscriptions.list()).toEqual([ours])
  const deletions = (await averba.effects.list()).filter(({ type }) => type === 'portal.deleteSubscription')
  expect(deletions).toMatchObject([{ state: 'settled' }])
})

test('a deletion is never sent by a process that declares its event', async () => {
  const { open, answers, clock } = await given()
  const first = await open(declared)
  for (const made of await first.apply()) valueOf(made)
  const without = await open([])
  let deletions = 0
  const blocked = async () => new Response('{"code":"PUCX-ER1001"}', { status: 422 })
  answers((request, forward) => (request.method === 'DELETE' ? blocked() : forward()))
  expect(await without.apply()).toMatchObject([{ status: 'deferred' }])
  await without.averba.close()
  answers((request, forward) => {
    if (request.method === 'DELETE') deletions += 1
    return forward()
  })
  await passTime({ averba: first.averba, clock }, 3 * hourMs)
  expect(deletions).toBe(0)
  const reason = expect.stringContaining('this process declares its event')
  const [waiting] = await first.averba.effects.list({ state: 'open' })
  expect(waiting).toMatchObject({ type: 'portal.deleteSubscription', state: 'deferred', reason })
  // A person decides, or a process of a newer configuration.
  const newer = await open([])
  await passTime({ averba: newer.averba, clock }, 3 * hourMs)
  expect(deletions).toBe(1)
})

describe('at a portal that accepts a second registration of an event, a deferred one is made once', () => {
  /** A log with a registration to make, and the ways of its requests. */
  const registering = async (answer: Answer) => {
    const { portal, reach, clock } = await openWorld({ policies: { portal: { duplicateEvent: 'accept' } } })
    let posts = 0
    const fetch = (request: Request) => {
      if (request.method === 'POST') posts += 1
      return answer(request, () => reach.portal(request))
    }
    const { averba } = await openWorld({ averba: { clock, subscriptions: declared, fetch } })
    const { hash } = await averba.subscriptions.plan()
    expect(await averba.subscriptions.apply({ hash })).toMatchObject([{ status: 'deferred' }])
    return { averba, clock, portal, sent: () => posts }
  }
  const busy = () => new Response('<html>busy</html>', { status: 503, headers: { 'retry-after': '30' } })
  const shown = (averba: Averba) => averba.subscriptions.list({ inactive: true })

  test('when a gateway answers for a portal that has made it', async () => {
    const { averba, clock, sent } = await registering(async (request, forward) => {
      const answer = await forward()
      return request.method === 'POST' ? busy() : answer
    })
    await passTime({ averba, clock }, 3 * hourMs)
    expect(sent()).toBe(1)
    expect(await shown(averba)).toMatchObject([{ state: 'active' }])
    expect(await averba.effects.list({ state: 'open' })).toEqual([])
  })

  test('when a list has shown it meanwhile', async () => {
    const { averba, clock, portal, sent } = await registering(async (request, forward) =>
      request.method === 'POST' ? busy() : forward(),
    )
    const headers = { 'content-type': 'application/json', authorization: 'sessao-de-exemplo' }
    const body = JSON.stringify({ evento, endpoint: 'https://receptor.exemplo.br/averba', chaveSecreta: 'chave-um' })
    const url = 'https://portal.exemplo.br/portal/api/ext/webhook'
    const subscribe = () => portal.fetch(new Request(url, { method: 'POST', headers, body }))
    expect((await subscribe()).status).toBe(200)
    await averba.subscriptions.plan()
    expect(await shown(averba)).toMatchObject([{ state: 'active' }])
    await passTime({ averba, clock }, 3 * hourMs)
    expect(sent()).toBe(1)
    expect(await averba.effects.list({ state: 'open' })).toEqual([])
    // A plan tells of a second one that others have made.
    expect((await subscribe()).status).toBe(200)
    const reason = expect.stringMatching(/^a second one with our secrets/)
    const { changes } = await averba.subscriptions.plan()
    expect(changes).toMatchObject([{ action: 'leave' }, { action: 'leave', evento, reason }])
  })

  test('and made at last when the list shows none, or cannot be read before', async () => {
    let [isDown, wasAsked] = [true, false]
    const { averba, clock, sent } = await registering(async (request, forward) => {
      wasAsked ||= request.method === 'POST'
      return isDown && wasAsked ? busy() : forward()
    })
    await passTime({ averba, clock }, hourMs)
    expect(sent()).toBe(1)
    isDown = false
    await passTime({ averba, clock }, 3 * hourMs)
    expect(sent()).toBe(2)
    expect(await shown(averba)).toMatchObject([{ state: 'active' }])
  })
})
