import { Command } from 'commander'
import type { Plan } from '../../index.ts'
import { defaultConfig, withConfigured } from '../load-config.ts'
import { printSafely } from '../output.ts'

interface Options {
  readonly config: string
  readonly takeOver?: boolean
  readonly json?: boolean
}

/** The command `averba plan`. */
export function planCommand(): Command {
  return new Command('plan')
    .description('Show what it takes to bring the portal in step with the declared subscriptions.')
    .option('--config <file>', 'the configuration', defaultConfig)
    .option('--take-over', 'count events that somebody else has taken as changes')
    .option('--json', 'print one JSON object, which averba apply --plan takes')
    .addHelpText(
      'after',
      '\nNothing is changed at the portal, and no secret is shown.\n' +
        'Exit codes: 0 nothing to do, 2 there are changes, 1 no plan could be made.',
    )
    .action(plan)
}

async function plan({ config, takeOver = false, json = false }: Options): Promise<void> {
  const made = await withConfigured(config, averba => averba.subscriptions.plan())
  const { hash, changes, unreadable } = made
  const count = countChanges(made, takeOver)
  if (count > 0) process.exitCode = 2
  if (json) return printSafely(JSON.stringify({ hash, changes, unreadable }))
  if (changes.length + unreadable.length > 0) for (const line of String(made).split('\n')) printSafely(line)
  printSafely(count === 0 ? 'Nothing to do.' : `${count} to do. To do just this: averba apply --hash ${hash}`)
}

/** How many changes an apply would make. */
function countChanges({ changes }: Pick<Plan, 'changes'>, takeOver: boolean): number {
  return changes.filter(({ action, isTaken }) => action !== 'leave' || (isTaken && takeOver)).length
}
