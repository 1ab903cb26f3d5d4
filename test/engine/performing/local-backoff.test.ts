import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LocalBackoff } from '../../../src/engine/performing/local-backoff.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { ClaimCandidate } from '../../../src/store/ledger/ledger.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A call as the ledger has it, with the coming attempt counted. */
function found(attempts: number, wasStarted = false): ClaimCandidate {
  const pending = { id: 'consent-a/1/0', attempts } as ClaimCandidate['pending'] // All that is looked at.
  return { pending: pending, wasStarted } as ClaimCandidate
}

/** This process has put the call off for an hour, after its fifth attempt. */
function putOff(): LocalBackoff {
  const waits = new LocalBackoff(systemClock)
  waits.postpone(found(5).pending, hourMs)
  return waits
}

test('a call waits as long as it was put off, whatever other processes try meanwhile', () => {
  const waits = putOff()
  expect(waits.isPostponed(found(6))).toBe(true)
  vi.advanceTimersByTime(hourMs - 1)
  expect(waits.isPostponed(found(9))).toBe(true)
  vi.advanceTimersByTime(1)
  expect(waits.isPostponed(found(9))).toBe(false)
})

test('a clock that is put back makes it no longer, and one that is put right ends it', () => {
  const back = putOff()
  vi.setSystemTime(Date.now() - 24 * hourMs)
  expect(back.isPostponed(found(6))).toBe(true)
  vi.advanceTimersByTime(hourMs)
  expect(back.isPostponed(found(6))).toBe(false)
  const right = putOff()
  vi.setSystemTime(Date.now() + hourMs)
  expect(right.isPostponed(found(6))).toBe(false)
})

test('a call that an operator let go does not wait, also when another process has tried it since', () => {
  expect(putOff().isPostponed(found(1))).toBe(false)
  expect(putOff().isPostponed(found(3))).toBe(false)
})

test('a call that another process has begun since does not wait: whoever finds it says what became of it', () => {
  expect(putOff().isPostponed(found(6, true))).toBe(false)
})
