import { expect, test } from 'vitest'
import { type ApplyResult, type Averba, type Events, type Recorded, valueOf } from '../../../src/index.ts'
import { samples, type World } from '../../../src/simulation/index.ts'
import { callPortal, openBeside } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const [one, two] = ['dimp-situacao-import', 'talp-altsit-lpco-anu'] as const
const subscriptions = [
  { evento: one, chaveSecreta: 'chave-um', chaveAutenticacao: 'Basic YTpi' },
  { evento: two, chaveSecreta: 'chave-dois' },
]
const foreign = { endpoint: 'https://outro.exemplo.br/', chaveSecreta: 'deles' }

const eventsOf = (averba: Averba, type: keyof Events): Promise<Recorded[]> =>
  Array.fromAsync(averba.log.read({ types: [type] }))

const bodies = (world: World, method: string) =>
  world.requests.filter(each => each.service === 'portal' && each.method === method).length

test('an event of a foreign subscription is planned as taken and left alone by apply', async () => {
  const world = await openWorld({ averba: { subscriptions } })
  // Even one with our secrets.
  const { id } = await callPortal(world, 'POST', { ...subscriptions[0], endpoint: foreign.endpoint })
  const plan = await world.averba.subscriptions.plan()
  const reason = 'a foreign subscription has the event'
  expect(plan.changes).toMatchObject([
    { evento: one, action: 'leave', reason, isTaken: true, id },
    { evento: two, action: 'create', isTaken: false, id: null },
  ])
  expect(plan.toString()).toContain(`taken ${one}`)
  const applied = await world.averba.subscriptions.apply(plan)
  expect(applied.map(each => each.change.evento)).toEqual([two])
  expect(bodies(world, 'PUT')).toBe(0)
})

test('with takeOver a taken event becomes ours, with our endpoint and all keys', async () => {
  const world = await openWorld({ averba: { subscriptions } })
  const { averba } = world
  const { id } = await callPortal(world, 'POST', { evento: two, ...foreign, chaveAutenticacao: 'deles' })
  const [created, taken] = await averba.subscriptions.apply(await averba.subscriptions.plan(), {
    takeOver: true,
  })
  expect([created?.status, taken?.status]).toEqual(['settled', 'settled'])
  expect(await averba.subscriptions.list()).toMatchObject([
    { evento: one },
    { evento: two, id, endpoint: 'https://receptor.exemplo.br/averba', areSecretsOurs: true },
  ])
  expect((await averba.subscriptions.plan()).changes.map(each => each.action)).toEqual(['leave', 'leave'])
  // Its deliveries are accepted: the key that we do not declare was cleared.
  const notice = { evento: two, destinatarioTipo: 'CNPJ', destinatarioId: world.samples.cnpj } as const
  expect(await world.portal.notify({ ...notice, body: {} })).toMatchObject([{ isDelivered: true }])
  const events = await eventsOf(averba, 'subscription.registered')
  expect(events.map(each => each.type === 'subscription.registered' && each.data.how)).toEqual(['created', 'takenOver'])
})

test.each(['clear', 'keep'] as const)(
  'a key that is no longer declared is removed by one change if omitted fields %s',
  async omittedFields => {
    const store = temporaryStore()
    const world = await openWorld({ policies: { portal: { omittedFields } } })
    const first = await openBeside(world, { store, subscriptions: subscriptions.slice(0, 1) })
    await first.subscriptions.apply(await first.subscriptions.plan())
    await first.close()
    const second = await openBeside(world, { store, subscriptions: [{ evento: one, chaveSecreta: 'chave-um' }] })
    const plan = await second.subscriptions.plan()
    expect(plan.changes).toMatchObject([{ action: 'change', reason: 'the portal has other secrets' }])
    for (const each of await second.subscriptions.apply(plan)) valueOf(each)
    expect((await second.subscriptions.plan()).changes.map(each => each.action)).toEqual(['leave'])
  },
)

test('a declined event does not stop the others: each has its own outcome', async () => {
  const { averba } = await openWorld({
    averba: { subscriptions },
    faults: [{ kind: 'status', status: 422, method: 'POST', service: 'portal', times: 1 }],
  })
  const applied = await averba.subscriptions.apply(await averba.subscriptions.plan())
  expect(applied.map(each => [each.change.evento, each.status])).toEqual([
    [one, 'declined'],
    [two, 'settled'],
  ])
  expect((await averba.subscriptions.plan()).changes.map(each => each.action)).toEqual(['create', 'leave'])
})

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
  expect(bodies(world, 'POST')).toBe(2)
})

test('two processes applying the same plan concurrently make each subscription once', async () => {
  const store = temporaryStore()
  const world = await openWorld()
  const both = [await openBeside(world, { store, subscriptions }), await openBeside(world, { store, subscriptions })]
  const plan = await both[0]?.subscriptions.plan()
  const ended = await Promise.allSettled(both.map(each => each.subscriptions.apply(plan ?? { hash: '' })))
  expect(bodies(world, 'POST')).toBe(2)
  const applied = ended.flatMap(each => (each.status === 'fulfilled' ? each.value : []))
  expect(applied.filter(each => each.status === 'settled')).toHaveLength(2)
  // The slower one is refused, as a whole or per change.
  for (const each of ended) {
    if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'STALE_PLAN' })
  }
  const refusals = applied.flatMap(each => (each.status === 'declined' ? [each.problem.code] : []))
  expect(refusals.filter(code => code !== 'REFUSED')).toEqual([])
})

test('a registration whose answer was lost is found even if the secret has changed', async () => {
  const store = temporaryStore()
  const world = await openWorld()
  const declared = { evento: one, chaveSecreta: 'antes' }
  let isDown = false
  const first = await openBeside(world, {
    store,
    subscriptions: [declared],
    async fetch(request) {
      // The list that would find the outcome fails too.
      if (isDown) return new Response(null, { status: 500 })
      const response = await world.reach.portal(request)
      isDown = request.method === 'POST'
      if (isDown) throw new Error('reset')
      return response
    },
  })
  const [lost] = await first.subscriptions.apply(await first.subscriptions.plan())
  expect(lost).toMatchObject({ status: 'unknown', next: 'probe' })
  await first.close()
  const second = await openBeside(world, { store, subscriptions: [{ ...declared, chaveSecreta: 'depois' }] })
  const now = await second.subscriptions.plan()
  expect(now.changes).toMatchObject([{ action: 'change', reason: 'the portal has other secrets' }])
  expect(await second.subscriptions.list()).toMatchObject([{ state: 'active', areSecretsOurs: false }])
  expect(bodies(world, 'POST')).toBe(1)
})

test('a change at the portal is drift, recorded once without secrets, and fixed by a plan', async () => {
  const world = await openWorld({ averba: { subscriptions } })
  const { averba } = world
  const [made] = await averba.subscriptions.apply(await averba.subscriptions.plan())
  const id = made && valueOf(made).id
  const wrong = { id, evento: one, endpoint: 'https://errado.exemplo.br/', chaveSecreta: 'chave-alheia' }
  await callPortal(world, 'PUT', wrong, `/${id}`)
  const plan = await averba.subscriptions.plan()
  await averba.subscriptions.plan()
  expect(plan.changes[0]).toMatchObject({ action: 'change', reason: 'the portal has another endpoint, other secrets' })
  expect(await averba.subscriptions.list()).toMatchObject([
    { endpoint: 'https://errado.exemplo.br/', areSecretsOurs: false },
    { areSecretsOurs: true },
  ])
  const drifts = await eventsOf(averba, 'subscription.drifted')
  expect(drifts).toHaveLength(1)
  expect(JSON.stringify([drifts, plan, String(plan)])).not.toMatch(/chave-um|chave-alheia/)
  for (const each of await averba.subscriptions.apply(plan)) valueOf(each)
  expect((await averba.subscriptions.plan()).changes.map(each => each.action)).toEqual(['leave', 'leave'])
})

/** A change to an event that has a subscription is refused by default. */
const acceptsDuplicates = { portal: { duplicateEvent: 'accept' } } as const

test.each([
  ['not declared', subscriptions.slice(0, 1)],
  ['declared too', subscriptions],
])('a subscription whose event was changed to one that is %s is fixed by a plan', async (_, declared) => {
  const world = await openWorld({ averba: { subscriptions: declared }, policies: acceptsDuplicates })
  const { averba } = world
  const [made] = await averba.subscriptions.apply(await averba.subscriptions.plan())
  const { id, endpoint } = valueOf(made as ApplyResult)
  await callPortal(world, 'PUT', { ...subscriptions[0], id, evento: two, endpoint }, `/${id}`)
  const plan = await averba.subscriptions.plan()
  expect(plan.changes[0]).toMatchObject({
    ...{ action: 'change', evento: one, id, reason: 'the portal has another event' },
  })
  expect(plan.changes.slice(1).map(each => each.action)).toEqual(declared.slice(1).map(() => 'leave'))
  await averba.subscriptions.plan()
  expect(await eventsOf(averba, 'subscription.drifted')).toHaveLength(1)
  expect((await averba.subscriptions.list())[0]).toMatchObject({ evento: one, eventoAtPortal: two })
  for (const each of await averba.subscriptions.apply(plan)) valueOf(each)
  expect((await averba.subscriptions.list())[0]).toMatchObject({ evento: one, eventoAtPortal: one })
  const notice = { evento: one, destinatarioTipo: 'CNPJ', destinatarioId: world.samples.cnpj } as const
  expect(await world.portal.notify({ ...notice, body: {} })).toMatchObject([{ isDelivered: true }])
  expect(new Set((await averba.subscriptions.plan()).changes.map(each => each.action))).toEqual(new Set(['leave']))
})

test('a subscription with a changed event that is no longer declared is deleted', async () => {
  const store = temporaryStore()
  const world = await openWorld({ policies: acceptsDuplicates })
  const first = await openBeside(world, { store, subscriptions })
  const [made] = await first.subscriptions.apply(await first.subscriptions.plan())
  const { id, endpoint } = valueOf(made as ApplyResult)
  await callPortal(world, 'PUT', { ...subscriptions[0], id, evento: two, endpoint }, `/${id}`)
  await first.close()
  const second = await openBeside(world, { store, subscriptions: subscriptions.slice(1) })
  const plan = await second.subscriptions.plan()
  expect(plan.changes).toMatchObject([
    { action: 'leave', evento: two },
    { action: 'delete', evento: one, id },
  ])
  for (const each of await second.subscriptions.apply(plan, { deletions: 'allow' })) valueOf(each)
  expect(await second.subscriptions.list()).toMatchObject([{ evento: two }])
})

test.each([
  ['contains a CPF', (cpf: string) => `https://outro.exemplo.br/${cpf}`],
  ['contains a password', () => 'https://usuario:senha@outro.exemplo.br/'],
])('a row of ours whose endpoint %s is fixed by a plan and not stored in clear', async (_, of) => {
  const { cpf } = samples
  const endpoint = 'https://outro.exemplo.br/'
  const world = await openWorld({
    averba: { subscriptions },
    async intercept(request, forward) {
      const answer = await forward(request)
      return request.method === 'GET' ? new Response((await answer.text()).replace(endpoint, of(cpf))) : answer
    },
  })
  const { averba } = world
  const [made] = await averba.subscriptions.apply(await averba.subscriptions.plan())
  const { id } = valueOf(made as ApplyResult)
  await callPortal(world, 'PUT', { id, evento: one, endpoint, chaveSecreta: 'x' }, `/${id}`)
  const plan = await averba.subscriptions.plan()
  expect(plan.changes).toMatchObject([
    { action: 'change', evento: one, id, reason: 'its row at the portal cannot be read' },
    { action: 'leave', evento: two },
  ])
  expect(plan.unreadable).toEqual([id])
  expect(String(plan)).toContain(`unreadable ${id} `)
  expect(await averba.subscriptions.list()).toHaveLength(2)
  for (const each of await averba.subscriptions.apply(plan)) valueOf(each)
  const mended = await averba.subscriptions.plan()
  expect([mended.changes.map(each => each.action), mended.unreadable]).toEqual([['leave', 'leave'], []])
  const clear: unknown[] = [String(plan), plan.changes]
  for await (const event of averba.log.read()) clear.push(event)
  expect(JSON.stringify(clear)).not.toMatch(`${cpf}|usuario|senha`)
})

test.each([
  ['another', { id: 4_711, evento: one, endpoint: 7 }, 'deleted'],
  ['ours', { id: 1_001, evento: 7 }, 'active'],
  ['an unknown one', { id: 'x' }, 'active'],
])('an unreadable row of %s leaves only its possible subscription unknown', async (_, row, state) => {
  let isWrong = false
  const { averba } = await openWorld({
    averba: { subscriptions: subscriptions.slice(0, 1) },
    async intercept(request, forward) {
      const answer = await forward(request)
      return isWrong && request.method === 'GET' ? Response.json([row]) : answer
    },
  })
  const [made] = await averba.subscriptions.apply(await averba.subscriptions.plan())
  expect(valueOf(made as ApplyResult).id).toBe(1_001)
  isWrong = true
  const { unreadable } = await averba.subscriptions.plan()
  expect(unreadable).toEqual([typeof row.id === 'number' ? row.id : null])
  expect(await averba.subscriptions.list({ inactive: true })).toMatchObject([{ state }])
})

test('nothing that could be a secret is kept of an unreadable row', async () => {
  const secret = 'canario'
  const rows = [
    {
      ...{
        id: 7,
        evento: 'x',
        endpoint: `https://a:${secret}@outro.exemplo.br/`,
        dataRegistro: '20/11/2026',
      },
      ...{
        dataExclusao: { secret },
        assinatura: { chaveSecreta: secret },
        ChaveSecreta: secret,
        ' chave': secret,
      },
    },
    [{ chaveSecreta: secret }],
    secret,
  ]
  const { averba } = await openWorld({
    averba: { subscriptions },
    intercept: async (request, forward) => (request.method === 'GET' ? Response.json(rows) : forward(request)),
  })
  expect((await averba.subscriptions.plan()).unreadable).toEqual([7, null, null])
  const asking = { actor: { kind: 'person', ref: 'a' }, purpose: 'auditoria' } as const
  for await (const { id } of averba.log.read({ types: ['portal.listed'] })) {
    const { part } = await averba.subjects.reveal({ part: `${id}/unreadable` }, asking)
    const others = ['dataExclusao', 'assinatura', 'ChaveSecreta', ' chave']
    const kept = {
      id: 7,
      evento: 'x',
      endpoint: 'https://outro.exemplo.br/',
      dataRegistro: '20/11/2026',
      others,
    }
    expect(part).toEqual([kept, null, null])
  }
  expect.assertions(2)
})

test('an unknown registration stays unknown only for an unreadable row of its event', async () => {
  let evento: string = one
  const { averba } = await openWorld({
    averba: { subscriptions: subscriptions.slice(0, 1) },
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
    const { averba } = await openWorld({
      averba: { subscriptions: subscriptions.slice(0, 1) },
      async intercept(request, forward) {
        const answer = await forward(request)
        return isEmpty && request.method === 'GET' ? Response.json([]) : answer
      },
    })
    const [made] = await averba.subscriptions.apply(await averba.subscriptions.plan())
    const { id } = valueOf(made as ApplyResult)
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
    expect(await eventsOf(averba, 'subscription.reappeared')).toMatchObject([
      { data: { remoteId: id }, anomaly: expect.any(String) },
    ])
    await averba.subscriptions.plan()
    expect(await eventsOf(averba, 'subscription.reappeared')).toHaveLength(1)
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
    await averba.subscriptions.apply(await averba.subscriptions.plan())
    await world.faults.add({ kind: 'status', status: 500, service: 'receiver', times: 1 })
    const notice = { evento: one, destinatarioTipo: 'CNPJ', destinatarioId: world.samples.cnpj } as const
    await world.portal.notify({ ...notice, body: {} })
    await clock.advance(30 * 86_400_000)
    expect((await averba.subscriptions.plan()).changes.map(each => each.action)).toEqual([action])
  },
)
