import { expect, test } from 'vitest'
import { createRow, hasPassed, type Row, untilConclusive } from './findings.ts'

test.each<[string, Partial<Row>, boolean]>([
  ['that checked something acknowledged passes', { acknowledged: 1 }, true],
  ['that checked nothing acknowledged fails', {}, false],
  ['that lost something fails', { acknowledged: 1, lost: ['x'] }, false],
  ['that found a corrupt file fails', { acknowledged: 1, corrupt: ['x'] }, false],
  ['with an unclear error fails', { acknowledged: 1, unclear: ['x'] }, false],
  ['that must lose and did passes', { acknowledged: 2, mustLose: true, lost: ['x'] }, true],
  ['that must lose and did not fails', { acknowledged: 2, mustLose: true }, false],
  ['that was not run passes', { notRun: 'strace is not installed' }, true],
])('a row %s', (_, row, passes) => {
  expect(hasPassed({ ...createRow('a row'), faults: 9, ...row })).toBe(passes)
})

test('a part that shows nothing is tried again with twice as many tries, but not for ever', async () => {
  const tried: number[] = []
  const shows =
    (acknowledged: number, others: Partial<Row> = {}) =>
    async (tries: number) => {
      tried.push(tries)
      return [{ ...createRow('a row'), acknowledged: tries < 12 ? 0 : acknowledged, ...others }]
    }
  expect((await untilConclusive(3, shows(1))).every(hasPassed)).toBe(true)
  expect((await untilConclusive(100, shows(0))).every(hasPassed)).toBe(false)
  // It has shown something.
  await untilConclusive(1, shows(0, { corrupt: ['x'] }))
  expect(tried).toEqual([3, 6, 12, 100, 200, 400, 800, 1_600, 3_200, 6_400, 1])
})
