import { Command } from 'commander'
import { replayLog } from '../../index.ts'
import { printSafely } from '../output.ts'
import { createProgress } from '../progress.ts'

/** Exit code for a decision that comes out differently. */
const divergedCode = 2

/** The command `averba replay`. */
export function replayCommand(): Command {
  return new Command('replay')
    .description('Make every recorded decision again, and say which is the first that comes out otherwise.')
    .argument('<store>', 'the file of the log, which may be in use, or a backup of one')
    .option('--until <position or instant>', 'up to here, such as 1000 or 2026-01-31T00:00:00.000Z')
    .option('--against <machine@version>', 'only this machine, also what another version of it decided')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nWhat a command was refused is not in the log, and is not replayed.' +
        '\nNo handler is called: notifications are handled again with notifications.replay() of the API.' +
        '\nExit codes: 0 all come out as recorded, 1 it cannot be read, 2 one comes out otherwise.',
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
  if (json) return printSafely(JSON.stringify(replayed))
  printSafely(`${decisions} decisions up to ${position} were made again.`)
  if (otherVersions > 0)
    printSafely(`${otherVersions} were made by versions that are not here, and were not.`)
  if (!divergence) return printSafely('All come out as they are recorded.')
  printSafely(
    `At ${divergence.position}, in ${divergence.stream}, ${divergence.causedBy} comes out otherwise:`,
  )
  printSafely(`recorded  ${divergence.recorded}`)
  printSafely(`decided   ${divergence.decided}`)
}
