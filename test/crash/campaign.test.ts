import { expect, test } from 'vitest'
import { hasPassed, untilConclusive } from './findings.ts'
import { killEngineOften, killOften } from './kills.ts'

// The campaign of .ci/run tries more kills, and errors and power cuts besides.
test.each([
  ['a killed store keeps every acknowledged event exactly once', killOften],
  ['a killed engine gives the same answers again and pays nothing twice', killEngineOften],
])('%s', async (_, kill) => {
  const rows = await untilConclusive(1, kills => kill(1, kills))
  expect(rows.filter(row => !hasPassed(row))).toEqual([])
})
