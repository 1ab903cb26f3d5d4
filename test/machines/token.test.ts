import { expect, test } from 'vitest'
import type { AnyMachineSnapshot, AnyStateMachine } from 'xstate'
import { chartOf, takingRule } from '../../src/machines/definition/chart-rules.ts'
import { tokenMachine } from '../../src/machines/token.ts'
import { answerOf } from '../../src/simulation/index.ts'
import { dayMs, fromInstant, minuteMs, toInstant } from '../../src/vocabulary/instant.ts'
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
): Message => ({ type: 'tokenService.issued', data: { generation, ...holder(credential), issuedAt, expiresAt } })
const reject = (generation: number, when = at, hasServed = false): Message => ({
  type: 'token.reject',
  data: { generation, at: when, hasServed },
})

const after = (...messages: Message[]) => answerOf('token', ...messages)
function eventOf(...messages: Message[]): { times?: number; until?: string; policy?: string } {
  const answer = after(...messages)
  return 'events' in answer ? Object(answer.events[0]?.data) : {}
}

/**
 * Rejects tokens in a row, each of them this long after it was issued: the request for the next one is refused until its
 * wait is over, for the same contract only. Returns the waits in minutes, and the history that leads to them.
 */
function rejectInRow(count: number, { afterMs = 0, hasServed = false, expiresInMs = dayMs } = {}) {
  const later = (when: string, ms: number) => toInstant(fromInstant(when) + ms)
  const history = [request('absent'), issued(1, { expiresAt: later(at, expiresInMs) })]
  const waits: (number | null)[] = []
  let now = at
  for (let generation = 1; generation <= count; generation++) {
    now = later(now, afterMs)
    const rejected = reject(generation, now, hasServed)
    const { until, policy = '', times } = eventOf(...history, rejected)
    expect([times, policy]).toEqual([generation, until === undefined ? '' : 'rejection-1'])
    waits.push(until === undefined ? null : (fromInstant(until) - fromInstant(now)) / minuteMs)
    history.push(rejected)
    if (until !== undefined) {
      expect(after(...history, request('rejected', 'k1', later(until, -1)))).toHaveProperty('refused')
      expect(after(...history, request('rejected', 'k2', later(until, -1)))).toHaveProperty('events')
      now = until
    }
    const next = issued(generation + 1, { issuedAt: now, expiresAt: later(now, expiresInMs) })
    history.push(request('rejected', 'k1', now), next)
  }
  return { waits, history, later: (ms: number) => later(now, ms) }
}

test('the wait doubles for each token in a row that is rejected without having worked', () => {
  const { waits, history, later } = rejectInRow(10)
  expect(waits).toEqual([null, 1, 2, 4, 8, 16, 32, 60, 60, 60])
  expect(eventOf(...history, reject(11, later(0), true))).toMatchObject({ times: 1 })
  const ofOther = [request('rejected', 'k2', later(0)), issued(12, { credential: 'k2', issuedAt: later(0) })]
  expect(eventOf(...history, reject(11, later(0)), ...ofOther, reject(12, later(0)))).toMatchObject({ times: 1 })
})

test('tokens that worked but are rejected soon are replaced ten times, then once a minute', () => {
  const { waits, history, later } = rejectInRow(13, { afterMs: 30_000, hasServed: true })
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
  expect(rejectInRow(13, { afterMs: 1_500, expiresInMs: 1_000 }).waits).toEqual([...Array(10).fill(null), 1, 1, 1])
})

test('tokens that worked until their end are no rejections in a row, however short they live', () => {
  const served = [1, 2].flatMap(n => [request('ended'), issued(n, { expiresAt: at }), reject(n, at, true)])
  expect(eventOf(...served)).toEqual({ ...eventOf(...served.slice(0, 3)), generation: 2 })
})

test('times of a clock that was far ahead or is set back make no wait longer, and no token young', () => {
  const ahead = '2027-11-20T12:00:00.000Z'
  const twice = (issuedAt: string, when: string) => [
    ...[request('absent'), issued(1), reject(1)],
    ...[request('rejected'), issued(2, { issuedAt, expiresAt: '2028-11-20T12:00:00.000Z' }), reject(2, when)],
  ]
  expect(after(...twice(ahead, ahead), request('rejected', 'k1', ahead))).toHaveProperty('refused')
  expect(after(...twice(ahead, ahead), request('rejected'))).toHaveProperty('events')
  // A few minutes are what clocks differ by; more is no age at all.
  expect(eventOf(...twice('2026-11-20T12:05:00.000Z', at))).toMatchObject({ times: 2 })
  expect(eventOf(...twice(ahead, at))).toMatchObject({ times: 1 })
})

test('the chart refuses the same credentials after they were refused, another secret, and a request before its wait is over', () => {
  const chart = chartOf(tokenMachine) as AnyStateMachine // It has one.
  const refusalOf = takingRule(chart)
  const until = '2026-11-20T12:01:00.000Z'
  const requested = (need: string, credential = 'k1', askedAt = at) => ({
    ...{ type: 'token.requested', data: { need, ...holder(credential), askedAt } },
  })
  const refusedAfter = (types: string[], ...next: Parameters<typeof requested>) => {
    const data = { generation: 1, ...holder(), issuedAt: at, expiresAt: at, until }
    const events = [requested('absent'), ...types.map(type => ({ type, data }))]
    const state = events.reduce((state, event) => tokenMachine.evolve(state, event), tokenMachine.initial)
    return refusalOf(state as AnyMachineSnapshot, requested(...next))?.refused
  }
  for (const ends of [['token.repeated'], ['token.renewed', 'token.rejected']]) {
    expect(refusedAfter(ends, 'rejected')).toContain('the next request waits')
    expect(refusedAfter(ends, 'rejected', 'k1', until)).toBeUndefined()
    expect(refusedAfter(ends, 'changed', 'k2')).toBeUndefined()
  }
  expect(refusedAfter(['token.locked'], 'lost')).toContain('correct them first')
  expect(refusedAfter(['token.locked'], 'lost', 'k1-new')).toBeUndefined()
  expect(refusedAfter(['token.renewed'], 'changed', 'k1-new')).toContain('has not been rejected')
  expect(refusedAfter(['token.renewed'], 'changed', 'k2')).toBeUndefined()
})
