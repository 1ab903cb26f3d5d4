import { expect, test } from 'vitest'
import { injectFaults } from './faults.ts'
import { formatTable, hasPassed, type Row } from './findings.ts'
import { killEngineOften, killOften } from './kills.ts'
import { cutPower } from './power-loss.ts'

// The campaign of .ci/run tries more; here its own parts are tried.
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

test('an error or kill at any write, sync or read loses nothing, and every error has a code', async () => {
  expectPassed(...(await injectFaults({ seed, faults: 8 })))
})

test('a power cut loses nothing, except with reduced durability', async () => {
  expectPassed(await cutPower({ seed, images: 6 }), await cutPower({ seed, images: 6, isWeakened: true }))
})
