import { afterEach, expect, test, vi } from 'vitest'
import { Deadlines } from '../../../src/adapters/receiver/deadlines.ts'
import { systemClock } from '../../../src/runtime/clock.ts'

afterEach(() => {
  vi.useRealTimers()
})

test.each([-3_600_000, 3_600_000])('setting the system clock by %i ms does not change deadlines', async byMs => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const limitMs = 60
  const deadlines = new Deadlines(systemClock, limitMs)
  const begin = () => {
    const over = Promise.withResolvers<number>()
    const began = performance.now()
    deadlines.begin().onOver = () => over.resolve(performance.now() - began)
    return over.promise
  }
  const waits = [begin(), begin(), begin()]
  vi.setSystemTime(Date.now() + byMs)
  waits.push(begin())
  for (const tookMs of await Promise.all(waits)) {
    expect(tookMs).toBeGreaterThan(limitMs - 5)
    expect(tookMs).toBeLessThan(limitMs * 2)
  }
})
