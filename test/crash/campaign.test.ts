import { expect, test } from 'vitest'
import { formatTable, hasPassed } from './findings.ts'
import { killEngineOften, killOften } from './kills.ts'

// The campaign of .ci/run tries more kills, and errors and power cuts besides.
test.each([
  ['a killed store keeps every acknowledged event exactly once', killOften],
  ['a killed engine gives the same answers again and pays nothing twice', killEngineOften],
])('%s', async (_, kill) => {
  const row = await kill(1, 1)
  if (row.notRun !== undefined) console.warn(`${row.name}: not run: ${row.notRun}`)
  expect(hasPassed(row), `${formatTable([row])}\n${JSON.stringify(row, null, 2)}`).toBe(true)
})
