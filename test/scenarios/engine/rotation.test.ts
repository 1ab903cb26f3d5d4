import { expect, test, vi } from 'vitest'
import { type AverbaOptions, staticHeaders, valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { validate } from '../../support/open-validating.ts'
import { hourMs } from '../../support/pass-time.ts'
import { deliver } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'

/** Applies the declared subscriptions, and returns the changes. */
async function apply({ averba }: World): Promise<string[]> {
  const plan = await averba.subscriptions.plan()
  for (const made of await averba.subscriptions.apply(plan)) valueOf(made)
  return plan.changes.map(each => each.action)
}

const publicUrl = 'https://receptor.exemplo.br/averba'

test.each<[string, (secret: () => string) => Partial<AverbaOptions>]>([
  ['a derived secret', secretFrom => ({ subscriptions: [{ evento }], receiver: { publicUrl, secretFrom } })],
  ['a chaveSecreta', chaveSecreta => ({ subscriptions: [{ evento, chaveSecreta }] })],
  ['a chaveAutenticacao', secret => ({ subscriptions: [{ evento, chaveSecreta: 'um', chaveAutenticacao: secret }] })],
])('%s that changes at its source is a change to apply, and takes effect without a restart', async (_, options) => {
  let secret = `primeiro-${'x'.repeat(40)}`
  const world = await openWorld({ averba: options(() => secret) })
  expect(await apply(world)).toEqual(['create'])
  expect(await deliver(world, {})).toMatchObject([{ isDelivered: true }])
  expect(await apply(world)).toEqual(['leave'])
  secret = `segundo-${'y'.repeat(40)}`
  expect(await apply(world)).toEqual(['change'])
  expect(await deliver(world, {})).toMatchObject([{ isDelivered: true }])
})

test('the consumer key and secret are read again for every token request', async () => {
  const consumerKey = vi.fn(() => 'chave-de-exemplo')
  const consumerSecret = vi.fn(async () => 'segredo-de-exemplo')
  const tokenService = { url: 'https://gateway.exemplo.br/token', consumerKey, consumerSecret }
  const reads = () => ({ key: consumerKey.mock.calls.length, secret: consumerSecret.mock.calls.length })
  const world = await openWorld({ averba: { tokenService } })
  valueOf(await validate(world.averba, 'v1'))
  const first = reads()
  expect(first.key).toBeGreaterThan(0)
  valueOf(await validate(world.averba, 'v2'))
  expect(reads()).toEqual(first)
  await world.clock.advance(hourMs)
  valueOf(await validate(world.averba, 'v3'))
  expect(world.tokenService.requests).toBe(2)
  expect(reads().key).toBeGreaterThan(first.key)
  expect(reads().secret).toBeGreaterThan(first.secret)
})

test('headers of the portal are read again after a 401', async () => {
  let given = 'sessao-vencida'
  const authenticate = staticHeaders(() => ({ authorization: given }))
  const { averba } = await openWorld({ averba: { portal: { baseUrl: 'https://portal.exemplo.br', authenticate } } })
  await expect(averba.subscriptions.plan()).rejects.toMatchObject({ code: 'OUTCOME' })
  given = 'sessao-de-exemplo'
  expect((await averba.subscriptions.plan()).changes).toEqual([])
})
