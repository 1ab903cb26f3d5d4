import { expect, test } from 'vitest'
import { answerOf } from '../../src/simulation/index.ts'
import type { Message } from '../../src/vocabulary/message.ts'

const at = '2026-11-20T12:00:00.000Z'
/** Digests of credentials: `k1` and `k2` are two contracts; `k1-new` is `k1` with another secret. */
const holder = (credential = 'k1') => ({ contract: credential.replace('-new', ''), credential })
const request = (need: string, credential = 'k1', when = at): Message => ({
  type: 'token.request',
  data: { need, ...holder(credential), at: when },
})
const issued = (
  generation: number,
  { credential = 'k1', issuedAt = at, expiresAt = '2026-11-21T12:00:00.000Z' } = {},
): Message => ({
  type: 'tokenService.issued',
  data: { generation, ...holder(credential), issuedAt, expiresAt },
})
const repeated = (generation: number, until: string, credential = 'k1'): Message => ({
  type: 'tokenService.repeated',
  data: { generation, ...holder(credential), until },
})
const refused = (generation: number): Message => ({
  type: 'tokenService.credentialsRefused',
  data: { generation, ...holder(), httpStatus: 401 },
})
const lost = (generation: number): Message => ({ type: 'tokenService.requestLost', data: { generation } })
const reject = (generation: number, when = at, hasServed = false): Message => ({
  type: 'token.reject',
  data: { generation, at: when, hasServed },
})

const after = (...messages: Message[]) => answerOf('token', ...messages)
function eventOf(...messages: Message[]): { times?: number; until?: string; policy?: string } {
  const answer = after(...messages)
  return 'events' in answer ? Object(answer.events[0]?.data) : {}
}

test('a second request is refused while one is pending', () => {
  expect(after(request('absent'), request('absent'))).toHaveProperty('refused')
})

test('a token that was not rejected is not renewed', () => {
  expect(after(request('absent'), issued(1), request('rejected'))).toHaveProperty('refused')
  expect(after(request('absent'), issued(1), reject(1), request('rejected'))).toHaveProperty('events')
})

test('a late 401 for an older token is ignored', () => {
  const renewed = [request('absent'), issued(1), reject(1), request('rejected'), issued(2)]
  expect(after(...renewed, reject(1))).toEqual({ events: [] })
  expect(after(...renewed, reject(2))).toMatchObject({ events: [{ type: 'token.rejected' }] })
})

test('a lost request has failed, and another one can be made', () => {
  expect(after(request('absent'), lost(1))).toMatchObject({
    events: [
      {
        type: 'token.requestFailed',
        resolves: { effect: 'tokenService.requestToken', as: 'declined' },
      },
    ],
  })
  expect(after(request('absent'), lost(1), request('absent'))).toHaveProperty('events')
})

test('after wrong credentials, no token is requested until they change', () => {
  expect(after(request('absent'), refused(1), request('absent'))).toHaveProperty('refused')
  expect(after(request('absent'), refused(1), request('absent', 'k2'))).toHaveProperty('events')
  expect(after(request('absent'), refused(1), request('changed', 'k1-new'))).toHaveProperty('events')
})

test('another secret of the same key shares the token of the contract and its waits', () => {
  const until = '2026-11-20T12:10:00.000Z'
  const valid = [request('absent'), issued(1)]
  expect(after(...valid, request('changed', 'k1-new'))).toHaveProperty('refused')
  expect(after(...valid, request('changed', 'k2'))).toHaveProperty('events')
  const twice = [...valid, reject(1), request('rejected', 'k1-new'), issued(2, { credential: 'k1-new' }), reject(2)]
  expect(eventOf(...twice.slice(0, -1), reject(2))).toMatchObject({ times: 2 })
  expect(after(...twice, request('rejected', 'k1'))).toHaveProperty('refused')
  const again = [...valid, reject(1), request('rejected', 'k1-new'), repeated(2, until, 'k1-new')]
  expect(after(...again, request('repeated', 'k1'))).toHaveProperty('refused')
})

test('after the gateway returns the rejected token again, no request is made before it expires', () => {
  const until = '2026-11-20T12:10:00.000Z'
  const again = [request('absent'), issued(1), reject(1), request('rejected'), repeated(2, until)]
  expect(after(...again, request('rejected', 'k1', '2026-11-20T12:09:59.999Z'))).toHaveProperty('refused')
  const asked = [...again, request('repeated', 'k1', until)]
  expect(after(...again, request('repeated', 'k1', until))).toMatchObject({
    events: [{ effects: [{ data: { generation: 3, need: 'repeated' } }] }],
  })
  // The token was used again.
  const tried = issued(3, { issuedAt: until })
  expect(eventOf(...asked, tried, reject(3, until))).toMatchObject({ times: 2 })
  expect(eventOf(...asked, tried, reject(3, until, true))).toMatchObject({ times: 1 })
})

test('a token that arrives after another process got one is an anomaly and is not used', () => {
  const one = [request('absent'), issued(1)]
  expect(after(...one, issued(1))).toMatchObject({ events: [{ anomaly: expect.any(String) }] })
  const next = [...one, reject(1), request('rejected')]
  expect(after(...next, issued(1))).toMatchObject({ events: [{ anomaly: expect.any(String) }] })
  expect(after(...next, issued(1), request('rejected'))).toHaveProperty('refused')
})

test('an answer to an ended request is an anomaly and does not change the state', () => {
  const until = '2026-11-20T12:10:00.000Z'
  const late = [refused(1), lost(1), repeated(1, until)]
  const valid = [request('absent'), issued(1)]
  const asking = [...valid, reject(1), request('rejected')]
  const asksAgain = [request('absent'), lost(1), request('absent')]
  for (const before of [valid, asking, asksAgain]) {
    for (const message of late) {
      expect(after(...before, message)).toMatchObject({ events: [{ anomaly: expect.any(String) }] })
    }
    // The state is the same as before.
    const [next, other] = before === valid ? [reject(1), request('absent')] : [issued(2), request('absent')]
    expect(after(...before, ...late, other)).toHaveProperty('refused')
    expect(after(...before, ...late, next)).toEqual(after(...before, next))
  }
})

test('the wait doubles for each token in a row that is rejected without having worked', () => {
  const history = [request('absent'), issued(1)]
  const waits: (number | null)[] = []
  let now = at
  for (let generation = 1; generation <= 10; generation++) {
    const rejected = reject(generation, now)
    const { until, policy = '', times } = eventOf(...history, rejected)
    expect(times).toBe(generation)
    expect(policy).toBe(until === undefined ? '' : 'rejection-1')
    waits.push(until === undefined ? null : (Date.parse(until) - Date.parse(now)) / 60_000)
    history.push(rejected)
    if (until !== undefined) {
      const early = new Date(Date.parse(until) - 1).toISOString()
      expect(after(...history, request('rejected', 'k1', early))).toHaveProperty('refused')
      expect(after(...history, request('rejected', 'k2', early))).toHaveProperty('events')
    }
    now = until ?? now
    history.push(request('rejected', 'k1', now), issued(generation + 1, { issuedAt: now }))
  }
  expect(waits).toEqual([null, 1, 2, 4, 8, 16, 32, 60, 60, 60])
  expect(eventOf(...history, reject(11, now, true))).toMatchObject({ times: 1 })
  const other = [
    ...history,
    reject(11, now),
    request('rejected', 'k2', now),
    issued(12, { credential: 'k2', issuedAt: now }),
  ]
  expect(eventOf(...other, reject(12, now))).toMatchObject({ times: 1 })
})

test('tokens that worked but are rejected soon are replaced ten times, then once a minute', () => {
  const history = [request('absent'), issued(1)]
  const waits: (number | null)[] = []
  let now = at
  for (let generation = 1; generation <= 13; generation++) {
    now = new Date(Date.parse(now) + 30_000).toISOString()
    const { until } = eventOf(...history, reject(generation, now, true))
    waits.push(until === undefined ? null : (Date.parse(until) - Date.parse(now)) / 60_000)
    history.push(reject(generation, now, true))
    now = until ?? now
    history.push(request('rejected', 'k1', now), issued(generation + 1, { issuedAt: now }))
  }
  expect(waits).toEqual([...Array(10).fill(null), 1, 1, 1])
  // A token that lives longer ends the row. One that did not work, as far as known, counts in another row.
  const later = (ms: number) => new Date(Date.parse(now) + ms).toISOString()
  expect(eventOf(...history, reject(14, later(60_000), true))).toMatchObject({ times: 1 })
  expect(eventOf(...history, reject(14, later(0)))).toMatchObject({ times: 2, until: later(60_000) })
  const next = [request('rejected', 'k1', later(60_000)), issued(15, { issuedAt: later(60_000) })]
  const mixed = [...history, reject(14, later(0)), ...next]
  expect(eventOf(...mixed, reject(15, later(60_001)))).toMatchObject({ times: 3, until: later(180_001) })
  expect(eventOf(...mixed, reject(15, later(60_001), true))).toMatchObject({
    times: 14,
    until: later(120_001),
  })
})

test('a token rejected after its expiry does not count as rejected soon, even if it never worked here', () => {
  const endsAt = '2026-11-20T12:00:30.000Z'
  const second = issued(2, { expiresAt: endsAt })
  const twice = [request('absent'), issued(1), reject(1), request('rejected'), second]
  expect(eventOf(...twice, reject(2, '2026-11-20T12:00:29.999Z'))).toMatchObject({ times: 2 })
  expect(eventOf(...twice, reject(2, endsAt))).toMatchObject({ times: 1 })
  const often = [...twice, reject(2, endsAt, true), request('rejected', 'k1', endsAt), issued(3, { expiresAt: endsAt })]
  expect(eventOf(...often, reject(3, endsAt, true))).toMatchObject({ times: 1 })
})

test('tokens that expire before they work are replaced ten times, then once a minute', () => {
  const history = [request('absent'), issued(1, { expiresAt: at })]
  const waits: (number | null)[] = []
  let now = at
  for (let generation = 1; generation <= 13; generation++) {
    now = new Date(Date.parse(now) + 1_500).toISOString()
    const { until } = eventOf(...history, reject(generation, now))
    waits.push(until === undefined ? null : (Date.parse(until) - Date.parse(now)) / 60_000)
    history.push(reject(generation, now))
    now = until ?? now
    history.push(
      request('rejected', 'k1', now),
      issued(generation + 1, { issuedAt: now, expiresAt: new Date(Date.parse(now) + 1_000).toISOString() }),
    )
  }
  expect(waits).toEqual([...Array(10).fill(null), 1, 1, 1])
})

test('a token older than a minute does not count as rejected soon and causes no wait', () => {
  const twice = [request('absent'), issued(1), reject(1), request('rejected'), issued(2)]
  expect(eventOf(...twice, reject(2, '2026-11-20T12:00:59.999Z'))).toMatchObject({ times: 2 })
  for (const late of ['2026-11-20T12:01:00.000Z', '2026-11-20T12:20:00.000Z'])
    expect(eventOf(...twice, reject(2, late))).toEqual({ generation: 2, ...holder(), times: 1 })
})

test('a wait set by a clock that was ahead does not count', () => {
  const ahead = '2026-12-20T12:00:00.000Z'
  const twice = [request('absent'), issued(1), reject(1), request('rejected')]
  const rejected = [...twice, issued(2, { issuedAt: ahead, expiresAt: '2026-12-20T13:00:00.000Z' }), reject(2, ahead)]
  expect(eventOf(...rejected)).toMatchObject({ until: '2026-12-20T12:01:00.000Z' })
  expect(after(...rejected, request('rejected', 'k1', ahead))).toHaveProperty('refused')
  expect(after(...rejected, request('rejected'))).toHaveProperty('events')
  const again = [...twice, repeated(2, '2026-12-20T13:00:00.000Z')]
  expect(after(...again, request('repeated', 'k1', ahead))).toHaveProperty('refused')
  expect(after(...again, request('repeated'))).toHaveProperty('events')
})

test('a contract does not wait for a token that was returned again to another contract', () => {
  const until = '2026-11-20T12:10:00.000Z'
  const again = [request('absent'), issued(1), reject(1), request('rejected'), repeated(2, until, 'k2')]
  expect(after(...again, request('repeated', 'k2'))).toHaveProperty('refused')
  expect(after(...again, request('changed', 'k1'))).toHaveProperty('events')
})
