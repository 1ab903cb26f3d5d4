/** `npm run test:crash`: breaks logs in many ways, and prints a table of what was lost. */
import { parseArgs } from 'node:util'
import { injectFaults } from './faults.ts'
import { hasPassed, printTable, type Row, untilConclusive } from './findings.ts'
import { killEngineOften, killOften } from './kills.ts'
import { cutPower } from './power-loss.ts'

/** How many findings of a row are printed. */
const printedMax = 20

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    /** How often the store is killed; the engine is killed a quarter as often. */
    kills: { type: 'string', default: '64' },
    /** How many of all possible faults are injected, evenly spread: a number, or `all`. */
    faults: { type: 'string', default: '200' },
    /** How many disk images after a power cut are checked; a quarter as many for a weakened store. */
    images: { type: 'string', default: '800' },
    /** Fails when a part could not be run. */
    strict: { type: 'boolean', default: false },
  },
})
const given = [values.seed, values.kills, values.images, values.faults.replace('all', 'Infinity')].map(Number)
if (given.some(Number.isNaN)) throw new TypeError('Cannot read the flags: they must be numbers')
const [seed = 0, kills = 0, images = 0, faults = 0] = given

console.log(`seed ${seed}`)
const rows: Row[] = []
for (const [tries, part] of [
  [kills, count => killOften(seed, count)],
  [Math.ceil(kills / 4), count => killEngineOften(seed, count)],
  [faults, count => injectFaults(seed, count)],
  [images, count => cutPower(seed, count)],
  [Math.ceil(images / 4), count => cutPower(seed, count, true)],
] satisfies [number, Parameters<typeof untilConclusive>[1]][]) {
  const done = await untilConclusive(tries, part)
  rows.push(...done)
  for (const row of done)
    console.log(`${row.name}: ${row.notRun === undefined ? `${row.faults} faults tried` : `not run: ${row.notRun}`}`)
}
for (const row of rows.filter(each => !hasPassed(each))) {
  const found = [...(row.mustLose ? [] : row.lost), ...row.corrupt, ...row.unclear]
  console.log(`\n${row.name}, with seed ${seed}:`)
  for (const each of found.slice(0, printedMax)) console.log(`  ${each}`)
  if (found.length > printedMax) console.log(`  and ${found.length - printedMax} more`)
}
printTable(rows)
const isWhole = rows.every(row => row.notRun === undefined)
if (!rows.every(hasPassed) || (values.strict && !isWhole)) process.exitCode = 1
