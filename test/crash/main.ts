/** `npm run test:crash`: breaks logs in many ways, and prints a table of what was lost. */
import { parseArgs } from 'node:util'
import { runCampaign } from './campaign.ts'
import { formatTable, hasPassed, type Row } from './findings.ts'

/** How many findings of a row are printed. */
const printedMax = 20

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    kills: { type: 'string', default: '64' },
    /** A number, or `all`. */
    faults: { type: 'string', default: '200' },
    images: { type: 'string', default: '800' },
    /** Fails when a part could not be run. */
    strict: { type: 'boolean', default: false },
  },
})
const [seed, kills, images] = [values.seed, values.kills, values.images].map(Number) as [number, number, number] // Three values.
const faults = values.faults === 'all' ? Number.POSITIVE_INFINITY : Number(values.faults)
if ([seed, kills, images, faults].some(Number.isNaN)) throw new TypeError('Cannot read the flags: they must be numbers')

console.log(`seed ${seed}`)
const rows: Row[] = []
for await (const row of runCampaign({ seed, kills, faults, images })) {
  rows.push(row)
  console.log(`${row.name}: ${row.notRun === undefined ? `${row.faults} faults tried` : `not run: ${row.notRun}`}`)
}
for (const row of rows.filter(each => !hasPassed(each))) {
  const found = [...(row.mustLose ? [] : row.lost), ...row.corrupt, ...row.unclear]
  console.log(`\n${row.name}, with seed ${seed}:`)
  for (const each of found.slice(0, printedMax)) console.log(`  ${each}`)
  if (found.length > printedMax) console.log(`  and ${found.length - printedMax} more`)
}
console.log(`\n${formatTable(rows)}`)
const isWhole = rows.every(row => row.notRun === undefined)
if (!rows.every(hasPassed) || (values.strict && !isWhole)) process.exitCode = 1
