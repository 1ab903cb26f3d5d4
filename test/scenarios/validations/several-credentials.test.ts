import { expect, test } from 'vitest'
import { type Averba, valueOf } from '../../../src/index.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { views } from '../../../src/views/views.ts'
import { credentialsOf, isToken, openValidating, validate } from '../../support/open-validating.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'

const lifeMs = 60 * minuteMs

/** A gateway with several contracts, each with one token at a time, and a service that reports the token's contract. */
function givenGateway() {
  const clock = new VirtualClock()
  const store = temporaryStore()
  const living = new Map<string, { value: string; endsAt: number }>()
  const state = { isChangePending: false, made: 0 }
  const asked: Record<string, number> = {}
  const paid: string[] = []
  function issue(consumerKey: string): Response {
    if (state.isChangePending) return new Response('', { status: 502 })
    asked[consumerKey] = (asked[consumerKey] ?? 0) + 1
    const before = living.get(consumerKey)
    const isLiving = before !== undefined && before.endsAt > clock.now()
    const token = isLiving ? before : { value: `${consumerKey}-${++state.made}`, endsAt: clock.now() + lifeMs }
    living.set(consumerKey, token)
    return Response.json({ access_token: token.value, expires_in: (token.endsAt - clock.now()) / 1_000 })
  }
  async function fetch(request: Request): Promise<Response> {
    const given = credentialsOf(request)
    if (isToken(request)) return issue(given.split(':')[0] ?? '')
    const isGood = [...living.values()].some(({ value, endsAt }) => value === given && endsAt > clock.now())
    if (!isGood) return Response.json({}, { status: 401 })
    paid.push(given)
    return Response.json({ nome: true })
  }
  const open = (consumerKey: string, credential = 'default') =>
    openValidating({ store, clock, fetch }, { consumerKey, credential })
  let validations = 0
  const validateNext = (averba: Averba) => validate(averba, `v-${++validations}`)
  return { clock, store, state, asked, paid, open, validateNext }
}

test('a deferred token request is performed only under its own credential name', async () => {
  const { clock, state, asked, paid, open, validateNext } = givenGateway()
  const matriz = await open('k-matriz', 'matriz')
  for (let life = 0; life < 4; life++) {
    valueOf(await validateNext(matriz))
    await clock.advance(lifeMs)
  }
  const filial = await open('k-filial', 'filial')
  valueOf(await validateNext(filial))
  await clock.advance(lifeMs)
  state.isChangePending = true
  expect((await validateNext(matriz)).status).toBe('deferred')
  state.isChangePending = false
  await clock.advance(minuteMs)
  await filial.settle() // It comes first, and performs the validation too, with a token of its own.
  expect(asked).toEqual({ 'k-matriz': 4, 'k-filial': 2 })
  await matriz.settle()
  for (let life = 1; life <= 4; life++) {
    paid.length = 0
    valueOf(await validateNext(filial))
    valueOf(await validateNext(matriz))
    expect(paid).toEqual([expect.stringMatching(/^k-filial-/), expect.stringMatching(/^k-matriz-/)])
    expect(asked).toEqual({ 'k-matriz': 4 + life, 'k-filial': 1 + life })
    await clock.advance(lifeMs)
  }
})

test('a renamed credential costs one token request per token, whatever the old name has pending', async () => {
  const { clock, state, asked, open, validateNext } = givenGateway()
  const before = await open('k', 'antiga')
  for (let life = 0; life < 3; life++) {
    valueOf(await validateNext(before))
    await clock.advance(lifeMs)
  }
  state.isChangePending = true
  expect((await validateNext(before)).status).toBe('deferred')
  await before.close()
  state.isChangePending = false
  const after = await open('k', 'nova')
  await passTime({ averba: after, clock }, minuteMs)
  for (let life = 0; life < 4; life++) {
    for (let n = 0; n < 3; n++) valueOf(await validateNext(after))
    expect(asked).toEqual({ k: 4 + life })
    await clock.advance(lifeMs)
  }
  const old = []
  for (const effect of await after.effects.list({ state: 'deferred' })) old.push(effect.stream)
  expect(old).toEqual(['token-antiga'])
})

test.each([1, 9])('a stored token of another generation (%i) than recorded is replaced', async generation => {
  const { clock, store: path, asked, open, validateNext } = givenGateway()
  const first = await open('k')
  for (let life = 0; life < 2; life++) {
    valueOf(await validateNext(first))
    if (life === 0) await clock.advance(lifeMs)
  }
  await first.close()
  const store = await openStore({ path, views, clock })
  await store.secrets.drop('token-default', 10)
  await store.secrets.keep('token-default', { generation, value: 'de-ninguem' })
  await store.close()
  const second = await open('k')
  for (let n = 0; n < 3; n++) valueOf(await validateNext(second))
  expect(asked).toEqual({ k: 3 })
  await second.close()
  const third = await open('k')
  valueOf(await validateNext(third))
  expect(asked).toEqual({ k: 3 })
})

test('two refused secrets cause one token request each, however often they are used in turn', async () => {
  const clock = new VirtualClock()
  const store = temporaryStore()
  const asked: Record<string, number> = {}
  async function fetch(request: Request): Promise<Response> {
    const given = credentialsOf(request)
    if (isToken(request)) asked[given] = (asked[given] ?? 0) + 1
    return Response.json({ error: 'invalid_client' }, { status: 401 })
  }
  const open = (consumerSecret: string) => openValidating({ store, clock, fetch }, { consumerSecret })
  const engines = [await open('antigo'), await open('novo')]
  const refused = { status: 'deferred', reason: expect.stringMatching(/^CREDENTIALS_REFUSED: /) }
  for (let n = 0; n < 20; n++) {
    for (const [i, averba] of engines.entries()) expect(await validate(averba, `v-${n}-${i}`)).toMatchObject(refused)
    await clock.advance(minuteMs)
  }
  expect(Object.values(asked)).toEqual([1, 1])
})

test('a token is sent only to its own gateway, also if another has the same key and secret', async () => {
  const clock = new VirtualClock()
  const store = temporaryStore()
  const astray: string[] = []
  const asked: Record<string, number> = {}
  const open = (place: string) => {
    const fetch = async (request: Request) => {
      if (isToken(request)) {
        asked[place] = (asked[place] ?? 0) + 1
        return Response.json({ access_token: `${place}-${asked[place]}`, expires_in: 3_600 })
      }
      const given = credentialsOf(request)
      if (!given.startsWith(`${place}-`)) astray.push(`${place} was given ${given}`)
      return Response.json({ nome: true })
    }
    const validationService = { baseUrl: `https://${place}.exemplo.br`, service: place }
    return openValidating({ store, clock, fetch, validationService }, { url: `https://${place}.exemplo.br/token` })
  }
  for (let n = 0; n < 3; n++) {
    for (const place of ['demonstracao', 'producao']) {
      const averba = await open(place)
      valueOf(await validate(averba, `${place}-${n}`))
      await averba.close()
    }
  }
  expect(astray).toEqual([])
  expect(asked).toEqual({ demonstracao: 3, producao: 3 })
})

/** Fifty calls in fifty seconds by two processes with one key, at a gateway whose new token ends the older one. */
async function tokensFor(urls: readonly string[]): Promise<number> {
  const clock = new VirtualClock()
  const store = temporaryStore()
  let [made, current] = [0, '']
  async function fetch(request: Request): Promise<Response> {
    if (isToken(request)) {
      current = `token-${++made}`
      return Response.json({ access_token: current, expires_in: 3_600 })
    }
    const isGood = credentialsOf(request) === current
    return isGood ? Response.json({ nome: true }) : Response.json({}, { status: 401 })
  }
  const processes = await Promise.all(urls.map(url => openValidating({ store, clock, fetch }, { url })))
  for (let call = 0; call < 50; call++) {
    const averba = processes[call % processes.length]
    if (averba) await clock.finish(validate(averba, `v-${call}`))
    await clock.advance(1_000)
  }
  for (const averba of processes) await averba.close()
  return made
}

test.each(['https://gateway.exemplo.br:443/token', 'https://GATEWAY.exemplo.br/token'])(
  'one gateway address in two spellings (%s) has one token',
  async url => {
    expect(await tokensFor(['https://gateway.exemplo.br/token', url])).toBe(1)
  },
)

test('processes that replace the token of each other do so at a limited rate', async () => {
  const tokens = await tokensFor(['https://gateway.exemplo.br/token', 'https://novo.exemplo.br/token'])
  // Each replaces it ten times, and then once a minute.
  expect(tokens).toBeGreaterThan(10)
  expect(tokens).toBeLessThanOrEqual(1 + 2 * (10 + 1))
})

test('the secrets are read once, however many credentials were refused before', async () => {
  const clock = new VirtualClock()
  const store = temporaryStore()
  let asked = 0
  const fetch = async () => Response.json({}, { status: 401 })
  const consumerSecret = async () => `segredo ${++asked > 0}`
  let most = 0
  for (let key = 0; key < 6; key++) {
    const averba = await openValidating({ store, clock, fetch }, { consumerKey: `chave-${key}`, consumerSecret })
    asked = 0
    await clock.finish(validate(averba, `v-${key}`))
    most = Math.max(most, asked)
    await averba.close()
  }
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThan(6)
})
