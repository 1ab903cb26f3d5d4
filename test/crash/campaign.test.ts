import { expect, test } from 'vitest'
import { formatTable, hasPassed, type Row } from './findings.ts'
import { killEngineOften, killOften } from './kills.ts'

// The campaign of .ci/run tries more kills, and errors and power cuts besides.
const seed = 1

/** Expects that all rows passed, and prints the reason of those that could not run here. */
function expectPassed(...rows: Row[]): void {
  for (const row of rows) if (row.notRun !== undefined) console.warn(`${row.name}: not run: ${row.notRun}`)
  expect(rows.every(hasPassed), `${formatTable(rows)}\n${JSON.stringify(rows, null, 2)}`).toBe(true)
}

test('a killed store keeps every acknowledged event exactly once', async () => {
  expectPassed(await killOften({ seed, kills: 1 }))
})

test('a killed engine gives the same answers again and pays nothing twice', async () => {
  expectPassed(await killEngineOften({ seed, kills: 1 }))
})
