import { expect, test } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { createIds } from '../../src/runtime/entropy.ts'
import { seededEntropy, VirtualClock } from '../../src/simulation/index.ts'
import { toInstant } from '../../src/vocabulary/instant.ts'

test('ids sort in order of creation, also within a millisecond and when the clock goes back', async () => {
  const clock = new VirtualClock()
  let now = clock.now()
  const createId = createIds({ ...clock, now: () => now, sleep: clock.sleep }, seededEntropy(1))
  const ids = Array.from({ length: 2_000 }, (_, i) => {
    if (i % 300 === 0) now += i % 600 === 0 ? 5 : -3
    return createId()
  })
  expect([...ids].sort()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[0-9a-hjkmnp-tv-z]{26}$/)
})

test('instants sort as texts, for any number of milliseconds', () => {
  const moments = [-Infinity, -8.64e15, Date.parse('-000001-12-31T23:59:59.999Z'), 0, 253402300799999, 8.64e15, 9e15]
  const instants = moments.map(toInstant)
  expect(instants).toEqual([...instants].sort())
  for (const instant of instants) expect(instant).toHaveLength('2026-11-20T12:00:00.000Z'.length)
  expect(instants.at(-1)).toBe('9999-12-31T23:59:59.999Z')
  expect(instants[0]).toBe('0000-01-01T00:00:00.000Z')
})

test('a sleep of the system clock ends when its signal aborts', async () => {
  const stop = new AbortController()
  const slept = systemClock.sleep(60_000, stop.signal)
  stop.abort()
  await slept
  await systemClock.sleep(60_000, stop.signal)
})

test('the same seed gives the same bytes', () => {
  const bytes = (seed: number) => Buffer.from(seededEntropy(seed).bytes(100)).toString('hex')
  expect(bytes(1)).toBe(bytes(1))
  expect(bytes(1)).not.toBe(bytes(2))
})
