import { expect, test } from 'vitest'
import { answerOf } from '../../src/simulation/index.ts'

const day = '2026-11-20'
const soon = (now: string, waiting: readonly string[] = [day]) => ({
  type: 'portal.recoverSoon',
  data: { reason: 'unstored', days: [day], now: `${day}T${now}.000Z`, waiting },
})
const hastened = (dueAt: string) => ({ day, dueAt: `${day}T${dueAt}.000Z` })

test('while a reading of a day is pending, failures schedule at most one more per ten minutes', () => {
  const first = soon('12:00:00')
  expect(answerOf('portal', first)).toMatchObject({
    events: [{ type: 'portal.recoveryHastened', data: { days: [hastened('12:00:10')] } }],
  })
  const second = soon('12:01:00')
  expect(answerOf('portal', first, second)).toMatchObject({
    events: [{ data: { days: [], again: [hastened('12:10:10')] } }],
  })
  expect(answerOf('portal', first, second, soon('12:05:00'))).toEqual({ events: [] })
  expect(answerOf('portal', first, second, soon('12:10:00'))).toEqual({ events: [] })
  // The reading is still pending, two hours later.
  const third = soon('14:00:00')
  expect(answerOf('portal', first, second, third)).toMatchObject({
    events: [{ data: { days: [], again: [hastened('14:00:10')] } }],
  })
  const fourth = soon('14:01:00')
  expect(answerOf('portal', first, second, third, fourth)).toMatchObject({
    events: [{ data: { days: [], again: [hastened('14:10:10')] } }],
  })
  expect(answerOf('portal', first, second, third, fourth, soon('14:09:00'))).toEqual({ events: [] })
  const listed = {
    type: 'portal.failuresListed',
    data: { day, read: 0, unreadable: 0, recovered: 0, stored: 0 },
  }
  expect(answerOf('portal', first, second, third, listed)).toMatchObject({
    events: [{ type: 'portal.failuresListed', effects: [{ dueAt: `${day}T14:00:10.000Z` }] }],
  })
})

test('a parked reading does not prevent a new one', () => {
  expect(answerOf('portal', soon('12:00:00'), soon('13:00:00', []))).toMatchObject({
    events: [{ data: { days: [hastened('13:00:10')] } }],
  })
})
