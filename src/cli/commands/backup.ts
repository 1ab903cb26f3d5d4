import { Command } from 'commander'
import { backupStore } from '../../index.ts'
import { formatBytes, formatCount, formatPendingEffects } from '../output.ts'
import { createStoppableProgress } from '../progress.ts'

/** The command `averba backup`. */
export function backupCommand(): Command {
  return new Command('backup')
    .description('Copy a store, which may be in use, into one new file, and check the copy.')
    .argument('<store>', 'the file of the log')
    .argument('<file>', 'the backup to make; an existing file is not overwritten')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nThe keyring is not in the backup: back up <store>.keys in another place.\nExit codes: 0 done, 1 not done.',
    )
    .action(backup)
}

async function backup(store: string, to: string, { json = false }: { json?: boolean }): Promise<void> {
  const made = await backupStore({ store, to, onProgress: createStoppableProgress() })
  if (json) return console.log(JSON.stringify(made))
  const { position, at, bytes, parts, keyring, epochs, pending } = made
  const extent = `${formatCount(position, 'event')} up to ${at}, ${formatCount(parts, 'part')}`
  console.log(`${to}: ${extent}, ${formatBytes(bytes)}, checked.`)
  console.log(`Its parts open with the keyring ${keyring}, epochs ${epochs.join(', ') || 'none yet'}.`)
  console.log(`The keyring is NOT in it: back up ${store}.keys too, in another place.`)
  if (pending.length === 0) return
  console.log('These calls are pending in the backup: a restored log would make them again.')
  for (const line of formatPendingEffects(pending)) console.log(line)
}
