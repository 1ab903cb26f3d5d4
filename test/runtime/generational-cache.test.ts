import { expect, test } from 'vitest'
import { GenerationalCache } from '../../src/runtime/generational-cache.ts'

function filled(kept: number, count: number): GenerationalCache<number, string> {
  const cache = new GenerationalCache<number, string>(kept)
  for (let key = 0; key < count; key++) cache.set(key, `value ${key}`)
  return cache
}

test.each([1, 3, 4, 5, 7, 8, 11, 400])('of %i entries the newest are kept, fewer than twice the minimum', count => {
  const kept = 4
  // A read changes which entries are dropped next, so each key is read from a new cache.
  const keys = Array.from({ length: count }, (_, key) => key).filter(key => filled(kept, count).get(key))
  expect(keys.length).toBeGreaterThanOrEqual(Math.min(kept, count))
  expect(keys.length).toBeLessThan(2 * kept)
  expect(keys).toEqual(Array.from(keys, (_, i) => count - keys.length + i))
})

test('an entry that is read often stays', () => {
  const cache = filled(4, 1)
  for (let key = 1; key < 100; key++) {
    expect(cache.get(0)).toBe('value 0')
    cache.set(key, 'new')
  }
})

test('set replaces and delete removes entries of both generations', () => {
  const cache = filled(4, 5)
  cache.set(3, 'again')
  expect(cache.get(3)).toBe('again')
  cache.delete(3)
  cache.delete(4)
  expect([0, 1, 2, 3, 4].filter(key => cache.get(key))).toEqual([0, 1, 2])
})
