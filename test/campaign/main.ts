/** `npm run campaign`: runs a world with faults and crashes for each seed, and prints the checks that failed. */
import { CommanderError } from 'commander'
import { type Flags, readFlags } from './flags.ts'
import { createPlan } from './plan.ts'
import { runSeeds, timeoutCheck } from './run-seeds.ts'
import { type RunResult, runSteps } from './run-steps.ts'
import { shrink as shrinkSteps } from './shrink.ts'
import type { Step } from './step.ts'

/** How many failures are shrunk, because each needs many runs. */
const shrunkMax = 3
/** How many failures of a seed are printed: the first often causes the others. */
const printedMax = 5
/** With so many days of all seeds together, everything must be reached or explained. */
const longDays = 6_000
/** How many characters of a failure are printed. */
const textMax = 600

// Exit codes: 0 every check held, 1 a check failed, 2 invalid flags, no run.
try {
  const flags = readFlags(process.argv.slice(2))
  if (!(await (flags.seed === undefined ? runMany(flags) : runOne(flags.seed, flags)))) process.exitCode = 1
} catch (error) {
  if (!(error instanceof CommanderError)) throw error
  process.exitCode = error.exitCode === 0 ? 0 : 2
}

async function runMany({ until, json, ...numbers }: Flags): Promise<boolean> {
  const failed: RunResult[] = []
  let isInterrupted = false
  process.once('SIGINT', () => {
    console.error('ends after the seeds that are running; interrupt again to end at once')
    isInterrupted = true
  })
  const campaign = await runSeeds(numbers, result => {
    const [failure] = result.failures
    if (failure) {
      failed.push(result)
      // At once, because a killed run prints no summary.
      console.error(`failed: seed ${result.seed}, ${failure.check}`)
    }
    const isEnd = result.failures.some(({ check }) => check === until)
    const { seed, events, failures, digest } = result
    if (!json) console.log(`seed ${seed}: ${events} events, ${failures.length} failures, digest ${digest}`)
    return !isEnd && !isInterrupted
  })
  failed.sort((a, b) => a.seed - b.seed)
  for (const [i, result] of failed.entries()) {
    printFailures(result)
    const isShrunk = i < shrunkMax && until === undefined
    if (isShrunk && !result.failures.some(({ check }) => check === timeoutCheck))
      await printShortest(result, numbers.days)
  }
  if (!json && campaign.unreached.length > 0) console.log(`not reached:\n  ${campaign.unreached.join('\n  ')}`)
  for (const name of campaign.refuted) console.log(`reached, but explained as unreachable: ${name}`)
  console.log(JSON.stringify(campaign))
  const isReached = campaign.unreached.length === 0 || campaign.seeds * numbers.days < longDays
  return failed.length === 0 && campaign.refuted.length === 0 && isReached
}

async function runOne(seed: number, { days, shrink, json }: Flags): Promise<boolean> {
  const steps = createPlan(seed, days)
  const result = await runSteps(seed, steps, json ? undefined : line => console.log(line))
  printFailures(result)
  if (shrink) await printShortest(result, days)
  const { events, digest, failures } = result
  console.log(JSON.stringify({ seed, failures: failures.length, events, digest }))
  return failures.length === 0
}

function printFailures({ seed, failures }: RunResult): void {
  for (const { check, what } of failures.slice(0, printedMax))
    console.log(`seed ${seed}: ${check}: ${what.slice(0, textMax)}`)
}

async function printShortest({ seed, failures }: RunResult, days: number): Promise<void> {
  const [failure] = failures
  if (!failure) return
  const isSame = ({ check }: { check: string }) => check === failure.check
  const fails = async (steps: readonly Step[]) => (await runSteps(seed, steps)).failures.some(isSame)
  const steps = await shrinkSteps(createPlan(seed, days), fails)
  console.log(`shortest steps to ${failure.check} with seed ${seed}:`)
  for (const step of steps) console.log(`  ${JSON.stringify(step)}`)
  console.log(`npm run campaign -- --seed ${seed} --days ${days} prints all steps`)
}
