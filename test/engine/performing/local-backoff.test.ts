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
  const pending = { id: 'consent-a/1/0', attempts } as ClaimCandidate['pending'] // Only these members are read.
  return { pending: pending, wasStarted } as ClaimCandidate
}

/** Postpones the call in this process for an hour, after its fifth attempt. */
function postpone(): LocalBackoff {
  const waits = new LocalBackoff(systemClock)
  waits.postpone(found(5).pending, hourMs)
  return waits
}

test('a postponed call waits its time, whatever other processes try meanwhile', () => {
  const waits = postpone()
  expect(waits.isPostponed(found(6))).toBe(true)
  vi.advanceTimersByTime(hourMs - 1)
  expect(waits.isPostponed(found(9))).toBe(true)
  vi.advanceTimersByTime(1)
  expect(waits.isPostponed(found(9))).toBe(false)
})

test('a clock set back does not lengthen the wait, and a corrected clock ends it', () => {
  const back = postpone()
  vi.setSystemTime(Date.now() - 24 * hourMs)
  expect(back.isPostponed(found(6))).toBe(true)
  vi.advanceTimersByTime(hourMs)
  expect(back.isPostponed(found(6))).toBe(false)
  const right = postpone()
  vi.setSystemTime(Date.now() + hourMs)
  expect(right.isPostponed(found(6))).toBe(false)
})

test('a call released by an operator does not wait, even after attempts of another process', () => {
  expect(postpone().isPostponed(found(1))).toBe(false)
  expect(postpone().isPostponed(found(3))).toBe(false)
})

test('a call that another process has begun since does not wait, so its outcome can be recorded', () => {
  expect(postpone().isPostponed(found(6, true))).toBe(false)
})
