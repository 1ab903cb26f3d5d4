import { expect, test } from 'vitest'
import { createSay } from '../../src/cli/language.ts'
import { describeDone } from '../../src/cli/many.ts'
import { codeOfAll } from '../../src/cli/outcome.ts'
import type { Outcome } from '../../src/index.ts'

const of = { position: 1, effect: 'e/1/0', replayed: false }
const settled: Outcome<number> = { ...of, status: 'settled', value: 1 }
const declined: Outcome<number> = { ...of, status: 'declined', problem: { status: 400 } }
const pending: Outcome<number> = { ...of, status: 'pending' }

test('one that was declined counts more than one that is not known yet', () => {
  expect(codeOfAll([settled, settled])).toBe(0)
  expect(codeOfAll([settled, pending])).toBe(2)
  expect(codeOfAll([pending, declined])).toBe(1)
  expect(codeOfAll([settled, declined])).toBe(1)
})

test('the JSON of many at once is the same in every language, and its lines are not', () => {
  const done = [
    { id: 'a', status: 'recorded', outcome: pending },
    { id: 'b', status: 'failed', code: 'OUTCOME', outcome: declined },
  ] as const
  const [english, portuguese] = (['en', 'pt-BR'] as const).map(each => describeDone(createSay(each), done, 'call'))
  expect(english?.result).toEqual({
    done: [
      { id: 'a', status: 'recorded', detail: 'recorded, and not sent yet' },
      { id: 'b', status: 'failed', code: 'OUTCOME', detail: 'declined (400)' },
    ],
  })
  expect(portuguese?.result).toEqual(english?.result)
  expect([...(portuguese?.lines ?? [])][0]).toMatchObject({ text: 'registrado  a  registrado, e ainda não enviado' })
})
