import { expect, test } from 'vitest'
import { codeOfAll } from '../../src/cli/outcome.ts'
import type { Outcome } from '../../src/index.ts'

const of = { position: 1, effect: 'e/1/0', replayed: false }
const settled: Outcome<number> = { ...of, status: 'settled', value: 1 }
const declined: Outcome<number> = { ...of, status: 'declined', problem: { status: 400 } }
const pending: Outcome<number> = { ...of, status: 'pending' }

test('one that was declined counts more than one that is not known yet', () => {
  expect(
    [
      [settled, settled],
      [settled, pending],
      [pending, declined],
      [settled, declined],
    ].map(codeOfAll),
  ).toEqual([...[0, 2, 1, 1]])
})
