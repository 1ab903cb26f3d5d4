import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { LocalBackoff } from '../../../src/engine/performing/effect-claimer.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import type { ClaimCandidate } from '../../../src/store/ledger/ledger.ts'
import { hourMs } from '../../support/pass-time.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A call as in the ledger, with the coming attempt counted. */
function found(attempts: number, wasStarted = false): ClaimCandidate {
  return { pending: { id: 'consent-a/1/0', attempts }, wasStarted } as ClaimCandidate // Only these members are read.
}

/** Postpones the call in this process for an hour, after its fifth attempt. Tells whether it still waits. */
function postpone() {
  const waits = new LocalBackoff(systemClock)
  waits.postpone(found(5).pending, hourMs)
  return (attempts: number, wasStarted?: boolean) => waits.isPostponed(found(attempts, wasStarted))
}

test('a postponed call waits its time, whatever other processes try meanwhile', () => {
  const isPostponed = postpone()
  expect(isPostponed(6)).toBe(true)
  vi.advanceTimersByTime(hourMs - 1)
  expect(isPostponed(9)).toBe(true)
  vi.advanceTimersByTime(1)
  expect(isPostponed(9)).toBe(false)
})

test('a clock set back does not lengthen the wait, and a corrected clock ends it', () => {
  const isPostponed = postpone()
  vi.setSystemTime(Date.now() - 24 * hourMs)
  expect(isPostponed(6)).toBe(true)
  vi.advanceTimersByTime(hourMs)
  expect(isPostponed(6)).toBe(false)
  const isStillPostponed = postpone()
  vi.setSystemTime(Date.now() + hourMs)
  expect(isStillPostponed(6)).toBe(false)
})

test('a call released by an operator does not wait, even after attempts of another process', () => {
  for (const attempts of [1, 3]) expect(postpone()(attempts)).toBe(false)
})

test('a call that another process has begun since does not wait, so its outcome can be recorded', () => {
  expect(postpone()(6, true)).toBe(false)
})
