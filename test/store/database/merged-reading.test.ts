import { expect, test } from 'vitest'
import { isReading, mergeReadings } from '../../../src/store/database/merged-reading.ts'

const sql = 'select name from stream where name = ? order by name limit ?'

test('readings of one text are one query, with an array for what differs', () => {
  const merged = mergeReadings([
    { sql, parameters: ['a', 10] },
    { sql, parameters: ['b', 10] },
  ])
  expect(merged?.query.values).toEqual([expect.any(Buffer), 10])
  expect(merged?.query.text).toContain('where name = each.p0 order by name limit $2')
  const row = (of_statement: number, nth_row: number, name: string) => ({ of_statement, nth_row, name })
  expect(merged?.split([row(1, 1, 'a'), row(1, 2, 'aa')])).toEqual([[{ name: 'a' }, { name: 'aa' }], []])
})

test('what the server could not read at once stays apart', () => {
  const one = { sql, parameters: ['a', 10] }
  expect(mergeReadings([one])).toBeUndefined()
  // A limit cannot differ by row, a column without a value has no type, and equal statements have nothing to join.
  expect(mergeReadings([one, { sql, parameters: ['b', 20] }])).toBeUndefined()
  expect(mergeReadings([one, { sql, parameters: [null, 10] }])).toBeDefined()
  expect(mergeReadings([null, null].map(name => ({ sql, parameters: [name, 10] })))).toBeUndefined()
  expect(mergeReadings([one, one])).toBeUndefined()
  expect(mergeReadings([one, { sql, parameters: [7, 10] }])).toBeUndefined()
})

test('only statements that read may run in another order', () => {
  expect(isReading(sql)).toBe(true)
  expect(isReading('select 1 from head for update')).toBe(false)
  expect(isReading("update stream set tag = (select 'x')")).toBe(false)
  expect(isReading('with gone as (delete from lease returning name) select * from gone')).toBe(false)
})
