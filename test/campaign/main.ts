/** `npm run campaign`: runs worlds with faults and crashes, one for each seed, and ends with what did not hold. */
import { type Flags, readFlags, usage, WrongFlags } from './flags.ts'
import { planOf } from './plan.ts'
import { endCheck, runSeeds } from './run-seeds.ts'
import { type Ran, runSteps } from './run-steps.ts'
import { shrink as shorten } from './shrink.ts'
import type { Step } from './step.ts'

/** How many failures are shrunk: each takes many runs. */
const shrunkMax = 3
/** How many wrongs of a seed are told: one often leads to others. */
const toldMax = 5
/** From so many days of all seeds together on, everything that can be reached has to be, or explained. */
const longDays = 3_000
/** How much is shown of what one check found. */
const shownMax = 600

/** Exit codes: 0 everything held, 1 something did not, 2 the flags are wrong, and nothing was run. */
const exitCodes = { failed: 1, wrongFlags: 2 } as const

const flags = readOrExplain()
if (flags === 'help') console.log(usage())
else if (flags !== undefined) {
  const isGood = 'seed' in flags ? await runOne(flags) : await runMany(flags)
  if (!isGood) process.exitCode = exitCodes.failed
}

function readOrExplain(): Flags | 'help' | undefined {
  try {
    return readFlags(process.argv.slice(2))
  } catch (error) {
    if (!(error instanceof WrongFlags)) throw error
    console.error(error.message)
    process.exitCode = exitCodes.wrongFlags
    return undefined
  }
}

async function runMany({ until, json, ...numbers }: Extract<Flags, { seeds: number }>): Promise<boolean> {
  const failed: Ran[] = []
  let isInterrupted = false
  process.once('SIGINT', () => {
    console.error('ends with the seeds that are under way; once more ends at once')
    isInterrupted = true
  })
  const campaign = await runSeeds(numbers, ran => {
    const [wrong] = ran.wrongs
    if (wrong) {
      failed.push(ran)
      // At once: what is told in the end would be lost with a run that is ended before.
      console.error(`failed: seed ${ran.seed}, ${wrong.check}`)
    }
    const isEnd = ran.wrongs.some(({ check }) => check === until)
    const { seed, events, wrongs, digest } = ran
    if (!json) console.log(`seed ${seed}: ${events} events, ${wrongs.length} wrong, digest ${digest}`)
    return !isEnd && !isInterrupted
  })
  failed.sort((a, b) => a.seed - b.seed)
  for (const [i, ran] of failed.entries()) {
    tell(ran)
    const isShrunk = i < shrunkMax && until === undefined
    if (isShrunk && !ran.wrongs.some(({ check }) => check === endCheck)) await tellShortest(ran, numbers.days)
  }
  if (!json && campaign.unreached.length > 0)
    console.log(`never reached:\n  ${campaign.unreached.join('\n  ')}`)
  for (const name of campaign.refuted) console.log(`reached, and explained as out of reach: ${name}`)
  console.log(JSON.stringify(campaign))
  const isReached = campaign.unreached.length === 0 || campaign.seeds * numbers.days < longDays
  return failed.length === 0 && campaign.refuted.length === 0 && isReached
}

async function runOne({ seed, days, shrink, json }: Extract<Flags, { seed: number }>): Promise<boolean> {
  const steps = planOf(seed, days)
  const ran = await runSteps(seed, steps, json ? undefined : line => console.log(line))
  tell(ran)
  if (shrink) await tellShortest(ran, days)
  const { events, digest, wrongs } = ran
  console.log(JSON.stringify({ seed, failures: wrongs.length, events, digest }))
  return wrongs.length === 0
}

function tell({ seed, wrongs }: Ran): void {
  for (const { check, what } of wrongs.slice(0, toldMax))
    console.log(`seed ${seed}: ${check}: ${what.slice(0, shownMax)}`)
}

async function tellShortest({ seed, wrongs }: Ran, days: number): Promise<void> {
  const [wrong] = wrongs
  if (!wrong) return
  const isSame = ({ check }: { check: string }) => check === wrong.check
  const fails = async (steps: readonly Step[]) => (await runSteps(seed, steps)).wrongs.some(isSame)
  const steps = await shorten(planOf(seed, days), fails)
  console.log(`the shortest way to ${wrong.check} with seed ${seed}:`)
  for (const step of steps) console.log(`  ${JSON.stringify(step)}`)
  console.log(`npm run campaign -- --seed ${seed} --days ${days} tells what was done`)
}
