import { describe, expect, test } from 'vitest'
import type { Averba } from '../../../src/index.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { applyPlan, callPortal, openBeside } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'
import { evento } from './story.ts'

const declared = [{ evento, chaveSecreta: 'chave-um', recreate: 'announce' as const }]

type Answer = (request: Request, forward: () => Promise<Response>) => Promise<Response>
const forwarded: Answer = (_, forward) => forward()
const busy = () => new Response('<html>busy</html>', { status: 503, headers: { 'retry-after': '30' } })
const blocked: Answer = async ({ method }, forward) =>
  method === 'DELETE' ? new Response('{"code":"PUCX-ER1001"}', { status: 422 }) : forward()

/** A portal and one log that is opened several times, with different options. */
async function given() {
  const store = temporaryStore()
  const world = await openWorld()
  let answer = forwarded
  const fetch = (request: Request) => answer(request, () => world.reach.portal(request))
  const open = (subscriptions: typeof declared) => openBeside(world, { store, subscriptions, fetch, schedules: false })
  return {
    ...{ world, clock: world.clock, open },
    answers(next: Answer) {
      answer = next
    },
    /** Applies what is declared, and returns what became of it. */
    async attempt({ subscriptions }: Averba) {
      const applied = await subscriptions.apply(await subscriptions.plan(), { deletions: 'allow' })
      return applied.map(({ status }) => status)
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

test.each(['POST', 'PUT', 'DELETE'])('a %s whose answer was lost stays unknown until a list succeeds', async method => {
  const { world, open, answers, attempt } = await given()
  const first = await open(declared)
  if (method !== 'POST') {
    const [{ id, endpoint } = expect.fail('Nothing was made')] = await applyPlan(first)
    const changed = { id, evento, endpoint, chaveSecreta: 'de outro' }
    if (method === 'PUT') await callPortal(world, 'PUT', changed, `/${id}`)
  }
  await first.close()
  const averba = await open(method === 'DELETE' ? [] : declared)
  answers(loseAnswerTo(method))
  await attempt(averba)
  await averba.settle()
  answers(forwarded)
  expect(await averba.effects.list({ state: 'unknown' })).toHaveLength(1)
  await averba.subscriptions.plan()
  expect(await averba.effects.list({ state: 'unknown' })).toEqual([])
  const [shown] = await averba.subscriptions.list({ inactive: true })
  const expected = method === 'DELETE' ? { state: 'deleted', deletedBy: 'us' } : { state: 'active' }
  expect(shown).toMatchObject(expected)
})

test('the answer to a deferred deletion does not end a later registration', async () => {
  const { world, open, answers, attempt, clock } = await given()
  const first = await open(declared)
  const [{ id } = expect.fail('Nothing was made')] = await applyPlan(first)
  await first.close()
  // The portal blocks us for the hour.
  answers(blocked)
  const second = await open([])
  expect(await attempt(second)).toEqual(['deferred'])
  // It is deleted by hand meanwhile, and registered again.
  await callPortal(world, 'DELETE', { id }, `/${id}`)
  const averba = await open(declared)
  await averba.subscriptions.plan()
  await applyPlan(averba)
  const [ours] = await averba.subscriptions.list()
  expect(ours?.id).not.toBe(id)
  let late = 0
  answers((request, forward) => {
    if (request.method !== 'DELETE') return forward()
    late += 1
    return Promise.resolve(new Response(null, { status: 204 }))
  })
  // By a process that does not declare it yet.
  await passTime({ averba: second, clock }, 3 * hourMs)
  expect(late).toBe(1)
  expect(await averba.subscriptions.list()).toEqual([ours])
  const deletions = (await averba.effects.list()).filter(({ type }) => type === 'portal.deleteSubscription')
  expect(deletions).toMatchObject([{ state: 'settled' }])
})

test('a deletion is never sent by a process that declares its event', async () => {
  const { open, answers, attempt, clock } = await given()
  const first = await open(declared)
  await applyPlan(first)
  const without = await open([])
  let deletions = 0
  answers(blocked)
  expect(await attempt(without)).toEqual(['deferred'])
  await without.close()
  answers((request, forward) => {
    if (request.method === 'DELETE') deletions += 1
    return forward()
  })
  await passTime({ averba: first, clock }, 3 * hourMs)
  expect(deletions).toBe(0)
  const reason = expect.stringContaining('this process declares its event')
  const [waiting] = await first.effects.list({ state: 'open' })
  expect(waiting).toMatchObject({ type: 'portal.deleteSubscription', state: 'deferred', reason })
  // A person decides, or a process of a newer configuration.
  await passTime({ averba: await open([]), clock }, 3 * hourMs)
  expect(deletions).toBe(1)
})

test.each(['POST', 'PUT'])('a %s leaves a process that declares its event only, with its secret', async method => {
  const { world, open, answers, attempt, clock } = await given()
  const first = await open(declared)
  const [made] = method === 'PUT' ? await applyPlan(first) : []
  if (made) await callPortal(world, 'PUT', { ...made, chaveSecreta: 'de outro' }, `/${made.id}`)
  answers(async (request, forward) => (request.method === method ? busy() : forward()))
  expect(await attempt(first)).toEqual(['deferred'])
  await first.close()
  const sent: unknown[] = []
  answers(async (request, forward) => {
    if (request.method === method) sent.push((await request.clone().json()).chaveSecreta)
    return forward()
  })
  await passTime({ averba: await open([]), clock }, 3 * hourMs)
  expect(sent).toEqual([])
  await passTime({ averba: await open(declared), clock }, 3 * hourMs)
  expect(sent).toEqual(['chave-um'])
})

describe('at a portal that accepts a second registration of an event, a deferred one is made once', () => {
  /** A log with a registration to make, and the ways of its requests. */
  const registering = async (answer: Answer) => {
    let posts = 0
    const world = await openWorld({
      policies: { portal: { duplicateEvent: 'accept' } },
      averba: { subscriptions: declared },
      intercept(request, forward) {
        if (request.method === 'POST') posts += 1
        return answer(request, () => forward(request))
      },
    })
    const { averba } = world
    const { hash } = await averba.subscriptions.plan()
    expect(await averba.subscriptions.apply({ hash })).toMatchObject([{ status: 'deferred' }])
    return { world, averba, sent: () => posts, pass: (hours: number) => passTime(world, hours * hourMs) }
  }
  const shown = (averba: Averba) => averba.subscriptions.list({ inactive: true })

  test('when a gateway answers for a portal that has made it', async () => {
    const { averba, sent, pass } = await registering(async (request, forward) => {
      const answer = await forward()
      return request.method === 'POST' ? busy() : answer
    })
    // A call that a person releases counts its attempts anew.
    const [{ id } = expect.fail('No call waits')] = await averba.effects.list({ state: 'open' })
    await averba.effects.park(id)
    await averba.effects.retry(id)
    await pass(3)
    expect(sent()).toBe(1)
    expect(await shown(averba)).toMatchObject([{ state: 'active' }])
    expect(await averba.effects.list({ state: 'open' })).toEqual([])
  })

  test('when a list has shown it meanwhile', async () => {
    const { world, averba, sent, pass } = await registering(async (request, forward) =>
      request.method === 'POST' ? busy() : forward(),
    )
    const ours = { evento, endpoint: 'https://receptor.exemplo.br/averba', chaveSecreta: 'chave-um' }
    await callPortal(world, 'POST', ours)
    await averba.subscriptions.plan()
    expect(await shown(averba)).toMatchObject([{ state: 'active' }])
    await pass(3)
    expect(sent()).toBe(1)
    expect(await averba.effects.list({ state: 'open' })).toEqual([])
    // A plan tells of a second one that others have made.
    await callPortal(world, 'POST', ours)
    const reason = expect.stringMatching(/^a second one with our secrets/)
    const { changes } = await averba.subscriptions.plan()
    expect(changes).toMatchObject([{ action: 'leave' }, { action: 'leave', evento, reason }])
  })

  test('and made at last when the list shows none, or cannot be read before', async () => {
    let [isDown, wasAsked] = [true, false]
    const { averba, sent, pass } = await registering(async (request, forward) => {
      wasAsked ||= request.method === 'POST'
      return isDown && wasAsked ? busy() : forward()
    })
    await pass(1)
    expect(sent()).toBe(1)
    isDown = false
    await pass(3)
    expect(sent()).toBe(2)
    expect(await shown(averba)).toMatchObject([{ state: 'active' }])
  })
})
