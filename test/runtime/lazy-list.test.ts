import { expect, test } from 'vitest'
import { readPages } from '../../src/runtime/lazy-list.ts'
import { readPages as readTable } from '../../src/store/database/connection.ts'
import { refuses } from '../support/refuses.ts'

/** The page after a row, of a damaged index: after some rows, it gives the same ones in a circle for ever. */
function createIndex(begin: number, circle: number) {
  let pages = 0
  return (last?: { n: number }) => {
    pages += 1
    if (pages > 2_000) throw new Error('It is read for ever')
    const n = (last?.n ?? 0) + 1
    return [{ n: n < begin + circle ? n : begin }]
  }
}

test.each([
  [1, 1],
  [3, 7],
  [40, 100],
])('a list whose index leads from row %i on through a circle of %i ends with an error', async (begin, circle) => {
  const pageAfter = createIndex(begin, circle)
  const read = async (last?: { n: number }) => pageAfter(last)
  // The only statement that is run has the page itself as its text.
  const reader = {
    read: async (steps: () => Iterator<unknown>) => JSON.parse(String(Object(steps().next().value).sql)),
  }
  const query = (last?: { n: number }) => ({ sql: JSON.stringify(pageAfter(last)), parameters: [] })
  for (const pages of [readPages(1, read), readTable(reader, query)])
    await refuses('CORRUPT', Array.fromAsync(pages), { message: expect.stringContaining('a table is damaged') })
})
