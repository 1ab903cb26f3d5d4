import { Command } from 'commander'
import { replayLog } from '../../index.ts'
import { printLine } from '../output.ts'
import { createProgress } from '../progress.ts'

/** The exit code when a decision differs from the recorded one. */
const divergedCode = 2

/** The command `averba replay`. */
export function replayCommand(): Command {
  return new Command('replay')
    .description('Repeat every recorded decision, and report the first one with a different result.')
    .argument('<store>', 'the file of the log, which may be in use, or a backup of one')
    .option('--until <position or instant>', 'the end, such as 1000 or 2026-01-31T00:00:00.000Z')
    .option('--against <machine@version>', 'only this machine, including decisions of its other versions')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nRefused commands are not in the log, and are not replayed.' +
        '\nNo handler is called: to handle notifications again, use notifications.replay() of the API.' +
        '\nExit codes: 0 all results are equal, 1 the log cannot be read, 2 a result is different.',
    )
    .action(replay)
}

async function replay(
  store: string,
  { until, against, json = false }: { until?: string; against?: string; json?: boolean },
): Promise<void> {
  const progress = createProgress()
  const replayed = await replayLog({
    store,
    ...(until !== undefined && { until: /^\d+$/.test(until) ? Number(until) : until }),
    ...(against !== undefined && { against }),
    onProgress: (position, end) => progress('replay', position, end),
  })
  const { decisions, otherVersions, position, divergence } = replayed
  if (divergence) process.exitCode = divergedCode
  if (json) return printLine(JSON.stringify(replayed))
  printLine(`${decisions} decisions up to ${position} were repeated.`)
  if (otherVersions > 0) printLine(`${otherVersions} were not, since their machine version is not available.`)
  if (!divergence) return printLine('All results are equal to the recorded ones.')
  printLine(`At ${divergence.position}, in ${divergence.stream}, ${divergence.causedBy} has a different result:`)
  printLine(`recorded  ${divergence.recorded}`)
  printLine(`decided   ${divergence.decided}`)
}
