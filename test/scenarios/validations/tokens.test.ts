import { expect, test } from 'vitest'
import { type Averba, valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { answering, busy, holdingAnswer } from '../../support/answers.ts'
import { checkOf } from '../../support/check-of.ts'
import { eventsOf } from '../../support/events-of.ts'
import {
  credentialsOf,
  isToken,
  isValidation,
  locked,
  openValidating,
  openValidatingBeside,
  validate,
} from '../../support/open-validating.ts'
import { hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { standStill } from '../../support/stand-still.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine, openServices, openWorld, validationServiceWith } from '../../support/world.ts'

const secretsIn = (store: string) => useDatabase(store, database => database.prepare('select * from secret').all())

test('200 operations in flight when the token ends cost one token request', async () => {
  const inFlight = Promise.withResolvers<void>()
  let waiting = 0
  const world: World = await openWorld({
    averba: { validationService: validationServiceWith({ requestsAtOnceMax: 200 }) },
    intercept: answering(isValidation, async () => {
      waiting += 1
      if (waiting === 200) {
        world.tokenService.expire()
        inFlight.resolve()
      }
      await inFlight.promise
      return undefined
    }),
  })
  await Promise.all(Array.from({ length: 200 }, (_, i) => validate(world.averba, `p${i}`).then(valueOf)))
  expect(world.validationService).toMatchObject({ refused: 200, answered: 200 })
  expect(world.tokenService.requests).toBe(2)
})

test('two processes of one store request one token per expiry and per rejection', async () => {
  const services = await openServices()
  const store = temporaryStore()
  const open = () => openEngine({ store, ...services.options })
  const engines = [await open(), await open()]
  for (const requests of [1, 2, 3, 4]) {
    const ids = Array.from({ length: 5 }, (_, i) => `storm-${requests}-${i}`)
    await Promise.all(engines.flatMap((each, e) => ids.map(id => validate(each, `${id}-${e}`).then(valueOf))))
    expect(services.tokenService.requests).toBe(requests)
    if (requests < 4) services.tokenService.expire()
  }
  for (const engine of engines) await engine.close()
  valueOf(await validate(await open(), 'later'))
  expect(services.tokenService.requests).toBe(4)
})

test('a service that refuses every token causes one token request per wait and no declines', async () => {
  const { averba, tokenService, faults, validationService, clock } = await openWorld({
    policies: { tokenService: { reissue: 'revoke' } },
    faults: [{ kind: 'status', status: 401, service: 'validationService' }],
  })
  const reason = 'TOKEN_REJECTED: 2 tokens in a row were answered 401'
  const retryAt = '2026-11-20T12:01:00.000Z'
  for (let n = 0; n < 100; n++)
    expect(await validate(averba, `v${n}`)).toMatchObject({ status: 'deferred', reason, retryAt })
  expect(tokenService.requests).toBe(2)
  const detail = expect.stringContaining(`before ${retryAt}`)
  expect(await checkOf(averba, 'token')).toMatchObject({ ok: false, detail })
  await passTime({ averba, clock }, minuteMs, 6 * 60)
  // After 1, 2, 4, 8, 16, 32 minutes, and then every hour.
  expect(tokenService.requests).toBeGreaterThanOrEqual(11)
  expect(tokenService.requests).toBeLessThanOrEqual(14)
  expect(await checkOf(averba, 'effects')).toMatchObject({ ok: true })
  faults.clear()
  await passTime({ averba, clock }, hourMs, 2)
  for (let n = 0; n < 100; n++) valueOf(await validate(averba, `v${n}`))
  expect(validationService.answered).toBe(100)
  expect(await checkOf(averba, 'token')).toMatchObject({ ok: true })
})

test('stores of one contract lose no call when a new token ends the older one', async () => {
  const world = await openWorld({ policies: { tokenService: { reissue: 'revoke' } } })
  let requests = 0
  const open = () =>
    openValidatingBeside(world, {
      async fetch(request) {
        // The requests overtake each other.
        for (let turns = (requests++ * 7) % 11; turns > 0; turns--) await new Promise(setImmediate)
        return world.reach[isToken(request) ? 'tokenService' : 'validationService'](request)
      },
    })
  const tenants = [await open(), await open(), await open()]
  const work = async (tenant: Averba) => {
    for (let i = 0; i < 20; i++) expect(await validate(tenant, `v-${i}`)).not.toMatchObject({ status: 'declined' })
  }
  await Promise.all(tenants.map(work))
  for (let minutes = 0; minutes < 60; minutes++) {
    await world.clock.advance(minuteMs)
    for (const tenant of tenants) await tenant.settle()
  }
  for (const tenant of tenants) for (let i = 0; i < 20; i++) valueOf(await validate(tenant, `v-${i}`))
  expect(world.validationService.answered).toBe(60)
})

test('processes with the old and the new secret share each token, and the old one asks once after the change', async () => {
  const store = temporaryStore()
  const state = { asked: 0, refused: 0, token: '', isOldOver: false }
  async function fetch(request: Request): Promise<Response> {
    const given = credentialsOf(request)
    if (!isToken(request)) {
      if (given === state.token) return Response.json({ nome: true })
      state.refused += 1
      return Response.json({}, { status: 401 })
    }
    state.asked += 1
    if (state.isOldOver && given.endsWith(':antigo')) return Response.json({ error: 'invalid_client' }, { status: 401 })
    state.token = `t-${state.asked}`
    return Response.json({ access_token: state.token, expires_in: 3_600 })
  }
  const open = (consumerSecret: string) => openValidating({ store, fetch }, { consumerSecret })
  const [before, after] = [await open('antigo'), await open('novo')]
  for (let n = 0; n < 10; n++)
    for (const [i, averba] of [before, after].entries()) valueOf(await validate(averba, `v-${n}-${i}`))
  expect(state).toMatchObject({ asked: 1, refused: 0 })
  // The gateway ends the old secret and its tokens: one refusal, then the new secret gets each token for both.
  state.isOldOver = true
  for (let n = 0; n < 3; n++) {
    state.token = ''
    expect(await validate(before, `late-${n}`)).toMatchObject(locked)
    for (const [i, averba] of [after, before].entries()) valueOf(await validate(averba, `w-${n}-${i}`))
    expect(state.asked).toBe(1 + 1 + n + 1)
  }
})

test('a job that restarts every 20 minutes does not wait if its tokens had worked', async () => {
  const store = temporaryStore()
  const world = await openWorld()
  for (let run = 0; run < 12; run++) {
    const averba = await openValidatingBeside(world, { store })
    valueOf(await validate(averba, `run-${run}`))
    expect(await checkOf(averba, 'token')).toMatchObject({ ok: true })
    await averba.close()
    world.tokenService.expire() // By a new one of the other system.
    await world.clock.advance(20 * minuteMs)
  }
  expect(world.validationService.answered).toBe(12)
})

test.each([
  ['same', 'the gateway returned the rejected token again: 900907'],
  ['revoke', 'TOKEN_REJECTED: 2 tokens in a row were answered 401: 900907'],
  ['no token', 'the token service answered 502; the call was answered 401: 900907'],
] as const)('the code of a 401 is in the reason of every deferred call, with reissue "%s"', async (reissue, reason) => {
  const fault = { code: 900907, message: 'The requested API is temporarily blocked' }
  let asked = 0
  const world = await openWorld({
    policies: { tokenService: { reissue: reissue === 'no token' ? 'same' : reissue } },
    async intercept(request, forward) {
      if (isValidation(request)) return Response.json({ fault }, { status: 401 })
      return ++asked > 1 && reissue === 'no token' ? busy(undefined, 502) : forward(request)
    },
  })
  for (const id of reissue === 'no token' ? ['a'] : ['a', 'b', 'c'])
    expect(await validate(world.averba, id)).toMatchObject({ status: 'deferred', reason })
  const codes = (await eventsOf(world, 'token.rejected', 'token.repeated')).map(({ data }) => data.code)
  expect(codes.length).toBeGreaterThan(0)
  expect(new Set(codes)).toEqual(new Set(['900907']))
})

test.each([
  ['same', 'first', 60],
  ['same', 'later', 5],
  ['revoke', 'first', 5],
  ['revoke', 'later', 5],
] as const)(
  'calls that are answered 401 with every token hold up no other for a day, with reissue "%s", when they come %s',
  async (reissue, when, waitMax) => {
    const { averba, clock, samples } = await openWorld({
      policies: { tokenService: { reissue } },
      intercept: answering(isValidation, async request => {
        const isOdd = (await request.clone().text()).includes('Odd')
        return isOdd ? Response.json({ code: 'NOT_COVERED' }, { status: 401 }) : undefined
      }),
    })
    if (when === 'later') valueOf(await validate(averba, 'good'))
    const odd = { id: 'odd', cpf: samples.cpf, claims: { nome: 'Odd' } }
    for (const id of when === 'later' ? ['odd', 'odd-2'] : ['odd'])
      expect(await averba.validations.validate({ ...odd, id })).toMatchObject({ status: 'deferred' })
    for (let minute = 0; minute < 6 * 60; minute += 5) {
      await averba.settle()
      void validate(averba, `at-${minute}`)
      await clock.advance(5 * minuteMs)
    }
    await averba.settle()
    const waits: number[] = []
    for await (const { id, state, requestedAt, endedAt = '' } of averba.validations.list())
      if (id.startsWith('at-')) waits.push(state === 'answered' ? Date.parse(endedAt) - Date.parse(requestedAt) : 1e9)
    expect(waits).toHaveLength(72)
    // A gateway that returns the rejected token stops all until its end, once, unless others were answered with it.
    expect(Math.max(...waits)).toBeLessThanOrEqual(waitMax * minuteMs)
    expect(waits.filter(wait => wait > 5 * minuteMs).length).toBeLessThanOrEqual(waitMax > 5 ? 12 : 0)
    const [call] = await averba.effects.list({ state: 'deferred' })
    expect(call?.reason).toBe('CALL_UNAUTHORIZED: the call was answered 401 with more than one token: NOT_COVERED')
    const said = /^.*\b(1 call|2 calls) got a 401 with more than one token from the validationService/
    expect(await checkOf(averba, 'effects')).toMatchObject({ ok: false, detail: expect.stringMatching(said) })
    expect(await checkOf(averba, 'token')).toMatchObject({ ok: true })
  },
)

test.each([
  ['unknown', Response.json({ code: 'X' }, { status: 401 })],
  ['declined', new Response('<html>X</html>', { status: 401 })],
] as const)('a 401 that the host has declared as %s is the answer, and is not sent again', async (means, answer) => {
  const given = [answer]
  const world = await openWorld({
    averba: { validationService: validationServiceWith({ answers: [{ status: 401, contains: 'X', means }] }) },
    intercept: answering(isValidation, () => given.shift()),
  })
  expect(await validate(world.averba, 'p1')).toMatchObject({ status: means })
  await passTime(world, hourMs)
  expect([world.validationService.answered, world.tokenService.requests]).toEqual([0, 1])
})

const noToken = 'its answer has no bearer token'

test.each([
  ['not valid in a header', Response.json({ access_token: 'ab\ncd', expires_in: 60 }), noToken],
  ['of another type', Response.json({ access_token: 'abcd', token_type: 'mac', expires_in: 60 }), noToken],
  ['that does not come', busy(undefined, 503), 'the token service answered 503'],
])('a token %s is requested again by settle, once, and no call fails', async (_, wrong, reason) => {
  const answers = [wrong]
  const world = await openWorld({ intercept: answering(isToken, () => answers.shift()) })
  expect(await validate(world.averba, 'a')).toMatchObject({ status: 'deferred', reason })
  await passTime(world, hourMs)
  expect(await validate(world.averba, 'a')).toMatchObject({ status: 'settled' })
  expect(world.tokenService.requests).toBe(1)
})

test.each<[string, number | undefined]>([
  ['that says its lifetime', 3_500],
  ['that says it in another unit', 3_500_000],
  ['that says none', undefined],
])('one 401 to a token that the gateway keeps returning (%s) costs an hour at most', async (_, expires_in) => {
  const statuses = [401]
  const world = await openWorld({
    intercept: async request =>
      isToken(request)
        ? Response.json({ access_token: 'fixo', expires_in })
        : Response.json({ nome: true }, { status: statuses.shift() ?? 200 }),
  })
  const reason = 'the gateway returned the rejected token again'
  expect(await validate(world.averba, 'a')).toMatchObject({ status: 'deferred', reason })
  expect(await checkOf(world.averba, 'token')).toMatchObject({ ok: false })
  await passTime(world, hourMs)
  for (const id of ['a', 'b']) valueOf(await validate(world.averba, id))
  expect(await checkOf(world.averba, 'token')).toMatchObject({ ok: true })
})

/** A process whose first answer about a token comes only after another one got a token, and used it. */
async function givenLateAnswer(late: Response) {
  const store = temporaryStore()
  const { intercept, given, release } = holdingAnswer(isToken, () => late)
  const world = await openWorld({ averba: { store }, intercept })
  const other = await openValidatingBeside(world, { store })
  const goOn = standStill()
  const validating = validate(world.averba, 'a')
  await given
  goOn()
  const waiting = validate(other, 'b')
  await expect.poll(() => other.effects.list({ state: 'started' })).toHaveLength(3)
  await world.clock.advance(20_000)
  expect(await waiting).toMatchObject({ status: 'deferred', reason: expect.stringMatching(/another process/) })
  expect(world.tokenService.requests).toBe(1)
  await world.clock.advance(minuteMs)
  valueOf(await validate(other, 'b'))
  release()
  await validating
  return { world, store, other }
}

test('a late refusal, after another process got a token, locks no process', async () => {
  const refusal = Response.json({ error: 'invalid_client' }, { status: 401 })
  const { world, store, other } = await givenLateAnswer(refusal)
  await expect.poll(async () => (await world.averba.validations.get('a'))?.state).toBe('answered')
  expect(await eventsOf(world, 'token.locked', 'token.unexpected')).toMatchObject([
    { type: 'token.unexpected', data: { event: 'token.locked' }, anomaly: expect.any(String) },
  ])
  expect(secretsIn(store)).toHaveLength(1)
  world.tokenService.expire()
  valueOf(await validate(other, 'c'))
  await other.close()
  valueOf(await validate(await openValidatingBeside(world, { store }), 'd'))
  expect(world.tokenService.requests).toBe(3)
})

test('a token that comes late, after another process got a newer one, does not replace it', async () => {
  const token = Response.json({ access_token: 'late', token_type: 'Bearer', expires_in: 3_600 })
  const { world, other } = await givenLateAnswer(token)
  for (const averba of [world.averba, other]) valueOf(await validate(averba, `c-${averba === other}`))
  expect(world.tokenService.requests).toBe(2)
})

test('a renewal that returns the rejected token waits until it ends, then tries once more', async () => {
  let [asked, tried] = [0, 0]
  const { averba, clock } = await openWorld({
    intercept: async request => {
      if (isToken(request)) asked += 1
      else tried += 1
      const token = { access_token: 'sempre-o-mesmo', expires_in: 600 }
      return isToken(request) ? Response.json(token) : Response.json({}, { status: 401 })
    },
  })
  const repeated = { status: 'deferred', reason: 'the gateway returned the rejected token again' }
  const rejected = { status: 'deferred', reason: 'TOKEN_REJECTED: 2 tokens in a row were answered 401' }
  const moments: [afterMs: number, outcome: object, requests: number[]][] = [
    [0, { ...repeated, retryAt: '2026-11-20T12:10:00.000Z' }, [2, 1]],
    [10 * minuteMs - 1, repeated, [2, 1]],
    [1, { ...rejected, retryAt: '2026-11-20T12:11:00.000Z' }, [3, 2]],
    [minuteMs - 1, rejected, [3, 2]],
    [1, repeated, [4, 2]],
  ]
  for (const [i, [afterMs, outcome, requests]] of moments.entries()) {
    await clock.advance(afterMs)
    expect(await validate(averba, `v-${i}`)).toMatchObject(outcome)
    expect([asked, tried]).toEqual(requests)
  }
  const rows = await averba.views.selectFrom('tokens').selectAll().execute()
  const waits_until = '2026-11-20T12:21:00.000Z'
  expect(rows).toMatchObject([{ state: 'repeated', requests: 4, generation: 3, waits_until }])
  const detail = expect.stringContaining(`before ${waits_until}`)
  expect(await checkOf(averba, 'token')).toMatchObject({ ok: false, detail })
  // The wait is over without another call.
  await clock.advance(10 * minuteMs)
  expect(await checkOf(averba, 'token')).toMatchObject({ ok: true })
})

test('wrong credentials lock every process of the store and remove the token', async () => {
  const services = await openServices()
  const store = temporaryStore()
  let consumerSecret: string = services.credentials.consumerSecret
  const tokenService = { ...services.options.tokenService, consumerSecret: () => consumerSecret }
  const options = { store, ...services.options, tokenService }
  const [one, two] = [await openEngine(options), await openEngine(options)]
  for (const engine of [one, two]) valueOf(await validate(engine, `a-${engine === one}`))
  expect(secretsIn(store)).toHaveLength(1)
  consumerSecret = 'segredo-errado'
  services.tokenService.expire()
  for (const [i, engine] of [one, two, one, two].entries())
    expect(await validate(engine, `c${i}`)).toMatchObject(locked)
  expect(services.tokenService.requests).toBe(2)
  expect(secretsIn(store)).toEqual([])
  consumerSecret = services.credentials.consumerSecret
  for (const engine of [two, one]) valueOf(await validate(engine, `d-${engine === one}`))
  expect(services.tokenService.requests).toBe(3)
  // A secret that cannot be read is told too: nothing is requested that could be refused.
  consumerSecret = ''
  const detail = expect.stringContaining('Cannot use the consumer secret: it is empty')
  expect(await checkOf(one, 'token')).toMatchObject({ ok: false, detail })
})

test('a stored token that cannot be opened is replaced, and nothing fails', async () => {
  const store = temporaryStore()
  const world = await openWorld()
  const first = await openValidatingBeside(world, { store })
  valueOf(await validate(first, 'a'))
  await first.close()
  const damage = "update secret set sealed = x'00' where name = 'token-default'"
  expect(useDatabase(store, database => database.prepare(damage).run().changes)).toBe(1)
  valueOf(await validate(await openValidatingBeside(world, { store }), 'b'))
  expect(world.tokenService.requests).toBe(2)
})

test('a bearer token of the host is read again when it is refused, and otherwise defers the call', async () => {
  const state = { isBehind: true, given: 'velho' }
  const bearer = () => state.given
  const world = await openWorld({
    averba: { validationService: validationServiceWith({ bearer }) },
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
  const world = await openWorld({ faults: [{ kind: 'status', status: 503, service: 'tokenService', times: 1 }] })
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
