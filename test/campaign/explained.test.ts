import { expect, test } from 'vitest'
import { explained } from './explained.ts'
import { reachable } from './transitions.ts'

test('every explanation matches a possible transition', () => {
  const possible = reachable()
  for (const names of [...explained.never, ...explained.seldom])
    expect(possible.filter(name => names.test(name))).not.toEqual([])
})
