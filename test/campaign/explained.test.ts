import { expect, test } from 'vitest'
import { compareReached, explained } from './explained.ts'
import { reachable } from './transitions.ts'

const all = ['a 1', 'a 2', 'b 1', 'b 2']
const never = { never: [/^a /], seldom: [] }

test.each([
  ['unreached names are listed unless explained', ['b 1'], never, { unreached: ['b 2'], explained: 2, refuted: [] }],
  ['reaching an explained name refutes the explanation', ['a 1', 'b 1', 'b 2'], never, { refuted: ['a 1'] }],
])('%s', (_, reached, given, coverage) => {
  expect(compareReached(all, new Set(reached), given)).toEqual({ unreached: [], explained: 1, ...coverage })
})

test('every explanation matches a possible transition', () => {
  const possible = reachable()
  for (const names of [...explained.never, ...explained.seldom])
    expect(possible.filter(name => names.test(name))).not.toEqual([])
})
