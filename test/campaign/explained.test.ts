import { expect, test } from 'vitest'
import { compareReached, explained } from './explained.ts'
import { reachable } from './reachable.ts'

const reasons = [{ names: /^a /, reason: 'it is not there' }]

test('what was not reached is named, unless it is explained', () => {
  const all = ['a 1', 'a 2', 'b 1', 'b 2']
  expect(compareReached(all, new Set(['b 1']), reasons)).toEqual({
    unreached: ['b 2'],
    explained: 2,
    refuted: [],
  })
})

test('an explanation of what was reached is refuted', () => {
  expect(compareReached(['a 1', 'b 1'], new Set(['a 1', 'b 1']), reasons)).toEqual({
    unreached: [],
    explained: 0,
    refuted: ['a 1'],
  })
})

test('what is only seldom reached is explained, and refutes nothing', () => {
  const seldom = [{ names: /^a /, reason: 'it takes luck', isSeldom: true }] as const
  expect(compareReached(['a 1', 'a 2'], new Set(['a 1']), seldom)).toEqual({
    unreached: [],
    explained: 1,
    refuted: [],
  })
})

test('every explanation is of something that a machine could do', () => {
  const all = reachable()
  for (const { names } of explained) expect(all.filter(name => names.test(name))).not.toEqual([])
})
