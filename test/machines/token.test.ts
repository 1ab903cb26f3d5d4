import { expect, test } from 'vitest'
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate'
import { chartOf, takingRule } from '../../src/machines/definition/chart-rules.ts'
import { tokenMachine } from '../../src/machines/token.ts'
import { answerOf } from '../../src/simulation/index.ts'
import type { Message } from '../../src/vocabulary/message.ts'

const at = '2026-11-20T12:00:00.000Z'
/** Digests of credentials: `k1` and `k2` are two contracts; `k1-new` is `k1` with another secret. */
const holder = (credential = 'k1') => ({ contract: credential.replace('-new', ''), credential })
const request = (need: string, credential = 'k1', when = at): Message => ({
  type: 'token.request',
  data: { need, ...holder(credential), askedAt: when },
})
const issued = (
  generation: number,
  { credential = 'k1', issuedAt = at, expiresAt = '2026-11-21T12:00:00.000Z' } = {},
): Message => ({
  type: 'tokenService.issued',
  data: { generation, ...holder(credential), issuedAt, expiresAt },
})
const reject = (generation: number, when = at, hasServed = false): Message => ({
  type: 'token.reject',
  data: { generation, at: when, hasServed },
})

const after = (...messages: Message[]) => answerOf('token', ...messages)
function eventOf(...messages: Message[]): { times?: number; until?: string; policy?: string } {
  const answer = after(...messages)
  return 'events' in answer ? Object(answer.events[0]?.data) : {}
}

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

/**
 * The waits in minutes after thirteen tokens in a row, each of them rejected this long after it was issued, and the
 * history that leads to them.
 */
function waitsOf(afterMs: number, hasServed: boolean, expiresInMs: number) {
  const later = (when: string, ms: number) => new Date(Date.parse(when) + ms).toISOString()
  const history = [request('absent'), issued(1, { expiresAt: later(at, expiresInMs) })]
  const waits: (number | null)[] = []
  let now = at
  for (let generation = 1; generation <= 13; generation++) {
    now = later(now, afterMs)
    const rejected = reject(generation, now, hasServed)
    const { until } = eventOf(...history, rejected)
    waits.push(until === undefined ? null : (Date.parse(until) - Date.parse(now)) / 60_000)
    now = until ?? now
    const next = issued(generation + 1, { issuedAt: now, expiresAt: later(now, expiresInMs) })
    history.push(rejected, request('rejected', 'k1', now), next)
  }
  return { waits, history, later: (ms: number) => later(now, ms) }
}

test('tokens that worked but are rejected soon are replaced ten times, then once a minute', () => {
  const { waits, history, later } = waitsOf(30_000, true, 86_400_000)
  expect(waits).toEqual([...Array(10).fill(null), 1, 1, 1])
  // A token that lives longer ends the row. One that did not work, as far as known, counts in another row.
  expect(eventOf(...history, reject(14, later(60_000), true))).toMatchObject({ times: 1 })
  expect(eventOf(...history, reject(14, later(0)))).toMatchObject({ times: 2, until: later(60_000) })
  const next = [request('rejected', 'k1', later(60_000)), issued(15, { issuedAt: later(60_000) })]
  const mixed = [...history, reject(14, later(0)), ...next]
  expect(eventOf(...mixed, reject(15, later(60_001)))).toMatchObject({ times: 3, until: later(180_001) })
  expect(eventOf(...mixed, reject(15, later(60_001), true))).toMatchObject({ times: 14, until: later(120_001) })
})

test('tokens that expire before they work are replaced ten times, then once a minute', () => {
  expect(waitsOf(1_500, false, 1_000).waits).toEqual([...Array(10).fill(null), 1, 1, 1])
})

test('the chart refuses the same credentials after they were refused, another secret, and a request before its wait is over', () => {
  const chart = chartOf(tokenMachine) as AnyStateMachine // It has one.
  const refusalOf = takingRule(chart)
  const until = '2026-11-20T12:01:00.000Z'
  const stateAfter = (...types: string[]) =>
    [
      { type: 'token.requested', data: { need: 'absent', ...holder('k1'), askedAt: at } },
      ...types.map(type => ({ type, data: { generation: 1, ...holder('k1'), issuedAt: at, expiresAt: at, until } })),
    ].reduce((state, event) => tokenMachine.evolve(state, event), tokenMachine.initial) as AnyMachineSnapshot
  const requested = (need: string, credential: string, askedAt: string) => ({
    ...{ type: 'token.requested', data: { need, ...holder(credential), askedAt } },
  })
  const refused = (type: string, need: string, credential: string) =>
    refusalOf(stateAfter(type), requested(need, credential, at))?.refused
  for (const ends of [['token.repeated'], ['token.renewed', 'token.rejected']]) {
    expect(refusalOf(stateAfter(...ends), requested('rejected', 'k1', at))?.refused).toContain('the next request waits')
    expect(refusalOf(stateAfter(...ends), requested('rejected', 'k1', until))).toBeUndefined()
    expect(refusalOf(stateAfter(...ends), requested('changed', 'k2', at))).toBeUndefined()
  }
  expect(refused('token.locked', 'lost', 'k1')).toContain('correct them first')
  expect(refused('token.locked', 'lost', 'k1-new')).toBeUndefined()
  expect(refused('token.renewed', 'changed', 'k1-new')).toContain('has not been rejected')
  expect(refused('token.renewed', 'changed', 'k2')).toBeUndefined()
})
