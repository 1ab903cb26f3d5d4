/** `npm run test:fleet`: breaks processes that share a log on PostgreSQL, and counts what that lost or doubled. */
import { parseArgs } from 'node:util'
import { PostgresServer } from '../support/postgres-server.ts'
import { cutCommits, tailWriters } from './cut-connections.ts'
import { type FleetFindings, kinds, noFindings } from './findings.ts'
import { killWriters } from './kill-writers.ts'
import { shareWork } from './share-work.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    cuts: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '16' },
    stops: { type: 'string', default: '4' },
    /** How many events the reader follows. */
    events: { type: 'string', default: '5000' },
    json: { type: 'boolean', default: false },
  },
})
const numbers = [values.seed, values.cuts, values.kills, values.stops, values.events].map(Number)
if (numbers.some(Number.isNaN)) throw new TypeError('Cannot read the flags: they must be numbers')
const [seed = 0, cuts = 0, kills = 0, stops = 0, events = 0] = numbers

const server = await PostgresServer.start()
const parts: Record<string, () => Promise<FleetFindings>> = {
  'commits cut': () => cutCommits(server, seed, cuts),
  'writers killed': () => killWriters(server, { seed, kills, stops }),
  'writers followed': () => tailWriters(server, seed, events),
  'work shared': () => shareWork(server, { seed, kills, stops }),
}
const all = noFindings()
for (const [name, run] of Object.entries(parts)) {
  const part = await run()
  for (const [what, count] of Object.entries(part.counts)) all.counts[what] = (all.counts[what] ?? 0) + count
  for (const kind of kinds) all[kind].push(...part[kind])
  if (!values.json) console.log(`${name}: ${describe(part)}`)
}
await server.close()
const faults = kinds.flatMap(kind => all[kind].map(each => `${kind}: ${each}`))
if (values.json) {
  const counted = Object.fromEntries(kinds.map(kind => [kind, all[kind].length]))
  console.log(JSON.stringify({ seed, ...all.counts, ...counted, faults: faults.slice(0, 20) }))
} else {
  for (const fault of faults) console.log(fault)
  console.log(`seed ${seed}: ${describe(all)}`)
}
if (faults.length > 0) process.exitCode = 1

function describe({ counts, ...findings }: FleetFindings): string {
  const counted = Object.entries(counts).map(([name, count]) => `${name} ${count}`)
  return [...counted, ...kinds.map(kind => `${kind} ${findings[kind].length}`)].join(', ')
}
