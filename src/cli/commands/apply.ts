import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { type ApplyResult, AverbaError } from '../../index.ts'
import { describeProblem } from '../../vocabulary/outcome.ts'
import { defaultConfig, withConfigured } from '../load-config.ts'
import { printLine } from '../output.ts'

interface Options {
  readonly config: string
  readonly plan?: string
  readonly hash?: string
  readonly allowDeletions?: boolean
  readonly takeOver?: boolean
  readonly json?: boolean
}

/** The command `averba apply`. */
export function applyCommand(): Command {
  return new Command('apply')
    .description('Apply a plan: make the subscriptions at the portal match the declared ones.')
    .option('--config <file>', 'the configuration', defaultConfig)
    .option('--plan <file>', 'the plan that averba plan --json printed; refused when it is no longer current')
    .option('--hash <hash>', 'the hash of the plan that averba plan showed, in place of --plan')
    .option('--allow-deletions', 'delete our subscriptions that are no longer declared')
    .option('--take-over', 'take over subscriptions of others to declared events')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nWithout --plan or --hash a new plan is made and applied. Each event has its own result.\n' +
        'Exit codes: 0 all changes are done, 1 a change is not done.',
    )
    .action(apply)
}

async function apply(options: Options): Promise<void> {
  const { config, plan, hash: given, allowDeletions = false, takeOver = false, json = false } = options
  if (plan !== undefined && given !== undefined) {
    throw new AverbaError('INVALID_INPUT', 'Cannot apply two plans: give --plan or --hash, not both')
  }
  const wanted = plan === undefined ? given : readPlanHash(plan)
  const { hash, applied } = await withConfigured(config, async ({ subscriptions }) => {
    const hash = wanted ?? (await subscriptions.plan()).hash
    const deletions = allowDeletions ? 'allow' : 'refuse'
    return { hash, applied: await subscriptions.apply({ hash }, { deletions, takeOver }) }
  })
  if (applied.some(each => each.status !== 'settled')) process.exitCode = 1
  if (json) return printLine(JSON.stringify({ hash, applied }))
  printLine(`plan ${hash}`)
  for (const each of applied) printLine(formatResult(each))
  if (applied.length === 0) printLine('Nothing to do.')
}

/** Reads the hash from a file with a plan. */
function readPlanHash(file: string): string {
  const hint = 'Write one with: averba plan --json > plan.json'
  try {
    const { hash } = JSON.parse(readFileSync(file, 'utf8')) as { hash?: unknown } // Checked in the next line.
    if (typeof hash === 'string') return hash
  } catch (cause) {
    throw new AverbaError('INVALID_INPUT', `Cannot read the plan "${file}": it is missing or not JSON`, {
      cause,
      hint,
    })
  }
  throw new AverbaError('INVALID_INPUT', `Cannot read the plan "${file}": it has no hash`, { hint })
}

function formatResult(applied: ApplyResult): string {
  const { change } = applied
  const what = `${change.isTaken ? 'take over' : change.action} ${change.evento} ${change.endpoint}`
  return `${applied.status}: ${what}${formatResultReason(applied)}`
}

function formatResultReason(applied: ApplyResult): string {
  if (applied.status === 'declined') {
    const isFromPortal = applied.problem.status !== 0
    return ` (${describeProblem(applied.problem)}${isFromPortal ? "; --json prints the portal's own words" : ''})`
  }
  if (applied.status === 'deferred') return ` (retried at ${applied.retryAt}: ${applied.reason})`
  return applied.status === 'unknown' ? ' (the next plan shows whether it was done)' : ''
}
