import { Command } from 'commander'
import { exportBundle } from '../../index.ts'
import { formatCount } from '../output.ts'
import { createProgress } from '../progress.ts'
import { parseRootKey, type RootKeyOption, rootKeyOption } from '../root-key.ts'

/** The command `averba export`. */
export function exportCommand(): Command {
  return new Command('export')
    .description('Export a log to a folder that anyone can verify, with averba or only with Python and openssl.')
    .argument('<store>', 'the file of the log, which may be in use')
    .requiredOption('--dir <folder>', 'a new folder')
    .addOption(rootKeyOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nPersonal data stays sealed: it cannot be read without the keyring.\nExit codes: 0 done, 1 not done.',
    )
    .action(exportTo)
}

async function exportTo(store: string, options: RootKeyOption & { dir: string; json?: boolean }): Promise<void> {
  const { dir, json = false } = options
  const progress = createProgress()
  const exported = await exportBundle({
    store,
    dir,
    ...parseRootKey(options),
    onProgress: (done, end) => progress('export', done, end),
  })
  if (json) return console.log(JSON.stringify(exported))
  const { origin, events, parts } = exported
  console.log(`${dir}: ${formatCount(events, 'event')} and ${formatCount(parts, 'sealed part')} of ${origin}.`)
  console.log('Its README says how to verify it. Also hand over its file "key" by another channel.')
}
