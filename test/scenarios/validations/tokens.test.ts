import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { type Averba, type AverbaOptions, valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { credentialsOf, isToken, isValidation, openValidating, validate } from '../../support/open-validating.ts'
import { hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { standStill } from '../../support/stand-still.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine, openServices, openWorld } from '../../support/world.ts'

const secretsIn = (store: string) => useDatabase(store, database => database.prepare('select * from secret').all())

/** Another engine with the token and validation services of a world. */
function openOther({ clock, reach }: World, options: Partial<AverbaOptions> = {}): Promise<Averba> {
  const fetch = (request: Request) =>
    isToken(request) ? reach.tokenService(request) : reach.validationService(request)
  return openValidating({ clock, fetch, ...options })
}

const validationService = { baseUrl: 'https://validacao.exemplo.br', service: 'datavalid-demonstracao' }

test('200 operations in flight when the token ends cost one token request', async () => {
  const inFlight = Promise.withResolvers<void>()
  let waiting = 0
  const world = await openWorld({
    averba: { validationService: { ...validationService, requestsAtOnceMax: 200 } },
    intercept: async (request, forward) => {
      if (isValidation(request) && waiting < 200) {
        waiting += 1
        if (waiting === 200) {
          world.tokenService.expire()
          inFlight.resolve()
        }
        await inFlight.promise
      }
      return forward(request)
    },
  })
  const calls = Array.from({ length: 200 }, (_, i) => validate(world.averba, `p${i}`))
  for (const outcome of await Promise.all(calls)) valueOf(outcome)
  expect(world.validationService).toMatchObject({ refused: 200, answered: 200 })
  expect(world.tokenService.requests).toBe(2)
})

test('a simulated day of steady traffic costs at most 25 token requests', async () => {
  const world = await openWorld()
  for (let minute = 0; minute < 24 * 60; minute += 5) {
    valueOf(await validate(world.averba, `at-${minute}`))
    await world.clock.advance(5 * minuteMs)
  }
  expect(world.validationService.answered).toBe(288)
  expect(world.tokenService.requests).toBeGreaterThanOrEqual(24)
  expect(world.tokenService.requests).toBeLessThanOrEqual(25)
})

test('two processes of one store request one token per expiry and per rejection', async () => {
  const services = await openServices()
  const store = temporaryStore()
  const engines = [await openEngine({ store, ...services.options }), await openEngine({ store, ...services.options })]
  const storm = async (name: string) => {
    const calls = engines.flatMap((engine, e) =>
      Array.from({ length: 10 }, (_, i) => validate(engine, `${name}-${e}-${i}`)),
    )
    for (const outcome of await Promise.all(calls)) valueOf(outcome)
  }
  await storm('first')
  expect(services.tokenService.requests).toBe(1)
  for (const requests of [2, 3, 4]) {
    services.tokenService.expire()
    await storm(`storm-${requests}`)
    expect(services.tokenService.requests).toBe(requests)
  }
  for (const engine of engines) await engine.close()
  const later = await openEngine({ store, ...services.options })
  valueOf(await validate(later, 'later'))
  expect(services.tokenService.requests).toBe(4)
})

test('a token request of a crashed process is performed by another after its lease', async () => {
  const store = temporaryStore()
  const dead = Promise.withResolvers<Response>()
  let isDead = true
  const world = await openWorld({
    averba: { store },
    intercept: (request, forward) => (isToken(request) && isDead ? dead.promise : forward(request)),
  })
  const other = await openOther(world, { store })
  const goOn = standStill()
  void validate(world.averba, 'a').catch(() => undefined)
  await expect.poll(() => world.averba.effects.list({ state: 'started' })).toHaveLength(2)
  goOn()
  const waiting = validate(other, 'b')
  await expect.poll(() => other.effects.list({ state: 'started' })).toHaveLength(3)
  await world.clock.advance(20_000)
  expect(await waiting).toMatchObject({
    status: 'deferred',
    reason: expect.stringMatching(/another process/),
  })
  expect(world.tokenService.requests).toBe(0)
  await passTime({ averba: other, clock: world.clock }, 2 * minuteMs)
  expect(valueOf(await validate(other, 'b')).state).toBe('answered')
  expect(world.tokenService.requests).toBe(1)
  // The stopped process continues, with an answer that is no longer needed.
  isDead = false
  dead.resolve(await world.reach.tokenService(tokenRequest()))
  valueOf(await validate(other, 'c'))
  expect(world.tokenService.requests).toBe(2)
})

test('a service that refuses every token causes one token request per wait and no declines', async () => {
  let isMended = false
  const world = await openWorld({
    policies: { tokenService: { reissue: 'revoke' } },
    intercept: async (request, forward) =>
      isValidation(request) && !isMended ? Response.json({}, { status: 401 }) : forward(request),
  })
  const { averba, clock, tokenService } = world
  const check = async () => (await averba.health({ only: ['token'] })).checks[0]
  const reason = 'TOKEN_REJECTED: 2 tokens in a row were answered 401'
  const retryAt = '2026-11-20T12:01:00.000Z'
  for (let n = 0; n < 100; n++)
    expect(await validate(averba, `v${n}`)).toMatchObject({ status: 'deferred', reason, retryAt })
  expect(tokenService.requests).toBe(2)
  expect(await check()).toMatchObject({ ok: false, detail: expect.stringContaining(`before ${retryAt}`) })
  await passTime({ averba, clock }, minuteMs, 6 * 60)
  // After 1, 2, 4, 8, 16, 32 minutes, and then every hour.
  expect(tokenService.requests).toBeGreaterThanOrEqual(11)
  expect(tokenService.requests).toBeLessThanOrEqual(14)
  expect((await averba.health({ only: ['effects'] })).checks[0]).toMatchObject({ ok: true })
  isMended = true
  await passTime({ averba, clock }, hourMs)
  await passTime({ averba, clock }, hourMs)
  for (let n = 0; n < 100; n++) valueOf(await validate(averba, `v${n}`))
  expect(world.validationService.answered).toBe(100)
  expect(await check()).toMatchObject({ ok: true })
})

test('stores of one contract lose no call when a new token ends the older one', async () => {
  const world = await openWorld({ policies: { tokenService: { reissue: 'revoke' } } })
  let requests = 0
  const open = () =>
    openOther(world, {
      async fetch(request) {
        // The requests overtake each other.
        for (let turns = (requests++ * 7) % 11; turns > 0; turns--) await new Promise(setImmediate)
        return isToken(request) ? world.reach.tokenService(request) : world.reach.validationService(request)
      },
    })
  const tenants = [await open(), await open(), await open()]
  const seen = new Set<string>()
  const work = async (tenant: Averba, t: number) => {
    for (let i = 0; i < 20; i++) seen.add((await validate(tenant, `v-${t}-${i}`)).status)
  }
  await Promise.all(tenants.map(work))
  expect(seen).not.toContain('declined')
  for (let minutes = 0; minutes < 60; minutes++) {
    await world.clock.advance(minuteMs)
    for (const tenant of tenants) await tenant.settle()
  }
  for (const [t, tenant] of tenants.entries())
    for (let i = 0; i < 20; i++) valueOf(await validate(tenant, `v-${t}-${i}`))
  expect(world.validationService.answered).toBe(60)
})

test('a process of another contract does not use the token, but requests its own', async () => {
  const store = temporaryStore()
  const paid: string[] = []
  const asked: string[] = []
  const fetch = async (request: Request) => {
    const [key = ''] = credentialsOf(request).split(':')
    if (!isToken(request)) {
      paid.push(key)
      return Response.json({ nome: true })
    }
    asked.push(key)
    return Response.json({ access_token: `de-${key}`, expires_in: 3_600 })
  }
  for (const [n, consumerKey] of ['a', 'a', 'b', 'b', 'a'].entries()) {
    const averba = await openValidating({ store, fetch }, { consumerKey })
    valueOf(await validate(averba, `v${n}`))
    await averba.close()
  }
  expect(paid).toEqual(['de-a', 'de-a', 'de-b', 'de-b', 'de-a'])
  expect(asked).toEqual(['a', 'b', 'a'])
})

test('a process with refused credentials shares the token of its contract but requests none', async () => {
  const services = await openServices()
  const store = temporaryStore()
  const open = (consumerSecret: string) =>
    openEngine({
      ...{ store, ...services.options },
      tokenService: { ...services.options.tokenService, consumerSecret },
    })
  const right = await open(services.credentials.consumerSecret)
  const wrong = await open('segredo-errado')
  const locked = { status: 'deferred', reason: expect.stringMatching(/^CREDENTIALS_REFUSED: /) }
  for (const n of [1, 2, 3]) {
    valueOf(await validate(right, `right-${n}`))
    valueOf(await validate(wrong, `wrong-${n}`))
    services.tokenService.expire()
    expect(await validate(wrong, `wrong-late-${n}`)).toMatchObject(locked)
  }
  // One for the wrong credentials, and one per token.
  expect(services.tokenService.requests).toBe(4)
})

test('processes with the old and the new secret share a token during the change', async () => {
  const store = temporaryStore()
  const state = { asked: 0, refused: 0, token: '', isOldOver: false }
  async function fetch(request: Request): Promise<Response> {
    if (!isToken(request)) {
      if (credentialsOf(request) === state.token) return Response.json({ nome: true })
      state.refused += 1
      return Response.json({}, { status: 401 })
    }
    state.asked += 1
    const isOver = state.isOldOver && credentialsOf(request).endsWith(':antigo')
    if (isOver) return Response.json({ error: 'invalid_client' }, { status: 401 })
    state.token = `t-${state.asked}`
    return Response.json({ access_token: state.token, expires_in: 3_600 })
  }
  const open = (consumerSecret: string) => openValidating({ store, fetch }, { consumerSecret })
  const [before, after] = [await open('antigo'), await open('novo')]
  for (let n = 0; n < 10; n++)
    for (const [i, averba] of [before, after].entries()) valueOf(await validate(averba, `v-${n}-${i}`))
  expect(state).toMatchObject({ asked: 1, refused: 0 })
  // The gateway ends the old secret and its token: one refusal, then the new secret gets a token for both.
  Object.assign(state, { isOldOver: true, token: '' })
  const locked = { status: 'deferred', reason: expect.stringMatching(/^CREDENTIALS_REFUSED: /) }
  expect(await validate(before, 'w-0')).toMatchObject(locked)
  for (let n = 1; n < 5; n++)
    for (const [i, averba] of [after, before].entries()) valueOf(await validate(averba, `w-${n}-${i}`))
  expect(state.asked).toBe(3)
})

test('a job that restarts every 20 minutes does not wait if its tokens had worked', async () => {
  const store = temporaryStore()
  const world = await openWorld({ policies: { tokenService: { reissue: 'revoke' } } })
  const { clock, reach } = world
  for (let run = 0; run < 12; run++) {
    const averba = await openOther(world, { store })
    valueOf(await validate(averba, `run-${run}`))
    expect((await averba.health({ only: ['token'] })).checks[0]).toMatchObject({ ok: true })
    await averba.close()
    await reach.tokenService(tokenRequest()) // Of the other system.
    await clock.advance(20 * minuteMs)
  }
  expect(world.validationService.answered).toBe(12)
})

test.each([
  ['same', 'the gateway returned the rejected token again: 900907'],
  ['revoke', 'TOKEN_REJECTED: 2 tokens in a row were answered 401: 900907'],
] as const)('the code of a 401 is in the reason of every deferred call, with reissue "%s"', async (reissue, reason) => {
  const fault = { code: 900907, message: 'The requested API is temporarily blocked' }
  const world = await openWorld({
    policies: { tokenService: { reissue } },
    intercept: async (request, forward) =>
      isValidation(request) ? Response.json({ fault }, { status: 401 }) : forward(request),
  })
  for (const id of ['a', 'b', 'c'])
    expect(await validate(world.averba, id)).toMatchObject({ status: 'deferred', reason })
  for await (const { data } of world.averba.log.read({ types: ['token.rejected', 'token.repeated'] }))
    expect(data).toMatchObject({ code: '900907' })
})

test.each([
  ['same', 'first', 60],
  ['same', 'later', 5],
  ['revoke', 'first', 5],
  ['revoke', 'later', 5],
] as const)(
  'calls that are answered 401 with every token hold up no other for a day, with reissue "%s", when they come %s',
  async (reissue, when, waitMax) => {
    const world = await openWorld({
      policies: { tokenService: { reissue } },
      intercept: async (request, forward) =>
        isValidation(request) && (await request.clone().text()).includes('Odd')
          ? Response.json({ code: 'NOT_COVERED' }, { status: 401 })
          : forward(request),
    })
    const { averba, clock, samples } = world
    if (when === 'later') valueOf(await validate(averba, 'good'))
    const odd = { id: 'odd', cpf: samples.cpf, claims: { nome: 'Odd' } }
    for (const id of when === 'later' ? ['odd', 'odd-2'] : ['odd'])
      expect(await averba.validations.validate({ ...odd, id })).toMatchObject({ status: 'deferred' })
    const waits: number[] = []
    for (let minute = 0; minute < 6 * 60; minute += 5) {
      await averba.settle()
      void validate(averba, `at-${minute}`)
      await clock.advance(5 * minuteMs)
    }
    await averba.settle()
    for await (const { id, state, requestedAt, endedAt } of averba.validations.list())
      if (id.startsWith('at-'))
        waits.push(state === 'answered' ? Date.parse(endedAt ?? '') - Date.parse(requestedAt) : 1e9)
    expect(waits).toHaveLength(72)
    // A gateway that returns the rejected token stops all until its end, once, unless others were answered with it.
    expect(Math.max(...waits)).toBeLessThanOrEqual(waitMax * minuteMs)
    expect(waits.filter(wait => wait > 5 * minuteMs).length).toBeLessThanOrEqual(waitMax > 5 ? 12 : 0)
    const [call] = await Array.fromAsync(averba.effects.list({ state: 'deferred' }))
    expect(call?.reason).toBe('CALL_UNAUTHORIZED: the call was answered 401 with more than one token: NOT_COVERED')
    const { checks } = await averba.health()
    expect(checks.find(({ name }) => name === 'effects')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(
        /^.*\b(1 call|2 calls) got a 401 with more than one token from the validationService/,
      ),
    })
    expect(checks.find(({ name }) => name === 'token')).toMatchObject({ ok: true })
  },
)

test.each([
  ['unknown', Response.json({ code: 'X' }, { status: 401 })],
  ['declined', new Response('<html>X</html>', { status: 401 })],
] as const)('a 401 that the host has declared as %s is the answer, and is not sent again', async (means, answer) => {
  let sent = 0
  const world = await openWorld({
    averba: { validationService: { ...validationService, answers: [{ status: 401, contains: 'X', means }] } },
    intercept: async (request, forward) => {
      if (!isValidation(request)) return forward(request)
      sent += 1
      return answer.clone()
    },
  })
  expect(await validate(world.averba, 'p1')).toMatchObject({ status: means })
  await passTime(world, hourMs)
  expect([sent, world.tokenService.requests]).toEqual([1, 1])
})

test('the code of a 401 is reported also if there is no newer token', async () => {
  let asked = 0
  const world = await openWorld({
    async intercept(request, forward) {
      if (isValidation(request)) return Response.json({ code: 'DV-1', title: 'not in the contract' }, { status: 401 })
      asked += isToken(request) ? 1 : 0
      return asked > 1 ? new Response('', { status: 502 }) : forward(request)
    },
  })
  const reason = 'the token service answered 502; the call was answered 401: DV-1'
  expect(await validate(world.averba, 'a')).toMatchObject({ status: 'deferred', reason })
})

test.each([
  ['not valid in a header', { access_token: 'ab\ncd', expires_in: 60 }],
  ['of another type than Bearer', { access_token: 'abcd', token_type: 'mac', expires_in: 60 }],
])('a token %s is requested again, and no call fails', async (_, wrong) => {
  let isBroken = true
  const world = await openWorld({
    intercept: async (request, forward) => (isToken(request) && isBroken ? Response.json(wrong) : forward(request)),
  })
  const reason = 'its answer has no bearer token'
  expect(await validate(world.averba, 'a')).toMatchObject({ status: 'deferred', reason })
  isBroken = false
  await passTime(world, minuteMs)
  valueOf(await validate(world.averba, 'a'))
})

test.each<[string, number | undefined]>([
  ['that says its lifetime', 3_500],
  ['that says it in another unit', 3_500_000],
  ['that says none', undefined],
])('one 401 to a token that the gateway keeps returning (%s) costs an hour at most', async (_, expires_in) => {
  let isFirst = true
  const world = await openWorld({
    async intercept(request, forward) {
      if (isToken(request)) return Response.json({ access_token: 'fixo', expires_in })
      if (!isValidation(request)) return forward(request)
      const status = isFirst ? 401 : 200
      isFirst = false
      return Response.json({ nome: true }, { status })
    },
  })
  const check = async () => (await world.averba.health({ only: ['token'] })).checks[0]?.ok
  const reason = 'the gateway returned the rejected token again'
  expect(await validate(world.averba, 'a')).toMatchObject({ status: 'deferred', reason })
  expect(await check()).toBe(false)
  await passTime(world, hourMs)
  valueOf(await validate(world.averba, 'a'))
  valueOf(await validate(world.averba, 'b'))
  expect(await check()).toBe(true)
})

/** A process that stands still while the first answer about a token is on its way, and another one beside it. */
async function givenLateAnswer(late: Response) {
  const store = temporaryStore()
  const [asked, frozen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isFirst = true
  const world = await openWorld({
    averba: { store },
    async intercept(request, forward) {
      if (!isToken(request) || !isFirst) return forward(request)
      isFirst = false
      asked.resolve()
      await frozen.promise
      return late
    },
  })
  const other = await openOther(world, { store })
  const goOn = standStill()
  return { world, store, other, asked, goOn, frozen }
}

test('a late refusal, after another process got a token, locks no process', async () => {
  const { world, store, other, asked, goOn, frozen } = await givenLateAnswer(
    Response.json({ error: 'invalid_client' }, { status: 401 }),
  )
  void validate(world.averba, 'a')
  await asked.promise
  goOn()
  await world.clock.advance(minuteMs + 1_000)
  valueOf(await validate(other, 'b'))
  frozen.resolve()
  await expect.poll(async () => (await world.averba.validations.get('a'))?.state).toBe('answered')
  const refusals = await Array.fromAsync(world.averba.log.read({ types: ['token.locked', 'token.unexpected'] }))
  expect(refusals).toMatchObject([
    { type: 'token.unexpected', data: { event: 'token.locked' }, anomaly: expect.any(String) },
  ])
  expect(secretsIn(store)).toHaveLength(1)
  world.tokenService.expire()
  valueOf(await validate(other, 'c'))
  await other.close()
  const later = await openOther(world, { store })
  valueOf(await validate(later, 'd'))
  expect(world.tokenService.requests).toBe(2)
})

test('a token that comes late, after another process got a newer one, does not replace it', async () => {
  const { world, other, asked, goOn, frozen } = await givenLateAnswer(
    Response.json({ access_token: 'late', token_type: 'Bearer', expires_in: 3_600 }),
  )
  const validating = validate(world.averba, 'a')
  await asked.promise
  goOn()
  await world.clock.advance(minuteMs + 1_000)
  valueOf(await validate(other, 'b'))
  frozen.resolve()
  await validating
  valueOf(await validate(world.averba, 'c'))
  valueOf(await validate(other, 'd'))
  expect(world.tokenService.requests).toBe(1)
})

function tokenRequest(): Request {
  return new Request('https://gateway.exemplo.br/token', {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from('chave-de-exemplo:segredo-de-exemplo').toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: 'grant_type=client_credentials',
  })
}

test('a renewal that returns the rejected token waits until it ends, then tries once more', async () => {
  const world = await openWorld({
    intercept: (request, forward) => {
      if (isValidation(request)) {
        tried += 1
        return Promise.resolve(Response.json({}, { status: 401 }))
      }
      if (!isToken(request)) return forward(request)
      asked += 1
      return Promise.resolve(Response.json({ access_token: 'sempre-o-mesmo', expires_in: 600 }))
    },
  })
  let asked = 0
  let tried = 0
  const reason = 'the gateway returned the rejected token again'
  const retryAt = '2026-11-20T12:10:00.000Z'
  expect(await validate(world.averba, 'a')).toMatchObject({ status: 'deferred', reason, retryAt })
  expect(asked).toBe(2)
  await world.clock.advance(10 * minuteMs - 1)
  expect(await validate(world.averba, 'b')).toMatchObject({ status: 'deferred', reason })
  expect(asked).toBe(2)
  await world.clock.advance(1)
  const error = { status: 'deferred', reason: 'TOKEN_REJECTED: 2 tokens in a row were answered 401' }
  expect(await validate(world.averba, 'c')).toMatchObject({ ...error, retryAt: '2026-11-20T12:11:00.000Z' })
  expect([asked, tried]).toEqual([3, 2])
  await world.clock.advance(minuteMs - 1)
  expect(await validate(world.averba, 'd')).toMatchObject(error)
  expect([asked, tried]).toEqual([3, 2])
  await world.clock.advance(1)
  expect(await validate(world.averba, 'e')).toMatchObject({ status: 'deferred', reason })
  expect([asked, tried]).toEqual([4, 2])
  const rows = await world.averba.views.selectFrom('tokens').selectAll().execute()
  const waits_until = '2026-11-20T12:21:00.000Z'
  expect(rows).toMatchObject([{ state: 'repeated', requests: 4, generation: 3, waits_until }])
  const check = async () => (await world.averba.health({ only: ['token'] })).checks[0]
  expect(await check()).toMatchObject({ ok: false, detail: expect.stringContaining(`before ${waits_until}`) })
  // The wait is over without another call.
  await world.clock.advance(10 * minuteMs)
  expect(await check()).toMatchObject({ ok: true })
})

test('wrong credentials lock every process of the store and remove the token', async () => {
  const services = await openServices()
  const store = temporaryStore()
  let consumerSecret: string = services.credentials.consumerSecret
  const tokenService = { ...services.options.tokenService, consumerSecret: () => consumerSecret }
  const options = { store, ...services.options, tokenService }
  const [one, two] = [await openEngine(options), await openEngine(options)]
  valueOf(await validate(one, 'a'))
  valueOf(await validate(two, 'b'))
  expect(secretsIn(store)).toHaveLength(1)
  consumerSecret = 'segredo-errado'
  services.tokenService.expire()
  const locked = { status: 'deferred', reason: expect.stringMatching(/^CREDENTIALS_REFUSED: /) }
  for (const [i, engine] of [one, two, one, two].entries())
    expect(await validate(engine, `c${i}`)).toMatchObject(locked)
  expect(services.tokenService.requests).toBe(2)
  expect(secretsIn(store)).toEqual([])
  consumerSecret = services.credentials.consumerSecret
  valueOf(await validate(two, 'd'))
  valueOf(await validate(one, 'e'))
  expect(services.tokenService.requests).toBe(3)
})

test('a token is never in clear in a file, event, view, log line or error', async () => {
  const store = temporaryStore()
  const tokens = new Set<string>()
  const lines: unknown[] = []
  const world = await openWorld({
    averba: { store, logger: line => void lines.push(line) },
    policies: { tokenService: { reissue: 'revoke' } },
    intercept: async (request, forward) => {
      const response = await forward(request)
      if (isToken(request)) tokens.add((await response.clone().json()).access_token)
      return response
    },
  })
  const outcomes: unknown[] = []
  for (const id of ['a', 'b', 'c']) {
    outcomes.push(await validate(world.averba, id))
    world.tokenService.expire()
  }
  expect(tokens.size).toBe(3)
  const events = await Array.fromAsync(world.averba.log.read())
  const rows = await world.averba.views.selectFrom('tokens').selectAll().execute()
  const folder = dirname(store)
  const read = () => readdirSync(folder).map(name => readFileSync(join(folder, name), 'latin1'))
  const whileOpen = read()
  await world.close()
  const seen = [...whileOpen, ...read(), inspect([events, rows, lines, outcomes], { depth: null })]
  for (const token of tokens) {
    const forms = [token, Buffer.from(token).toString('base64'), Buffer.from(token).toString('hex')]
    for (const text of seen) expect(forms.some(form => text.includes(form))).toBe(false)
  }
  expect(secretsIn(store)).toHaveLength(1)
})

test('a bearer token of the host is read again when it is refused, and otherwise defers the call', async () => {
  const state = { isBehind: true, given: 'velho' }
  const bearer = () => state.given
  const world = await openWorld({
    averba: { validationService: { baseUrl: 'https://validacao.exemplo.br', service: 'demo', bearer } },
    intercept: async request => {
      if (credentialsOf(request) === 'novo') return Response.json({ nome: true })
      if (!state.isBehind) state.given = 'novo'
      return Response.json({}, { status: 401 })
    },
  })
  const reason = 'CREDENTIALS_REFUSED: the service answered 401 to validationService.bearer'
  expect(await validate(world.averba, 'a')).toMatchObject({ status: 'deferred', reason })
  state.isBehind = false
  expect(valueOf(await validate(world.averba, 'b')).state).toBe('answered')
  await passTime(world, hourMs)
  expect(valueOf(await validate(world.averba, 'a')).state).toBe('answered')
  expect(world.tokenService.requests).toBe(0)
})

test('a parked token request is not waited for, and is sent after a retry', async () => {
  const world = await openWorld({
    faults: [{ kind: 'status', status: 503, service: 'tokenService', times: 1 }],
  })
  const { effects } = world.averba
  expect(await validate(world.averba, 'a')).toMatchObject({ status: 'deferred' })
  const pending = (await effects.list({ state: 'deferred' })).find(each => each.type.startsWith('tokenService.'))
  await effects.park(pending?.id ?? '')
  const reason = 'the token request is parked: release it with effects.retry'
  expect(await validate(world.averba, 'b')).toMatchObject({ status: 'deferred', reason })
  await effects.retry(pending?.id ?? '')
  valueOf(await validate(world.averba, 'c'))
  expect(world.tokenService.requests).toBe(1)
})
