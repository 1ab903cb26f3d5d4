import { expect, test } from 'vitest'
import { openAverba } from '../../../src/index.ts'
import type { WorldOptions } from '../../../src/simulation/index.ts'
import { actionsOf, applyPlan, callPortal, openBeside } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const [one, two] = ['dimp-situacao-import', 'talp-altsit-lpco-anu'] as const
const subscriptions = [
  { evento: one, chaveSecreta: 'chave-um', chaveAutenticacao: 'Basic YTpi' },
  { evento: two, chaveSecreta: 'chave-dois' },
]

async function given(options: WorldOptions = {}) {
  const world = await openWorld({ ...options, averba: { subscriptions } })
  return { world, averba: world.averba, made: await applyPlan(world.averba) }
}

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
  await applyPlan(first)
  await first.close()
  const changed = [{ evento: one, chaveSecreta: 'chave-nova' }]
  const second = await openBeside(world, { ...base, subscriptions: changed })
  const plan = await second.subscriptions.plan()
  expect(plan.changes).toMatchObject([
    { action: 'change', reason: 'the portal has other secrets' },
    { action: 'delete', reason: 'it is no longer declared' },
  ])
  await expect(second.subscriptions.apply(plan)).rejects.toMatchObject({ code: 'PLAN_DELETES' })
  expect(await applyPlan(second, { deletions: 'allow' })).toMatchObject([{ state: 'active' }, { state: 'deleted' }])
  expect(await actionsOf(second)).toEqual(['leave'])
  expect(await second.subscriptions.list()).toHaveLength(1)
})

test('a registration whose answer was lost is found in the list and not repeated', async () => {
  let posts = 0
  const { averba, made } = await given({
    intercept: async (request, forward) => {
      const response = await forward(request)
      if (request.method !== 'POST') return response
      posts += 1
      throw new Error('reset')
    },
  })
  expect(made).toHaveLength(2)
  expect(await actionsOf(averba)).toEqual(['leave', 'leave'])
  expect(await averba.subscriptions.list()).toMatchObject([{ state: 'active' }, { state: 'active' }])
  expect(await averba.effects.list({ state: 'unknown' })).toEqual([])
  expect(posts).toBe(2)
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
      const { averba, requests } = await openWorld({
        averba: { subscriptions: [{ evento: one, chaveSecreta: 'x'.repeat(100), [name]: wrong }] },
      })
      const message = expect.stringContaining(`its ${name} must have 1 to 100 printable ASCII characters`)
      await expect(averba.subscriptions.plan()).rejects.toMatchObject({ code: 'MISCONFIGURED', message })
      expect(requests.filter(({ method }) => method !== 'GET')).toEqual([])
    }
  },
)
