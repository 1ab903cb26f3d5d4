import { expect, test } from 'vitest'
import { type Averba, valueOf } from '../../../src/index.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { views } from '../../../src/views/views.ts'
import {
  credentialsOf,
  isToken,
  locked,
  openValidating,
  openValidatingBeside,
  validate,
} from '../../support/open-validating.ts'
import { minuteMs } from '../../support/pass-time.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const lifeMs = 60 * minuteMs

/** A gateway with several contracts, each with one token at a time, and a service that reports the token's contract. */
function givenGateway() {
  const clock = new VirtualClock()
  const store = temporaryStore()
  const living = new Map<string, { value: string; endsAt: number }>()
  const state = { isDown: false, made: 0 }
  const asked: Record<string, number> = {}
  const paid: string[] = []
  function issue(consumerKey: string): Response {
    if (state.isDown) return new Response('', { status: 502 })
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
  /** Validates once during each of so many tokens. */
  const spend = async (averba: Averba, tokens: number) => {
    for (let token = 0; token < tokens; token++) {
      valueOf(await validateNext(averba))
      await clock.advance(lifeMs)
    }
  }
  /** Leaves a validation and its token request for later, as the gateway is down for a moment. */
  const defer = async (averba: Averba) => {
    state.isDown = true
    expect((await validateNext(averba)).status).toBe('deferred')
    state.isDown = false
  }
  return { clock, store, asked, paid, open, validateNext, spend, defer }
}

test('a deferred token request is performed only under its own credential name', async () => {
  const { clock, asked, paid, open, validateNext, spend, defer } = givenGateway()
  const matriz = await open('k-matriz', 'matriz')
  await spend(matriz, 4)
  const filial = await open('k-filial', 'filial')
  await spend(filial, 1)
  await defer(matriz)
  await clock.advance(minuteMs)
  await filial.settle() // It comes first, and performs the validation too, with a token of its own.
  expect(asked).toEqual({ 'k-matriz': 4, 'k-filial': 2 })
  await matriz.settle()
  for (let life = 1; life <= 4; life++) {
    paid.length = 0
    for (const averba of [filial, matriz]) valueOf(await validateNext(averba))
    expect(paid).toEqual([expect.stringMatching(/^k-filial-/), expect.stringMatching(/^k-matriz-/)])
    expect(asked).toEqual({ 'k-matriz': 4 + life, 'k-filial': 1 + life })
    await clock.advance(lifeMs)
  }
})

test.each([1, 9])('a stored token of another generation (%i) than recorded is replaced', async generation => {
  const { clock, store: path, asked, open, validateNext, spend } = givenGateway()
  const first = await open('k')
  await spend(first, 1)
  valueOf(await validateNext(first))
  await first.close()
  const store = await openStore({ path, views, clock })
  await store.secrets.drop('token-default', 10)
  await store.secrets.keep('token-default', { generation, value: 'de-ninguem' })
  await store.close()
  for (const times of [3, 1]) {
    const next = await open('k')
    for (let n = 0; n < times; n++) valueOf(await validateNext(next))
    expect(asked).toEqual({ k: 3 })
    await next.close()
  }
})

test('two refused secrets cause one token request each, however often they are used in turn', async () => {
  const [clock, store] = [new VirtualClock(), temporaryStore()]
  const asked: string[] = []
  async function fetch(request: Request): Promise<Response> {
    if (isToken(request)) asked.push(credentialsOf(request))
    return Response.json({ error: 'invalid_client' }, { status: 401 })
  }
  const open = (consumerSecret: string) => openValidating({ store, clock, fetch }, { consumerSecret })
  const engines = [await open('antigo'), await open('novo')]
  for (let n = 0; n < 20; n++) {
    for (const [i, averba] of engines.entries()) expect(await validate(averba, `v-${n}-${i}`)).toMatchObject(locked)
    await clock.advance(minuteMs)
  }
  expect(asked).toEqual(['antigo', 'novo'].map(secret => `chave-de-exemplo:${secret}`))
})

test('a token is sent only to its own gateway for its own contract, also if another has the same key or secret', async () => {
  const [clock, store] = [new VirtualClock(), temporaryStore()]
  const asked: string[] = []
  const places = Array(3).fill(['a@demonstracao', 'a@producao', 'b@producao']).flat()
  for (const [n, place] of places.entries()) {
    const [consumerKey, service] = place.split('@')
    const fetch = async (request: Request) => {
      if (isToken(request)) return Response.json({ access_token: `${place}-${asked.push(place)}`, expires_in: 3_600 })
      expect(credentialsOf(request)).toMatch(`${place}-`)
      return Response.json({ nome: true })
    }
    const baseUrl = `https://${service}.exemplo.br`
    const options = { store, clock, fetch, validationService: { baseUrl, service } }
    const averba = await openValidating(options, { url: `${baseUrl}/token`, consumerKey })
    // With the token that it has, if the one before was for the same contract.
    for (const id of [`${place}-${n}`, `${place}-${n}-again`]) valueOf(await validate(averba, id))
    await averba.close()
  }
  expect(asked).toEqual(places)
})

/** Fifty calls in fifty seconds by two processes with one key, at a gateway whose new token ends the older one. */
async function tokensFor(urls: readonly string[]): Promise<number> {
  const world = await openWorld({ policies: { tokenService: { reissue: 'revoke' } } })
  const { clock, tokenService } = world
  const store = temporaryStore()
  const processes = await Promise.all(urls.map(url => openValidatingBeside(world, { store }, { url })))
  for (let call = 0; call < 50; call += processes.length) {
    for (const [i, averba] of processes.entries()) {
      await clock.finish(validate(averba, `v-${call + i}`))
      await clock.advance(1_000)
    }
  }
  return tokenService.issued
}

test('a gateway whose address is spelled in another way has the same token', async () => {
  expect(await tokensFor(['https://gateway.exemplo.br/token', 'https://GATEWAY.exemplo.br:443/token'])).toBe(1)
})

test('processes that replace the token of each other do so at a limited rate', async () => {
  const tokens = await tokensFor(['https://gateway.exemplo.br/token', 'https://novo.exemplo.br/token'])
  // Each replaces it ten times, and then once a minute.
  expect(tokens).toBeGreaterThan(10)
  expect(tokens).toBeLessThanOrEqual(1 + 2 * (10 + 1))
})
