import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { type ApplyResult, AverbaError } from '../../index.ts'
import { describeProblem } from '../../vocabulary/outcome.ts'
import { defaultConfig, withConfigured } from '../load-config.ts'
import { printSafely } from '../output.ts'

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
    .description('Bring the portal in step with the declared subscriptions, as a plan shows it.')
    .option('--config <file>', 'the configuration', defaultConfig)
    .option('--plan <file>', 'the plan that averba plan --json printed; refused when it no longer fits')
    .option('--hash <hash>', 'the same by the hash that averba plan showed')
    .option('--allow-deletions', 'delete what is ours and no longer declared')
    .option('--take-over', 'make subscriptions ours that take a declared event')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nWithout --plan or --hash a plan is made, shown and applied. Each event ends by itself.\n' +
        'Exit codes: 0 all is done, 1 something is not.',
    )
    .action(apply)
}

async function apply(options: Options): Promise<void> {
  const { config, plan, hash: given, allowDeletions = false, takeOver = false, json = false } = options
  if (plan !== undefined && given !== undefined) {
    throw new AverbaError('INVALID_INPUT', 'Cannot tell which plan: give --plan or --hash, not both')
  }
  const asked = plan === undefined ? given : readPlanHash(plan)
  const { hash, applied } = await withConfigured(config, async ({ subscriptions }) => {
    const hash = asked ?? (await subscriptions.plan()).hash
    const deletions = allowDeletions ? 'allow' : 'refuse'
    return { hash, applied: await subscriptions.apply({ hash }, { deletions, takeOver }) }
  })
  if (applied.some(each => each.status !== 'settled')) process.exitCode = 1
  if (json) return printSafely(JSON.stringify({ hash, applied }))
  printSafely(`plan ${hash}`)
  for (const each of applied) printSafely(formatResult(each))
  if (applied.length === 0) printSafely('Nothing to do.')
}

/** The hash in a plan that was written to a file. */
function readPlanHash(file: string): string {
  const hint = 'Write one with: averba plan --json > plan.json'
  try {
    const { hash } = JSON.parse(readFileSync(file, 'utf8')) as { hash?: unknown } // Checked in the next line.
    if (typeof hash === 'string') return hash
  } catch (cause) {
    throw new AverbaError('INVALID_INPUT', `Cannot read the plan "${file}": it is not there, or no JSON`, {
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
    const isTold = applied.problem.status !== 0
    return ` (${describeProblem(applied.problem)}${isTold ? "; --json prints the portal's own words" : ''})`
  }
  if (applied.status === 'deferred') return ` (it goes again at ${applied.retryAt}: ${applied.reason})`
  return applied.status === 'unknown' ? ' (the next plan tells)' : ''
}
