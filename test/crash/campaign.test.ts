import { expect, test } from 'vitest'
import { injectFaults } from './faults.ts'
import { isGood, type Row, tableOf } from './findings.ts'
import { killEngineOften, killOften } from './kills.ts'
import { cutPower } from './power-loss.ts'

const seed = 1

/** What could not be run here is printed, never passed over. */
function expectGood(...rows: Row[]): void {
  for (const row of rows) if (row.notRun !== undefined) console.warn(`${row.name}: not run: ${row.notRun}`)
  expect(rows.every(isGood), `${tableOf(rows)}\n${JSON.stringify(rows, null, 2)}`).toBe(true)
}

test('a killed store has lost nothing that it acknowledged, and holds nothing twice', async () => {
  expectGood(await killOften({ seed, kills: 4 }))
})

test('a killed engine gives the same answers again, and pays nothing twice', async () => {
  expectGood(await killEngineOften({ seed, kills: 2 }))
})

test('an error or a kill at any write or sync, and an error at any read, lose nothing, and every error has a code', async () => {
  expectGood(...(await injectFaults({ seed, faults: 12 })))
})

test('a power cut loses nothing, and would with less than full durability', async () => {
  expectGood(await cutPower({ seed, images: 48 }), await cutPower({ seed, images: 24, isWeakened: true }))
})
