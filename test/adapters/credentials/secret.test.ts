import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { expect, test, vi } from 'vitest'
import { valueFrom } from '../../../src/adapters/credentials/secret.ts'
import { AverbaError, Secret, valueOf } from '../../../src/index.ts'
import { validate } from '../../support/open-validating.ts'
import { applyPlan, deliver } from '../../support/portal.ts'
import { openWorld, validationServiceWith } from '../../support/world.ts'

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
  const world = await openWorld({
    averba: {
      tokenService: {
        url: 'https://gateway.exemplo.br/token',
        consumerKey: new Secret('chave-de-exemplo'),
        consumerSecret: async () => new Secret('segredo-de-exemplo'),
      },
      receiver: { publicUrl: 'https://receptor.exemplo.br/averba', secretFrom: new Secret('x'.repeat(40)) },
      subscriptions: [
        { evento: 'e', chaveSecreta: new Secret('chave-1'), chaveAutenticacao: () => new Secret('Basic 1') },
        { evento: 'f' },
      ],
    },
  })
  await applyPlan(world.averba)
  for (const evento of ['e', 'f']) expect(await deliver(world, {}, evento)).toMatchObject([{ isDelivered: true }])
  // The gateway issues a token for the right key and secret only.
  valueOf(await validate(world.averba, 'p1'))
})

test('nothing is sent when the token function returns no text', async () => {
  const bearer = vi.fn()
  const world = await openWorld({ averba: { validationService: validationServiceWith({ bearer }) } })
  const reason = 'Cannot use the bearer token: it is empty or not a text'
  for (const value of [undefined, Promise.resolve(undefined), '', new Secret(''), 7]) {
    bearer.mockReturnValue(value)
    expect(await validate(world.averba, `of ${value}`)).toMatchObject({ status: 'deferred', reason })
  }
  expect(bearer.mock.calls.length).toBeGreaterThanOrEqual(5)
  expect(world.requests).toEqual([])
})

const never = () => new Promise<string>(() => undefined)

test('a function that never answers fails after a time limit, and a late answer is ignored', async () => {
  const message = expect.stringContaining('the function that gives it did not answer')
  const failed = { code: 'MISCONFIGURED', message }
  await expect(valueFrom(never, 'secret', 10)).rejects.toMatchObject(failed)
  const { promise, reject } = Promise.withResolvers<string>()
  await expect(valueFrom(() => promise, 'secret', 10)).rejects.toMatchObject(failed)
  reject(new Error('later'))
  await expect(valueFrom(async () => 'x', 'secret', 10)).resolves.toBe('x')
  await expect(valueFrom(() => 'x', 'secret', 10)).resolves.toBe('x')
})

test('thenables of other libraries have the same time limit, and their errors are wrapped', async () => {
  type Settle = (resolve: (text: string) => void, reject: (error: unknown) => void) => void
  const foreign = (then: Settle) => ({ then }) as Promise<string>
  const silent = valueFrom(() => foreign(() => undefined), 'secret', 10)
  await expect(silent).rejects.toMatchObject({ code: 'MISCONFIGURED' })
  const failing = valueFrom(() => foreign((_, reject) => reject(new Error('password=x'))), 'secret', 10)
  await expect(failing).rejects.toMatchObject({ message: expect.not.stringContaining('password') })
  await expect(valueFrom(() => foreign(resolve => resolve('x')), 'secret', 10)).resolves.toBe('x')
})

test('the message has the code of a file error, and nothing of other errors', async () => {
  const missing = () => readFileSync('/nao-existe/segredo-canario.pem', 'utf8')
  const message = 'Cannot get the certificate: the function that gives it failed'
  const error = { code: 'MISCONFIGURED', message }
  await expect(valueFrom(missing, 'certificate')).rejects.toMatchObject({ ...error, message: `${message}: ENOENT` })
  const quoting = () => {
    throw Object.assign(new Error('segredo-canario'), { code: 'segredo-canario', syscall: 'open' })
  }
  await expect(valueFrom(quoting, 'certificate')).rejects.toMatchObject(error)
})
