/** `npm run campaign`: runs worlds with faults and crashes, one for each seed, and ends with what did not hold. */
import { parseArgs } from 'node:util'
import { planOf } from './plan.ts'
import { runSteps } from './run-steps.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    days: { type: 'string', default: '20' },
    seed: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const days = Number(values.days)
if (values.seed !== undefined) {
  const seed = Number(values.seed)
  const ran = await runSteps(seed, planOf(seed, days), line => console.log(line))
  console.log(JSON.stringify(ran))
} else {
  const seeds = Number(values.seeds)
  const began = performance.now()
  let events = 0
  let failures = 0
  for (let seed = 1; seed <= seeds; seed++) {
    const ran = await runSteps(seed, planOf(seed, days))
    events += ran.events
    if (ran.wrongs.length > 0) failures += 1
    for (const { check, what } of ran.wrongs.slice(0, 2))
      console.log(`seed ${seed}: ${check}: ${what.slice(0, 600)}`)
  }
  const seconds = (performance.now() - began) / 1_000
  console.log(JSON.stringify({ seeds, failures, events, eventsPerSecond: Math.round(events / seconds) }))
}
