import { expect, test } from 'vitest'
import { compareReached, explanations } from './explained.ts'
import { reachable } from './reachable.ts'

const all = ['a 1', 'a 2', 'b 1', 'b 2']
const reasons = [{ names: /^a /, reason: 'it does not exist' }]
const seldom = [{ names: /^a /, reason: 'it takes luck', isSeldom: true }] as const

test.each([
  ['unreached names are listed unless explained', ['b 1'], reasons, { unreached: ['b 2'], explained: 2, refuted: [] }],
  [
    'reaching an explained name refutes the explanation',
    ['a 1', 'b 1', 'b 2'],
    reasons,
    { unreached: [], explained: 1, refuted: ['a 1'] },
  ],
  [
    'reaching a rare name does not refute its explanation',
    ['a 1', 'b 1', 'b 2'],
    seldom,
    { unreached: [], explained: 1, refuted: [] },
  ],
])('%s', (_, reached, given, coverage) => {
  expect(compareReached(all, new Set(reached), given)).toEqual(coverage)
})

test('every explanation matches a possible transition', () => {
  const possible = reachable()
  for (const { names } of explanations) expect(possible.filter(name => names.test(name))).not.toEqual([])
})
