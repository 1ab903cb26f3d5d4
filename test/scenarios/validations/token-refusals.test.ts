import { expect, test, vi } from 'vitest'
import { tryCredentials } from '../../../src/adapters/token/client.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { answering } from '../../support/answers.ts'
import { checkOf } from '../../support/check-of.ts'
import { isToken, locked, validate } from '../../support/open-validating.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { openWorld } from '../../support/world.ts'

const html = '<html><body>nginx</body></html>'
const fault = (code: string) =>
  `<ams:fault xmlns:ams="x"><ams:code>${code}</ams:code><ams:message>m</ams:message></ams:fault>`

/** A world whose token address answers this until it is fixed. */
async function givenAnswer(status: number, body: string) {
  const state = { isMended: false }
  const answer = vi.fn(() => new Response(body, { status }))
  const world = await openWorld({ intercept: answering(request => isToken(request) && !state.isMended, answer) })
  const { averba } = world
  const asked = () => answer.mock.calls.length
  const check = () => checkOf(averba, 'token')
  return { world, validate: (id: string) => validate(averba, id), state, asked, lines: world.lines, check }
}

test.each<[string, number, string]>([
  ['401 in JSON', 401, '{"erro":"sem acesso"}'],
  ['400 invalid_client', 400, '{"error":"invalid_client"}'],
  ['400 unauthorized_client', 400, '{"error":"unauthorized_client","error_description":"x"}'],
  ['403 access_denied', 403, '{"error":"access_denied"}'],
  ['403 with a fault of the gateway as XML', 403, fault('900908')],
  ['403 with a fault of the gateway as JSON', 403, '{"fault":{"code":900901,"message":"m"}}'],
])('an answer that the credentials are wrong (%s) locks them, without another request', async (_, status, body) => {
  const { world, validate, asked, check } = await givenAnswer(status, body)
  for (const id of ['v1', 'v2']) expect(await validate(id)).toMatchObject(locked)
  await passTime(world, 60 * minuteMs, 12)
  expect(asked()).toBe(1)
  expect(await check()).toMatchObject({ ok: false, detail: expect.stringContaining('correct them') })
})

test.each<[string, number, string]>([
  ['404', 404, html],
  ['401 in HTML', 401, html],
  ['405', 405, ''],
  ['413', 413, html],
  ['415', 415, '{"error":"invalid_request"}'],
  ['400 about the request', 400, '{"error":"unsupported_grant_type"}'],
  ['400 without words', 400, html],
  ['403 of a firewall', 403, html],
  ['407', 407, ''],
])('a proxy’s answer (%s) locks nothing and is retried more and more rarely', async (_, status, body) => {
  const { world, validate, state, asked, lines, check } = await givenAnswer(status, body)
  const reason = expect.stringMatching(/^no token: (SERVICE_MISDIRECTED|PROXY_REFUSED): .*\b4\d\d\b/)
  expect(await validate('v1')).toMatchObject({ status: 'deferred', reason })
  // After 1, 2, 4, 8 minutes, and then every quarter of an hour: to its end only once.
  const [hours, least, most] = status === 404 ? [6, 25, 29] : [1, 6, 8]
  await passTime(world, minuteMs, hours * 60)
  expect(asked()).toBeGreaterThanOrEqual(least)
  expect(asked()).toBeLessThanOrEqual(most)
  const said = lines.filter(line => line.message.includes('somebody else answers'))
  expect(said).toMatchObject([{ error: status === 407 ? 'PROXY_REFUSED' : 'SERVICE_MISDIRECTED' }])
  const found = await check()
  const advice = status === 407 ? 'check address, user name and password of the proxy' : 'correct its address'
  expect(found).toMatchObject({ ok: false, detail: expect.stringContaining(advice) })
  state.isMended = true
  await world.averba.effects.retry(/"(.*)"/.exec(found?.detail ?? '')?.[1] ?? '')
  await passTime(world, 60 * minuteMs)
  expect(await validate('v1')).toMatchObject({ status: 'settled' })
  expect(await check()).toMatchObject({ ok: true })
})

test('a token address that answers 200 with a page is red after five attempts', async () => {
  const { world, validate, asked, check } = await givenAnswer(200, html)
  expect(await validate('v1')).toMatchObject({ status: 'deferred' })
  expect(await check()).toMatchObject({ ok: true })
  await passTime(world, 60 * minuteMs, 4)
  expect(asked()).toBeGreaterThanOrEqual(5)
  const detail = expect.stringMatching(/its answer has no bearer token: correct its address.*then effects\.retry/)
  expect(await check()).toMatchObject({ ok: false, detail })
})

test.each([408, 429])('a %i of the token endpoint is not about the credentials or the address', async status => {
  const { validate, asked, lines, check } = await givenAnswer(status, '')
  const reason = expect.not.stringMatching(/^[A-Z_]+:/)
  expect(await validate('v1')).toMatchObject({ status: 'deferred', reason })
  expect(asked()).toBe(1)
  expect(lines.filter(line => line.message.includes('somebody else'))).toEqual([])
  expect(await check()).toMatchObject({ ok: true })
})

test.each([
  [401, '{"erro":1}', 'correct the consumer key and secret'],
  [401, html, 'SERVICE_MISDIRECTED: correct its address, or ask who answers there'],
  [404, html, 'SERVICE_MISDIRECTED: correct its address, or ask who answers there'],
  [404, '{"erro":1}', 'correct its address, or ask who answers there'],
  [408, '', 'try again later'],
  [429, '', 'try again later'],
  [503, '', 'try again later'],
])('doctor advises what to do about a %i of the token endpoint', async (status, body, advice) => {
  const asked = await tryCredentials({
    ...{ url: 'https://gateway.exemplo.br/token', consumerKey: 'a', consumerSecret: 'b', clock: new VirtualClock() },
    fetch: async () => new Response(body, { status }),
  })
  expect(asked).toEqual({ ok: false, detail: `the gateway answered ${status}: ${advice}` })
})

test('one misdirected token request after an outage is repeated in a minute', async () => {
  const answers = [...Array(8).fill(503), 404].map(status => new Response(html, { status }))
  const world = await openWorld({ intercept: answering(isToken, () => answers.shift()) })
  expect(await validate(world.averba, 'v1')).toMatchObject({ status: 'deferred' })
  while (answers.length > 0) {
    const [next] = await world.averba.effects.list({ state: 'deferred' })
    await passTime(world, Date.parse(next?.dueAt ?? '') - world.clock.now())
  }
  await passTime(world, minuteMs + 1_000)
  expect(await validate(world.averba, 'v1')).toMatchObject({ status: 'settled' })
})

test('if another system ends each token, at most one a minute is requested eventually', async () => {
  const { averba, clock, tokenService } = await openWorld()
  const settled = new Set<string>()
  for (let n = 0; n < 100; n++) {
    const { status } = await clock.finish(validate(averba, `v${n}`))
    if (status === 'settled') settled.add(`v${n}`)
    tokenService.expire()
    await clock.advance(2_000)
  }
  expect(tokenService.requests).toBeLessThan(16)
  expect(settled.size).toBeGreaterThan(10)
  const detail = expect.stringContaining('several tokens in a row')
  expect(await checkOf(averba, 'token')).toMatchObject({ ok: false, detail })
  await clock.finish(passTime({ averba, clock }, 3_600_000))
  for (let n = 0; n < 100; n++) expect((await averba.validations.get(`v${n}`))?.state).toBe('answered')
  expect(tokenService.requests).toBeLessThan(18)
})
