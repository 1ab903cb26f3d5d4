/** `npm run campaign`: runs worlds with faults and crashes, one for each seed, and ends with what did not hold. */
import { parseArgs } from 'node:util'
import { planOf } from './plan.ts'
import { runSeeds } from './run-seeds.ts'
import { type Ran, runSteps } from './run-steps.ts'
import { shrink } from './shrink.ts'
import type { Step } from './step.ts'

/** How many failures are shrunk: each takes many runs. */
const shrunkMax = 3
/** How many wrongs of a seed are told: one often leads to others. */
const toldMax = 5
/** From so many days of all seeds together on, everything that can be reached has to be, or explained. */
const longDays = 3_000
/** How much is shown of what one check found. */
const shownMax = 600

const { values } = parseArgs({
  options: {
    /** How many seeds, from which on, and for how many days of virtual time. */
    seeds: { type: 'string', default: '20' },
    first: { type: 'string', default: '1' },
    days: { type: 'string', default: '30' },
    /** Runs one seed alone, and tells what happens. */
    seed: { type: 'string' },
    /** With a seed: makes its failure as short as it gets before it is told. */
    shrink: { type: 'boolean', default: false },
    /** Ends at the first seed that breaks this check, and shrinks nothing. */
    until: { type: 'string' },
    /** Prints nothing but failures and one JSON object, the last line. */
    json: { type: 'boolean', default: false },
  },
})

const numbers = { seeds: Number(values.seeds), first: Number(values.first), days: Number(values.days) }
if (Object.values(numbers).some(each => !Number.isInteger(each)))
  throw new TypeError('Cannot read the flags: give numbers')
const isGood = values.seed === undefined ? await runMany() : await runOne(Number(values.seed))
if (!isGood) process.exitCode = 1

async function runMany(): Promise<boolean> {
  const failed: Ran[] = []
  const campaign = await runSeeds(numbers, ran => {
    const [wrong] = ran.wrongs
    if (wrong) {
      failed.push(ran)
      // At once: what is told in the end would be lost with a run that is ended before.
      console.error(`failed: seed ${ran.seed}, ${wrong.check}`)
    }
    const isEnd = ran.wrongs.some(({ check }) => check === values.until)
    if (!values.json) console.log(`seed ${ran.seed}: ${ran.events} events, ${ran.wrongs.length} wrong`)
    return !isEnd
  })
  failed.sort((a, b) => a.seed - b.seed)
  for (const [i, ran] of failed.entries()) {
    tell(ran)
    if (i < shrunkMax && values.until === undefined) await tellShortest(ran)
  }
  if (!values.json && campaign.unreached.length > 0)
    console.log(`never reached:\n  ${campaign.unreached.join('\n  ')}`)
  for (const name of campaign.refuted) console.log(`reached, and explained as out of reach: ${name}`)
  console.log(JSON.stringify(campaign))
  const isReached = campaign.unreached.length === 0 || numbers.seeds * numbers.days < longDays
  return failed.length === 0 && campaign.refuted.length === 0 && isReached
}

async function runOne(seed: number): Promise<boolean> {
  const steps = planOf(seed, numbers.days)
  const ran = await runSteps(seed, steps, line => console.log(line))
  tell(ran)
  if (values.shrink) await tellShortest(ran)
  const { events, digest, wrongs } = ran
  console.log(JSON.stringify({ seed, failures: wrongs.length, events, digest }))
  return wrongs.length === 0
}

function tell({ seed, wrongs }: Ran): void {
  for (const { check, what } of wrongs.slice(0, toldMax))
    console.log(`seed ${seed}: ${check}: ${what.slice(0, shownMax)}`)
}

async function tellShortest({ seed, wrongs }: Ran): Promise<void> {
  const [wrong] = wrongs
  if (!wrong) return
  const isSame = ({ check }: { check: string }) => check === wrong.check
  const fails = async (steps: readonly Step[]) => (await runSteps(seed, steps)).wrongs.some(isSame)
  const steps = await shrink(planOf(seed, numbers.days), fails)
  console.log(`the shortest way to ${wrong.check} with seed ${seed}:`)
  for (const step of steps) console.log(`  ${JSON.stringify(step)}`)
  console.log(`npm run campaign -- --seed ${seed} --days ${numbers.days} tells all of it`)
}
