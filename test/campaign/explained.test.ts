import { expect, test } from 'vitest'
import { compareReached, explanations } from './explained.ts'
import { reachable } from './reachable.ts'

const reasons = [{ names: /^a /, reason: 'it does not exist' }]

test('unreached names are listed unless explained', () => {
  const all = ['a 1', 'a 2', 'b 1', 'b 2']
  expect(compareReached(all, new Set(['b 1']), reasons)).toEqual({
    unreached: ['b 2'],
    explained: 2,
    refuted: [],
  })
})

test('reaching an explained name refutes the explanation', () => {
  expect(compareReached(['a 1', 'b 1'], new Set(['a 1', 'b 1']), reasons)).toEqual({
    unreached: [],
    explained: 0,
    refuted: ['a 1'],
  })
})

test('reaching a rare name does not refute its explanation', () => {
  const seldom = [{ names: /^a /, reason: 'it takes luck', isSeldom: true }] as const
  expect(compareReached(['a 1', 'a 2'], new Set(['a 1']), seldom)).toEqual({
    unreached: [],
    explained: 1,
    refuted: [],
  })
})

test('every explanation matches a possible transition', () => {
  const all = reachable()
  for (const { names } of explanations) expect(all.filter(name => names.test(name))).not.toEqual([])
})
