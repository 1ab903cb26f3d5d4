import { expect, test } from 'vitest'
import { createRow, hasPassed, type Row } from './findings.ts'

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
