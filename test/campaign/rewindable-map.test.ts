import { expect, test } from 'vitest'
import { RewindableMap } from './rewindable-map.ts'

test('a map is rewound to a position and continues from there', () => {
  const map = new RewindableMap<string, number>()
  const all = () => ['a', 'b', 'c'].map(key => map.get(key))
  map.set(1, 'a', 1)
  map.set(2, 'b', 2)
  map.set(3, 'a', 3)
  map.set(4, 'c', 4)
  map.set(4, 'c', 5)
  map.rewind(4)
  expect(all()).toEqual([3, 2, 5])
  map.rewind(2)
  expect(all()).toEqual([1, 2, undefined])
  map.set(3, 'b', 6)
  expect(all()).toEqual([1, 6, undefined])
  map.rewind(1)
  expect(all()).toEqual([1, undefined, undefined])
  map.rewind(0)
  expect(all()).toEqual([undefined, undefined, undefined])
})
