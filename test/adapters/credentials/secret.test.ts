import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { AverbaError, Secret, valueOf } from '../../../src/index.ts'
import { openWorld } from '../../support/world.ts'

const canary = 'segredo-canario-4711'

test('a secret is never printed, and expose() returns it', () => {
  const secret = new Secret(canary)
  const within = { options: { consumerSecret: secret, list: [secret] } }
  const printed = [
    String(secret),
    `${secret}`,
    JSON.stringify(within),
    inspect(within, { depth: null, showHidden: true }),
    Object.keys(secret).join(),
    JSON.stringify(Object.entries(secret)),
    JSON.stringify(structuredClone({ ...secret })),
    new AverbaError('MISCONFIGURED', `Cannot use ${secret}`, { cause: secret }).message,
    inspect(new AverbaError('MISCONFIGURED', 'x', { cause: secret })),
    (secret as unknown as { [key: symbol]: () => string })[Symbol.for('Deno.customInspect')]?.() ?? '',
  ]
  expect(printed.filter(text => text.includes(canary))).toEqual([])
  expect(printed.slice(0, 4).every(text => text.includes('[secret]'))).toBe(true)
  expect(secret.expose()).toBe(canary)
})

test('every secret option accepts a Secret, also from a function', async () => {
  const secrets: string[] = []
  const world = await openWorld({
    averba: {
      receiver: {
        publicUrl: 'https://receptor.exemplo.br/averba',
        secretFrom: new Secret(`${canary}-${'x'.repeat(32)}`),
      },
      subscriptions: [
        {
          evento: 'e',
          chaveSecreta: new Secret('chave-secreta-1'),
          chaveAutenticacao: () => new Secret('Basic 1'),
        },
        { evento: 'f' },
      ],
    },
    async intercept(request, forward) {
      if (request.url.endsWith('/token')) secrets.push(request.headers.get('authorization') ?? '')
      return forward(request)
    },
  })
  const { averba, portal, samples } = world
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  for (const evento of ['e', 'f'])
    expect(
      await portal.notify({
        evento,
        destinatarioTipo: 'CNPJ',
        destinatarioId: '12ABC34501DE35',
        body: { n: 1 },
      }),
    ).toMatchObject([{ isDelivered: true }])
  valueOf(await averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } }))
  await world.close()
  const wrapped = await openWorld({
    averba: {
      tokenService: {
        url: 'https://gateway.exemplo.br/token',
        consumerKey: new Secret('chave-de-exemplo'),
        consumerSecret: async () => new Secret('segredo-de-exemplo'),
      },
    },
    async intercept(request, forward) {
      if (request.url.endsWith('/token')) secrets.push(request.headers.get('authorization') ?? '')
      return forward(request)
    },
  })
  valueOf(await wrapped.averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } }))
  await wrapped.close()
  expect(new Set(secrets).size).toBe(1)
  expect(secrets).toHaveLength(2)
})

test.each<[string, () => unknown]>([
  ['nothing', () => undefined],
  ['nothing, later', async () => undefined],
  ['an empty text', () => ''],
  ['an empty secret', () => new Secret('')],
  ['a number', () => 7],
])('nothing is sent when the token function returns %s', async (_, bearer) => {
  let sent = 0
  const world = await openWorld({
    averba: {
      validationService: {
        ...{ baseUrl: 'https://validacao.exemplo.br', service: 'datavalid-demonstracao' },
        bearer: bearer as () => string, // A host without types may return anything.
      },
    },
    async intercept(request, forward) {
      sent += 1
      return forward(request)
    },
  })
  const input = { id: 'a', cpf: world.samples.cpf, claims: { nome: 'X' } }
  const reason = 'Cannot use the bearer token: it is empty or not a text'
  expect(await world.averba.validations.validate(input)).toMatchObject({ status: 'deferred', reason })
  expect(sent).toBe(0)
})
