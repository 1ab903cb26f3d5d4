import { Command } from 'commander'
import type { Plan } from '../../index.ts'
import { defaultConfig, withConfigured } from '../load-config.ts'
import { formatCount, printLine } from '../output.ts'

interface Options {
  readonly config: string
  readonly takeOver?: boolean
  readonly json?: boolean
}

/** The command `averba plan`. */
export function planCommand(): Command {
  return new Command('plan')
    .description('Show the changes that make the subscriptions at the portal match the declared ones.')
    .option('--config <file>', 'the configuration', defaultConfig)
    .option('--take-over', 'count subscriptions of others to declared events as changes')
    .option('--json', 'print one JSON object, for averba apply --plan')
    .addHelpText(
      'after',
      '\nThe portal is only read, and no secret is shown.\n' +
        'Exit codes: 0 no changes, 2 there are changes, 1 the plan could not be made.',
    )
    .action(plan)
}

async function plan({ config, takeOver = false, json = false }: Options): Promise<void> {
  const made = await withConfigured(config, averba => averba.subscriptions.plan())
  const { hash, changes, unreadable } = made
  const count = countChanges(made, takeOver)
  if (count > 0) process.exitCode = 2
  if (json) return printLine(JSON.stringify({ hash, changes, unreadable }))
  if (changes.length + unreadable.length > 0) for (const line of String(made).split('\n')) printLine(line)
  printLine(
    count === 0
      ? 'Nothing to do.'
      : `${formatCount(count, 'change')}. To apply exactly this plan: averba apply --hash ${hash}`,
  )
}

/** Counts the changes that averba apply would make. */
function countChanges({ changes }: Pick<Plan, 'changes'>, takeOver: boolean): number {
  return changes.filter(({ action, isTaken }) => action !== 'leave' || (isTaken && takeOver)).length
}
