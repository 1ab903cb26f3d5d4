import { expect, test } from 'vitest'
import type { ApplyResult, Averba } from '../../../src/index.ts'
import { samples, type World, type WorldOptions } from '../../../src/simulation/index.ts'
import { eventsOf } from '../../support/events-of.ts'
import { dayMs } from '../../support/pass-time.ts'
import { actionsOf, applyPlan, callPortal, deliver, openBeside } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'
import { lose } from './story.ts'

const [one, two] = ['dimp-situacao-import', 'talp-altsit-lpco-anu'] as const
const first = { evento: one, chaveSecreta: 'chave-um', chaveAutenticacao: 'Basic YTpi' }
const second = { evento: two, chaveSecreta: 'chave-dois' }
const subscriptions = [first, second]
const foreign = { endpoint: 'https://outro.exemplo.br/', chaveSecreta: 'deles' }

/** How many requests with a method the portal got. */
const sent = ({ requests }: World, method: string) =>
  requests.filter(each => each.service === 'portal' && each.method === method).length

/** Has the portal answer its list with what is returned, while something is. */
function listing(list: () => unknown[] | undefined): NonNullable<WorldOptions['intercept']> {
  return async (request, forward) => {
    const answer = await forward(request)
    const listed = request.method === 'GET' ? list() : undefined
    return listed ? Response.json(listed) : answer
  }
}

/** Applies the first plan of an engine, and returns the id of its first subscription. */
async function applyFirst(averba: Averba): Promise<number> {
  const [made] = await applyPlan(averba)
  return made?.id ?? expect.fail('Nothing was made')
}

test('an event of a foreign subscription is planned as taken and left alone by apply', async () => {
  const world = await openWorld({ averba: { subscriptions } })
  // Even one with our secrets.
  const { id } = await callPortal(world, 'POST', { ...first, endpoint: foreign.endpoint })
  const plan = await world.averba.subscriptions.plan()
  const reason = 'a foreign subscription has the event'
  expect(plan.changes).toMatchObject([
    { evento: one, action: 'leave', reason, isTaken: true, id },
    { evento: two, action: 'create', isTaken: false, id: null },
  ])
  expect(plan.toString()).toContain(`taken ${one}`)
  const applied = await world.averba.subscriptions.apply(plan)
  expect(applied.map(each => each.change.evento)).toEqual([two])
  expect(sent(world, 'PUT')).toBe(0)
})

test('with takeOver a taken event becomes ours, with our endpoint and all keys', async () => {
  const world = await openWorld({ averba: { subscriptions } })
  const { averba } = world
  const { id } = await callPortal(world, 'POST', { evento: two, ...foreign, chaveAutenticacao: 'deles' })
  expect(await applyPlan(averba, { takeOver: true })).toHaveLength(2)
  expect(await averba.subscriptions.list()).toMatchObject([
    { evento: one },
    { evento: two, id, endpoint: 'https://receptor.exemplo.br/averba', areSecretsOurs: true },
  ])
  expect(await actionsOf(averba)).toEqual(['leave', 'leave'])
  // Its deliveries are accepted: the key that we do not declare was cleared.
  expect(await deliver(world, {}, two)).toMatchObject([{ isDelivered: true }])
  const events = await eventsOf(world, 'subscription.registered')
  expect(events).toMatchObject([{ data: { how: 'created' } }, { data: { how: 'takenOver' } }])
})

test.each(['clear', 'keep'] as const)(
  'a key that is no longer declared is removed by one change if omitted fields %s',
  async omittedFields => {
    const store = temporaryStore()
    const world = await openWorld({ policies: { portal: { omittedFields } } })
    const before = await openBeside(world, { store, subscriptions: [first] })
    await applyPlan(before)
    await before.close()
    const after = await openBeside(world, { store, subscriptions: [{ evento: one, chaveSecreta: 'chave-um' }] })
    const { changes } = await after.subscriptions.plan()
    expect(changes).toMatchObject([{ action: 'change', reason: 'the portal has other secrets' }])
    await applyPlan(after)
    expect(await actionsOf(after)).toEqual(['leave'])
  },
)

test('two concurrent applies make each subscription once, and a refusal stops nothing', async () => {
  let meanwhile: Promise<ApplyResult[]> | undefined
  const world: World = await openWorld({
    averba: { subscriptions },
    async intercept(request, forward) {
      // The second apply starts while the first is under way.
      if (request.method === 'POST' && !meanwhile) {
        meanwhile = world.averba.subscriptions.apply(plan)
        await meanwhile
      }
      return forward(request)
    },
  })
  const plan = await world.averba.subscriptions.plan()
  const applied = await world.averba.subscriptions.apply(plan)
  const codes = (all: ApplyResult[] = []) =>
    all.map(each => (each.status === 'declined' ? each.problem.code : each.status))
  expect(codes(applied)).toEqual(['settled', 'REFUSED'])
  expect(codes(await meanwhile)).toEqual(['REFUSED', 'settled'])
  expect(sent(world, 'POST')).toBe(2)
})

test('two processes applying the same plan concurrently make each subscription once', async () => {
  const store = temporaryStore()
  const world = await openWorld()
  const [one, other] = [
    await openBeside(world, { store, subscriptions }),
    await openBeside(world, { store, subscriptions }),
  ]
  const plan = await one.subscriptions.plan()
  const ended = await Promise.allSettled([one, other].map(each => each.subscriptions.apply(plan)))
  expect(sent(world, 'POST')).toBe(2)
  const applied = ended.flatMap(each => (each.status === 'fulfilled' ? each.value : []))
  expect(applied.filter(each => each.status === 'settled')).toHaveLength(2)
  // The slower one is refused, as a whole or per change.
  for (const each of ended) if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'STALE_PLAN' })
  for (const each of applied) if (each.status === 'declined') expect(each.problem.code).toBe('REFUSED')
})

test('a registration whose answer was lost is found even if the secret has changed', async () => {
  const store = temporaryStore()
  const world = await openWorld()
  let isDown = false
  const before = await openBeside(world, {
    ...{ store, subscriptions: [{ evento: one, chaveSecreta: 'antes' }] },
    async fetch(request) {
      // The list that would find the outcome fails too.
      if (isDown) return new Response(null, { status: 500 })
      const response = await world.reach.portal(request)
      isDown = request.method === 'POST'
      if (isDown) throw new Error('reset')
      return response
    },
  })
  const lost = await before.subscriptions.apply(await before.subscriptions.plan())
  expect(lost).toMatchObject([{ status: 'unknown', next: 'probe' }])
  await before.close()
  const after = await openBeside(world, { store, subscriptions: [{ evento: one, chaveSecreta: 'depois' }] })
  const { changes } = await after.subscriptions.plan()
  expect(changes).toMatchObject([{ action: 'change', reason: 'the portal has other secrets' }])
  expect(await after.subscriptions.list()).toMatchObject([{ state: 'active', areSecretsOurs: false }])
  expect(sent(world, 'POST')).toBe(1)
})

test('a change at the portal is drift, recorded once without secrets, and fixed by a plan', async () => {
  const world = await openWorld({ averba: { subscriptions } })
  const { averba } = world
  const id = await applyFirst(averba)
  const wrong = { id, evento: one, endpoint: 'https://errado.exemplo.br/', chaveSecreta: 'chave-alheia' }
  await callPortal(world, 'PUT', wrong, `/${id}`)
  const plan = await averba.subscriptions.plan()
  await averba.subscriptions.plan()
  expect(plan.changes[0]).toMatchObject({ action: 'change', reason: 'the portal has another endpoint, other secrets' })
  expect(await averba.subscriptions.list()).toMatchObject([
    { endpoint: 'https://errado.exemplo.br/', areSecretsOurs: false },
    { areSecretsOurs: true },
  ])
  const drifts = await eventsOf(world, 'subscription.drifted')
  expect(drifts).toHaveLength(1)
  expect(JSON.stringify([drifts, plan, String(plan)])).not.toMatch(/chave-um|chave-alheia/)
  await applyPlan(averba)
  expect(await actionsOf(averba)).toEqual(['leave', 'leave'])
})

test.each([
  ['not declared', [first]],
  ['declared too', subscriptions],
])('a subscription whose event was changed to one that is %s is fixed by a plan', async (_, declared) => {
  // A change to an event that has a subscription is refused by default.
  const policies = { portal: { duplicateEvent: 'accept' } } as const
  const world = await openWorld({ averba: { subscriptions: declared }, policies })
  const { averba } = world
  const [{ id, endpoint } = expect.fail('Nothing was made')] = await applyPlan(averba)
  await callPortal(world, 'PUT', { ...first, id, evento: two, endpoint }, `/${id}`)
  const { changes } = await averba.subscriptions.plan()
  const others = declared.slice(1).map(() => ({ action: 'leave' }))
  expect(changes).toMatchObject([
    { action: 'change', evento: one, id, reason: 'the portal has another event' },
    ...others,
  ])
  await averba.subscriptions.plan()
  expect(await eventsOf(world, 'subscription.drifted')).toHaveLength(1)
  expect((await averba.subscriptions.list())[0]).toMatchObject({ evento: one, eventoAtPortal: two })
  await applyPlan(averba)
  expect((await averba.subscriptions.list())[0]).toMatchObject({ evento: one, eventoAtPortal: one })
  expect(await deliver(world, {})).toMatchObject([{ isDelivered: true }])
  expect(await actionsOf(averba)).toEqual(declared.map(() => 'leave'))
})

test.each([
  ['contains a CPF', `https://outro.exemplo.br/${samples.cpf}`],
  ['contains a password', 'https://usuario:senha@outro.exemplo.br/'],
])('a row of ours whose endpoint %s is fixed by a plan and not stored in clear', async (_, listed) => {
  const world = await openWorld({
    averba: { subscriptions },
    async intercept(request, forward) {
      const answer = await forward(request)
      return request.method === 'GET' ? new Response((await answer.text()).replace(foreign.endpoint, listed)) : answer
    },
  })
  const { averba } = world
  const id = await applyFirst(averba)
  await callPortal(world, 'PUT', { id, evento: one, ...foreign }, `/${id}`)
  const plan = await averba.subscriptions.plan()
  expect(plan.changes).toMatchObject([
    { action: 'change', evento: one, id, reason: 'its row at the portal cannot be read' },
    { action: 'leave', evento: two },
  ])
  expect(plan.unreadable).toEqual([id])
  expect(String(plan)).toContain(`unreadable ${id} `)
  expect(await averba.subscriptions.list()).toHaveLength(2)
  await applyPlan(averba)
  expect(await averba.subscriptions.plan()).toMatchObject({
    ...{ changes: [{ action: 'leave' }, { action: 'leave' }], unreadable: [] },
  })
  const clear = [String(plan), plan.changes, await Array.fromAsync(averba.log.read())]
  expect(JSON.stringify(clear)).not.toMatch(`${samples.cpf}|usuario|senha`)
})

test.each([
  ['another', { id: 4_711, evento: one, endpoint: 7 }, 'deleted'],
  ['ours', { id: 1_001, evento: 7 }, 'active'],
  ['an unknown one', { id: 'x' }, 'active'],
])('an unreadable row of %s leaves only its possible subscription unknown', async (_, row, state) => {
  let isWrong = false
  const { averba } = await openWorld({
    averba: { subscriptions: [first] },
    intercept: listing(() => (isWrong ? [row] : undefined)),
  })
  expect(await applyFirst(averba)).toBe(1_001)
  isWrong = true
  const { unreadable } = await averba.subscriptions.plan()
  expect(unreadable).toEqual([typeof row.id === 'number' ? row.id : null])
  expect(await averba.subscriptions.list({ inactive: true })).toMatchObject([{ state }])
})

test('nothing that could be a secret is kept of an unreadable row', async () => {
  const secret = 'canario'
  const kept = { id: 7, evento: 'x', dataRegistro: '20/11/2026' }
  const others = {
    ...{ dataExclusao: { secret }, assinatura: { chaveSecreta: secret } },
    ...{ ChaveSecreta: secret, ' chave': secret },
  }
  const rows = [
    { ...kept, endpoint: `https://a:${secret}@outro.exemplo.br/`, ...others },
    [{ chaveSecreta: secret }],
    secret,
  ]
  const { averba } = await openWorld({ averba: { subscriptions }, intercept: listing(() => rows) })
  expect((await averba.subscriptions.plan()).unreadable).toEqual([7, null, null])
  const asking = { actor: { kind: 'person', ref: 'a' }, purpose: 'auditoria' } as const
  const [listed] = await eventsOf({ averba }, 'portal.listed')
  const { part } = await averba.subjects.reveal({ part: `${listed?.id}/unreadable` }, asking)
  const first = { ...kept, endpoint: 'https://outro.exemplo.br/', others: Object.keys(others) }
  expect(part).toEqual([first, null, null])
})

test('an unknown registration stays unknown only for an unreadable row of its event', async () => {
  let evento: string = one
  const { averba } = await openWorld({
    averba: { subscriptions: [first] },
    async intercept(request, forward) {
      if (request.method === 'POST') throw new Error('reset')
      return request.method === 'GET' ? Response.json([{ id: 4_711, evento, endpoint: 7 }]) : forward(request)
    },
  })
  const applied = await averba.subscriptions.apply(await averba.subscriptions.plan())
  expect(applied).toMatchObject([{ status: 'unknown' }])
  evento = two
  await averba.subscriptions.plan()
  expect(await averba.subscriptions.list()).toMatchObject([{ state: 'declared' }])
})

test.each(['waits', 'applies'] as const)(
  'one list without a subscription does not end it if the host %s meanwhile',
  async how => {
    let isEmpty = false
    const world = await openWorld({
      averba: { subscriptions: [first] },
      intercept: listing(() => (isEmpty ? [] : undefined)),
    })
    const { averba } = world
    const id = await applyFirst(averba)
    isEmpty = true
    const plan = await averba.subscriptions.plan()
    expect(plan.changes).toMatchObject([{ action: 'create' }])
    expect(await averba.subscriptions.list({ inactive: true })).toMatchObject([
      { state: 'deleted', deletedBy: 'portal', id: null },
    ])
    // The portal has it and declines.
    if (how === 'applies') expect(await averba.subscriptions.apply(plan)).toMatchObject([{ status: 'declined' }])
    isEmpty = false
    expect((await averba.subscriptions.plan()).changes).toMatchObject([{ action: 'leave', id }])
    expect(await averba.subscriptions.list()).toMatchObject([{ state: 'active', id, deletedBy: null }])
    await averba.subscriptions.plan()
    expect(await eventsOf(world, 'subscription.reappeared')).toMatchObject([
      { data: { remoteId: id }, anomaly: expect.any(String) },
    ])
  },
)

test.each([
  ['plan', 'create'],
  ['announce', 'leave'],
] as const)(
  'a subscription deleted by the portal is planned again only with recreate plan: %s',
  async (recreate, action) => {
    const world = await openWorld({ averba: { subscriptions: [{ evento: one, recreate }] } })
    const { averba, clock } = world
    await applyPlan(averba)
    await lose(world, {})
    await clock.advance(30 * dayMs)
    expect(await actionsOf(averba)).toEqual([action])
  },
)
