import { sendRequest } from '../src/adapters/http/exchange.ts'
import { createTokenClient } from '../src/adapters/token/client.ts'
import { withToken } from '../src/adapters/token/with-token.ts'
import { writeValidatePerson } from '../src/adapters/validation/protocol.ts'
import { Tokens } from '../src/api/validations/tokens.ts'
import { Engine } from '../src/engine/engine.ts'
import { valueOf } from '../src/index.ts'
import { effectMachine } from '../src/machines/effect.ts'
import { tokenMachine } from '../src/machines/token.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { systemEntropy } from '../src/runtime/entropy.ts'
import { samples, simulate, type World } from '../src/simulation/index.ts'
import { type Figures, medianOf, type Say } from './measure.ts'
import { createId, openStore } from './workload.ts'

const minuteMs = 60_000
const inFlight = 200
const pairs = 200
const callsPerPair = 100

/** What tokens cost: requests in a day of traffic, requests in a storm, and time in every call. */
export async function benchTokens(_folder: string, say: Say): Promise<Figures> {
  const tokenRequestsPerDay = await requestsInADay()
  say(`tokens: a call a minute for a simulated day, ${tokenRequestsPerDay} token requests (at most 25)`)
  const renewalStorm = await requestsInAStorm()
  say(`tokens: ${inFlight} calls in flight when the token dies, ${renewalStorm} token requests (1)`)
  const { overheadUs, callUs } = await overhead()
  say(`tokens: ${overheadUs} µs of a call of ${callUs} µs in process (at most 20)`)
  return { tokenRequestsPerDay, renewalStorm, tokenOverheadUs: overheadUs }
}

function validate({ averba }: World, id: string) {
  return averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'Maria de Exemplo Souza' } })
}

async function requestsInADay(): Promise<number> {
  const world = await simulate()
  for (let minute = 0; minute < 24 * 60; minute++) {
    valueOf(await validate(world, `at-${minute}`))
    await world.clock.advance(minuteMs)
  }
  await world.close()
  return world.tokenService.requests
}

async function requestsInAStorm(): Promise<number> {
  const all = Promise.withResolvers<void>()
  let sent = -1 // The first one gets the token that dies.
  const validationService = {
    baseUrl: 'https://validacao.exemplo.br',
    service: 'datavalid-demonstracao',
    requestsAtOnceMax: inFlight,
  }
  const world = await simulate({
    averba: { validationService },
    async intercept(request, forward) {
      if (request.url.includes('/validate/pf') && sent < inFlight) {
        sent += 1
        if (sent === inFlight) all.resolve()
        if (sent > 0) await all.promise
      }
      return forward(request)
    },
  })
  valueOf(await validate(world, 'first'))
  const before = world.tokenService.requests
  world.tokenService.expire()
  const calls = Array.from({ length: inFlight }, (_, i) => validate(world, `call-${i}`))
  for (const outcome of await Promise.all(calls)) valueOf(outcome)
  await world.close()
  return world.tokenService.requests - before
}

/** The same call with the token that is held, and with a text: the difference is what handling tokens costs. */
async function overhead(): Promise<{ overheadUs: number; callUs: number }> {
  const store = await openStore('', ':memory:')
  const clock = systemClock
  const way = { clock, fetch: async () => Response.json({ access_token: 'a'.repeat(40), expires_in: 3_600 }) }
  const credentials = { consumerKey: 'chave', consumerSecret: 'segredo' }
  const engine = new Engine({
    ...{
      store,
      clock,
      createId,
      entropy: systemEntropy,
      machines: [effectMachine, tokenMachine],
    },
    onTrouble: (what, error) => {
      throw new Error(what, { cause: error })
    },
  })
  const url = 'https://gateway.exemplo.br/token'
  const tokens = new Tokens({ engine, store, clock }, { ...credentials, url })
  engine.register({
    performers: createTokenClient({ ...way, ...credentials, url, keeper: tokens.keeper }),
  })

  const address = { baseUrl: 'https://validacao.exemplo.br', service: 'demo' }
  const answer = { clock, fetch: async () => Response.json({ nome: true }) }
  const send = (bearer: string) =>
    sendRequest(answer, 'once', () => writeValidatePerson(address, { bearer, cpf: samples.cpf, claims: { nome: 'X' } }))
  const token = await tokens.current()
  if (token.status !== 'held') throw new TypeError(`There is no token: ${token.reason}`)
  const timed = async (call: () => Promise<unknown>) => {
    const started = performance.now()
    for (let i = 0; i < callsPerPair; i++) await call()
    return ((performance.now() - started) * 1_000) / callsPerPair
  }
  const [bare, differences]: [number[], number[]] = [[], []]
  for (let pair = -pairs / 10; pair < pairs; pair++) {
    const plain = () => timed(() => send(token.value))
    const handled = () =>
      timed(() => withToken(tokens, { call: 'validation-1/1/0', sent: null, isMeant: () => false }, send))
    // Each comes first as often as the other.
    const [a, b] = pair % 2 === 0 ? [await plain(), await handled()] : (await both(handled, plain)).reverse()
    if (pair < 0) continue // To warm up.
    bare.push(a ?? Number.NaN)
    differences.push((b ?? Number.NaN) - (a ?? Number.NaN))
  }
  await engine.close()
  await store.close()
  const round = (us: number) => Number(Math.max(us, 0).toFixed(2))
  return { overheadUs: round(medianOf(differences)), callUs: round(medianOf(bare)) }
}

async function both(first: () => Promise<number>, second: () => Promise<number>): Promise<number[]> {
  return [await first(), await second()]
}
