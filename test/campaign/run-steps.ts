import { AverbaError } from '../../src/vocabulary/errors.ts'
import { dayMs } from '../../src/vocabulary/instant.ts'
import { checks } from './checks.ts'
import { perform } from './perform.ts'
import { LogReader } from './read-on.ts'
import { type CheckFailure, RunRecord } from './run-record.ts'
import { settleDown } from './settle-down.ts'
import { SimulatedHost } from './simulated-host.ts'
import type { Step } from './step.ts'

export interface RunResult {
  readonly seed: number
  readonly failures: readonly CheckFailure[]
  readonly events: number
  readonly reached: readonly string[]
  /** The digest over the log, and over the logs that restores replaced. The same steps give the same digest. */
  readonly digest: string
}

const readEveryMs = 7 * dayMs

/** Performs the steps in a new world, lets it settle, and runs the checks. */
export async function runSteps(
  seed: number,
  steps: readonly Step[],
  onLine?: (line: string) => void,
): Promise<RunResult> {
  const runRecord = new RunRecord(onLine)
  const simulated = new SimulatedHost(seed, runRecord)
  runRecord.addChecks(simulated, checks)
  const start = simulated.clock.now()
  const reader = new LogReader(simulated)
  let step: Step | undefined
  try {
    let readAt = start
    for (step of steps) {
      await simulated.advanceUntil(Math.max(start + step.at, simulated.clock.now()))
      runRecord.trace(`${new Date(simulated.clock.now()).toISOString()} ${JSON.stringify(step)}`)
      // Reads the events that the restore will lose.
      if (step.do === 'restore') reader.read()
      await perform(simulated, step)
      if (step.do === 'restore') reader.read()
      if (simulated.clock.now() - readAt < readEveryMs) continue
      readAt = simulated.clock.now()
      reader.read()
    }
    step = undefined
    await settleDown(simulated)
    reader.read()
    await runRecord.runFinalChecks()
  } catch (error) {
    runRecord.fail('unexpected-error', `${step ? `at ${JSON.stringify(step)}: ` : ''}${formatError(error)}`)
  }
  simulated.dispose()
  const { failures, reached } = runRecord
  return { seed, failures, events: reader.events, reached: [...reached], digest: reader.digest() }
}

function formatError(error: unknown): string {
  if (error instanceof AverbaError) return `${error.code} ${error.stack}`
  return error instanceof Error ? String(error.stack) : String(error)
}
