import { expect, test } from 'vitest'
import { openAverba, valueOf } from '../../../src/index.ts'
import { seededEntropy, type simulate } from '../../../src/simulation/index.ts'
import { Memory } from '../../../src/simulation/services/memory.ts'
import { simulatePortal } from '../../../src/simulation/services/portal/portal.ts'
import { callPortal, openBeside } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const [one, two] = ['dimp-situacao-import', 'talp-altsit-lpco-anu'] as const
const subscriptions = [
  { evento: one, chaveSecreta: 'chave-um', chaveAutenticacao: 'Basic YTpi' },
  { evento: two, chaveSecreta: 'chave-dois' },
]
const company = { destinatarioTipo: 'CNPJ', destinatarioId: '12ABC34501DE35' } as const
const dayMs = 86_400_000

async function given(options: Parameters<typeof simulate>[0] = {}) {
  const world = await openWorld({ ...options, averba: { subscriptions, ...options.averba } })
  const applied = await world.averba.subscriptions.apply(await world.averba.subscriptions.plan())
  return { world, applied }
}

/** A world whose portal has our subscriptions, and another log without any. */
async function givenOther(publicUrl: string) {
  const { world } = await given()
  return openBeside(world, { receiver: { publicUrl }, subscriptions })
}

test('declared subscriptions are planned, created, and then as declared', async () => {
  const { world, applied } = await given()
  expect(applied.map(outcome => valueOf(outcome).state)).toEqual(['active', 'active'])
  const plan = await world.averba.subscriptions.plan()
  expect(plan.changes.map(change => change.action)).toEqual(['leave', 'leave'])
  expect(plan.toString()).not.toMatch(/chave-um|chave-dois|YTpi/)
  expect(await world.averba.subscriptions.apply(plan)).toEqual([])
  const delivered = await world.portal.notify({ evento: one, ...company, body: { a: 1 } })
  expect(delivered).toMatchObject([{ isDelivered: true }])
})

test('a plan is refused once the portal has changed', async () => {
  const world = await openWorld({ averba: { subscriptions } })
  const plan = await world.averba.subscriptions.plan()
  await callPortal(world, 'POST', { evento: 'outro', endpoint: 'https://outro.exemplo.br/' })
  await expect(world.averba.subscriptions.apply(plan)).rejects.toMatchObject({ code: 'STALE_PLAN' })
})

test('changed options change the portal, and nothing is deleted unless allowed', async () => {
  const world = await openWorld()
  const base = { receiver: { publicUrl: 'https://novo.exemplo.br/a' }, store: temporaryStore() }
  const first = await openBeside(world, { ...base, subscriptions })
  await first.subscriptions.apply(await first.subscriptions.plan())
  await first.close()

  const changed = [{ evento: one, chaveSecreta: 'chave-nova' }]
  const second = await openBeside(world, { ...base, subscriptions: changed })
  const plan = await second.subscriptions.plan()
  expect(plan.changes.map(({ action, reason }) => [action, reason])).toEqual([
    ['change', 'the portal has other secrets'],
    ['delete', 'it is no longer declared'],
  ])
  await expect(second.subscriptions.apply(plan)).rejects.toMatchObject({ code: 'PLAN_DELETES' })
  const outcomes = await second.subscriptions.apply(plan, { deletions: 'allow' })
  expect(outcomes.map(outcome => valueOf(outcome).state)).toEqual(['active', 'deleted'])
  expect((await second.subscriptions.plan()).changes.map(change => change.action)).toEqual(['leave'])
  expect(await second.subscriptions.list()).toHaveLength(1)
})

test('an existing subscription with our secrets is adopted', async () => {
  const other = await givenOther('https://receptor.exemplo.br/averba')
  const plan = await other.subscriptions.plan()
  expect(plan.changes.map(change => change.action)).toEqual(['adopt', 'adopt'])
  expect((await other.subscriptions.apply(plan)).map(outcome => valueOf(outcome).state)).toEqual(['active', 'active'])
  expect((await other.subscriptions.plan()).changes.map(change => change.action)).toEqual(['leave', 'leave'])
})

test('a registration whose answer was lost is found in the list and not repeated', async () => {
  let posts = 0
  const { world, applied } = await given({
    intercept: async (request, forward) => {
      const response = await forward(request)
      if (request.method !== 'POST') return response
      posts += 1
      throw new Error('reset')
    },
  })
  expect(applied.map(outcome => outcome.status)).toEqual(['settled', 'settled'])
  expect((await world.averba.subscriptions.plan()).changes.map(change => change.action)).toEqual(['leave', 'leave'])
  expect((await world.averba.subscriptions.list()).map(each => each.state)).toEqual(['active', 'active'])
  expect(await world.averba.effects.list({ state: 'unknown' })).toEqual([])
  expect(posts).toBe(2)
})

test('a subscription that the portal deletes after thirty days of errors is noticed', async () => {
  const { world } = await given()
  const { averba, portal, clock } = world
  await portal.notify({ evento: one, ...company, body: { a: 1 } })
  await portal.notify({ evento: two, ...company, body: 'x'.repeat(1_100_000) })
  await clock.advance(29 * dayMs)
  await averba.subscriptions.plan()
  expect(await averba.subscriptions.list()).toHaveLength(2)
  await clock.advance(dayMs)
  const plan = await averba.subscriptions.plan()
  const deleted = (await averba.subscriptions.list({ inactive: true })).filter(each => each.state === 'deleted')
  expect(deleted).toMatchObject([
    {
      evento: two,
      deletedBy: 'portal',
      dataExclusao: '2026-12-20T12:00:00.000Z',
      motivoExclusao: expect.stringContaining('30 dias'),
    },
  ])
  expect(plan.changes.map(change => change.action)).toEqual(['leave', 'create'])
  const [again] = await averba.subscriptions.apply(plan)
  expect(again && valueOf(again)).toMatchObject({
    evento: two,
    state: 'active',
    health: 'healthy',
    failures: 0,
  })
})

test.each([
  ['an evento of 41 characters', { evento: 'e'.repeat(41) }],
  ['an endpoint without TLS', { endpoint: 'http://a.exemplo.br/' }],
  ['an endpoint on another port', { endpoint: 'https://a.exemplo.br:4430/' }],
  ['an endpoint of over 500 characters', { endpoint: `https://a.exemplo.br/${'x'.repeat(500)}` }],
  ['an endpoint that is not an address', { endpoint: 'a.exemplo.br' }],
  ['an endpoint without slashes', { endpoint: 'https:a.exemplo.br/' }],
  ['an endpoint with one slash', { endpoint: 'https:/a.exemplo.br/' }],
  ['an endpoint with three slashes', { endpoint: 'https:///a.exemplo.br/' }],
  ['an endpoint after a blank', { endpoint: ' https://a.exemplo.br/' }],
  ['an endpoint with backslashes', { endpoint: 'https:\\\\a.exemplo.br/' }],
  ['an endpoint with a line break', { endpoint: 'https://a.exemplo.br/a\nb' }],
  ['an endpoint with an empty user name', { endpoint: 'https://@a.exemplo.br/' }],
  ['an evento that no header carries', { evento: '€' }],
  ['an evento with a line break', { evento: 'a\r\nb' }],
  ['an evento before a blank', { evento: 'e ' }],
  ['an endpoint with a CPF', { endpoint: 'https://a.exemplo.br/25774435016' }],
  ['an endpoint with a password', { endpoint: 'https://usuario:senha@a.exemplo.br/' }],
  ['an endpoint with a user name', { endpoint: 'https://usuario@a.exemplo.br/' }],
  ['an evento with a CPF', { evento: 'cliente-257.744.350-16' }],
])('%s is refused when the log is opened', async (_, change) => {
  const declared = { evento: 'e', endpoint: 'https://a.exemplo.br/', ...change }
  const opening = openAverba({ store: ':memory:', subscriptions: [declared] })
  const message = expect.not.stringMatching(/257|usuario|senha/)
  await expect(opening).rejects.toMatchObject({ code: 'MISCONFIGURED', message, hint: expect.any(String) })
})

test.each(['chaveSecreta', 'chaveAutenticacao'])(
  'a %s that is too long, or that no header carries, is refused before anything is sent',
  async name => {
    for (const wrong of ['x'.repeat(101), '€', 'a\rb', 'a\nb', ' a', 'a ', 'ação']) {
      const sent: string[] = []
      const world = await openWorld({
        averba: { subscriptions: [{ evento: one, chaveSecreta: 'x'.repeat(100), [name]: wrong }] },
        intercept(request, forward) {
          sent.push(request.method)
          return forward(request)
        },
      })
      const message = expect.stringContaining(`its ${name} must have 1 to 100 printable ASCII characters`) as unknown
      await expect(world.averba.subscriptions.plan()).rejects.toMatchObject({ code: 'MISCONFIGURED', message })
      expect(sent.filter(method => method !== 'GET')).toEqual([])
    }
  },
)

test('a receiver that never answers is a delivery error after 3500 ms, in process too', async () => {
  const stuck = () => new Promise<never>(() => undefined)
  const world = await openWorld()
  const portal = simulatePortal({ memory: new Memory(), clock: world.clock, entropy: seededEntropy(1), deliver: stuck })
  await portal.fetch(
    new Request('https://portal.exemplo.br/portal/api/ext/webhook', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ evento: one, endpoint: 'https://receptor.exemplo.br/' }),
    }),
  )
  const notifying = portal.notify({ evento: one, ...company, body: {} })
  await expect.poll(() => world.clock.sleeping).toBe(1)
  await world.clock.advance(3_500)
  expect(await notifying).toMatchObject([{ isDelivered: false, description: 'Tempo esgotado: 3500 ms' }])
})
