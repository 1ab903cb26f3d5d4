import { Command } from 'commander'
import { AverbaError, archiveParts, restoreParts } from '../index.ts'
import { counted } from './counted.ts'
import { type RootKeyOption, rootKeyOf, rootKeyOption } from './root-key.ts'

interface Options extends RootKeyOption {
  readonly before?: string
  readonly to?: string
  readonly restore?: string
  readonly json?: boolean
}

/** The command `averba archive`. */
export function archiveCommand(): Command {
  return new Command('archive')
    .description(
      'Move sealed parts of old events out to a bundle, or put them back. The log itself stays whole.',
    )
    .argument('<store>', 'the file of the log, which may be in use')
    .option('--before <instant>', 'only parts of events recorded before it, such as 2026-01-31')
    .option('--to <bundle>', 'the bundle to make; overwrites nothing')
    .option('--restore <bundle>', 'put the parts of a bundle back')
    .addOption(rootKeyOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nReading a part that was moved out is PART_ARCHIVED until it is put back; lists leave it out.\n' +
        'The bundle is sealed with the keys of the log: keep it as long as the log.\nExit codes: 0 done, 1 not done.',
    )
    .action(archive)
}

async function archive(store: string, options: Options): Promise<void> {
  const { before, to, restore, json = false } = options
  const opened = { store, ...rootKeyOf(options) }
  if (restore !== undefined && before === undefined && to === undefined) {
    const back = await restoreParts({ ...opened, from: restore })
    if (json) return console.log(JSON.stringify(back))
    console.log(describeBack(back))
    if (back.keyless > 0) console.log(`Without a key, and not put back: ${counted(back.keyless, 'part')}.`)
    return
  }
  if (before === undefined || to === undefined || restore !== undefined) {
    throw new AverbaError(
      'INVALID_INPUT',
      'Cannot tell what to do: give --before and --to, or --restore alone',
    )
  }
  const moved = await archiveParts({ ...opened, before, to })
  if (json) return console.log(JSON.stringify(moved ?? { count: 0 }))
  if (!moved) return console.log('There is nothing to move, or no longer: no bundle was made.')
  console.log(
    `Moved ${counted(moved.count, 'part')} of events ${moved.from} to ${moved.to} to ${to}, checked, and out of the log.`,
  )
  console.log(`The log names the bundle by its SHA-256: ${moved.bundle}`)
  console.log('Their room in the file was overwritten, and is used before the file grows. Keep the bundle.')
}

function describeBack({ count, returned, from, to }: Awaited<ReturnType<typeof restoreParts>>): string {
  const already = `In the log already: ${counted(count - returned, 'part')}.`
  if (returned === 0) return `Nothing to put back. ${already}`
  const back = `Put back ${counted(returned, 'part')} of events ${from} to ${to}, as the headers name them.`
  return count === returned ? back : `${back} ${already}`
}
