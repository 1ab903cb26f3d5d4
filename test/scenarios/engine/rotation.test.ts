import { expect, test } from 'vitest'
import { type AverbaOptions, staticHeaders, valueOf } from '../../../src/index.ts'
import { samples, type World } from '../../../src/simulation/index.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const notice = {
  evento,
  destinatarioTipo: 'CNPJ',
  destinatarioId: samples.cnpj,
  body: { numero: '26BR1' },
} as const

async function isDelivered({ portal }: World): Promise<boolean[]> {
  return (await portal.notify(notice)).map(each => each.isDelivered)
}

/** Applies the declared subscriptions, and returns the changes. */
async function apply({ averba }: World): Promise<string[]> {
  const plan = await averba.subscriptions.plan()
  for (const made of await averba.subscriptions.apply(plan)) valueOf(made)
  return plan.changes.map(each => each.action)
}

const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }

test.each<[string, (current: () => string) => Partial<AverbaOptions>]>([
  [
    'the master of derived secrets',
    current => ({ subscriptions: [{ evento }], receiver: { ...receiver, secretFrom: current } }),
  ],
  ['a chaveSecreta', current => ({ subscriptions: [{ evento, chaveSecreta: current }] })],
  ['a chaveAutenticacao', current => ({ subscriptions: [{ evento, chaveSecreta: 'um', chaveAutenticacao: current }] })],
])('%s that changes at its source is a change to apply, and takes effect without a restart', async (_, options) => {
  let secret = `primeiro-${'x'.repeat(40)}`
  const world = await openWorld({ averba: options(() => secret) })
  expect(await apply(world)).toEqual(['create'])
  expect(await isDelivered(world)).toEqual([true])
  expect(await apply(world)).toEqual(['leave'])
  secret = `segundo-${'y'.repeat(40)}`
  expect(await apply(world)).toEqual(['change'])
  expect(await isDelivered(world)).toEqual([true])
})

test('the consumer key and secret are read again for every token request', async () => {
  const reads = { key: 0, secret: 0 }
  const world = await openWorld({
    averba: {
      tokenService: {
        url: 'https://gateway.exemplo.br/token',
        consumerKey() {
          reads.key += 1
          return 'chave-de-exemplo'
        },
        async consumerSecret() {
          reads.secret += 1
          return 'segredo-de-exemplo'
        },
      },
    },
  })
  const validate = (id: string) => world.averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'X' } })
  valueOf(await validate('v1'))
  const first = { ...reads }
  expect(first.key).toBeGreaterThan(0)
  valueOf(await validate('v2'))
  expect(reads).toEqual(first)
  await world.clock.advance(3_600_000)
  valueOf(await validate('v3'))
  expect(world.tokenService.requests).toBe(2)
  expect(reads.key).toBeGreaterThan(first.key)
  expect(reads.secret).toBeGreaterThan(first.secret)
})

test('headers of the portal are read again after a 401', async () => {
  let given = 'sessao-vencida'
  const world = await openWorld({
    averba: {
      portal: {
        baseUrl: 'https://portal.exemplo.br',
        authenticate: staticHeaders(() => ({ authorization: given })),
      },
    },
  })
  await expect(world.averba.subscriptions.plan()).rejects.toMatchObject({ code: 'OUTCOME' })
  given = 'sessao-de-exemplo'
  expect((await world.averba.subscriptions.plan()).changes).toEqual([])
})
