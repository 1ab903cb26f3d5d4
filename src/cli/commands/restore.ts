import { Command } from 'commander'
import { type RestoreResult, restoreStore } from '../../index.ts'
import { formatCount, formatPendingEffects, printLine } from '../output.ts'
import { createStoppableProgress } from '../progress.ts'
import { parseRootKey, type RootKeyOption, rootKeyOption } from '../root-key.ts'

/** The command `averba restore`. */
export function restoreCommand(): Command {
  return new Command('restore')
    .description('Make a store from a backup, and check it before it gets its name.')
    .argument('<backup>', 'the file that averba backup made')
    .argument('<store>', 'the file to make; an existing file is not overwritten')
    .option('--keys <file>', 'the keyring; by default the one beside the store or the backup')
    .option('--accept-rollback', 'continue the log under a new name, even if later events are lost')
    .addOption(rootKeyOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nCalls that were pending in the backup may have been made since, and would be made AGAIN: check them before\n' +
        'an engine opens the store. Never run two stores of one log.\nExit codes: 0 done, 1 not done.',
    )
    .action(restore)
}

async function restore(
  backup: string,
  store: string,
  options: RootKeyOption & { json?: boolean; keys?: string; acceptRollback?: boolean },
): Promise<void> {
  const { json = false, keys, acceptRollback = false } = options
  const onProgress = createStoppableProgress()
  const restored = await restoreStore({
    backup,
    store,
    acceptRollback,
    onProgress,
    ...(keys !== undefined && { keys }),
    ...parseRootKey(options),
  })
  if (json) return printLine(JSON.stringify(restored))
  const { position, at, parts, pending, views, resumedAs, lostEvents } = restored
  printLine(
    `${store}: ${formatCount(position, 'event')} up to ${at}, ${formatCount(parts, 'part')}, checked. Later events are not in it.`,
  )
  printLine(`Its keyring is ${restored.keys}.`)
  if (resumedAs !== undefined) printLine(`The log continues as ${resumedAs}, and has recorded that.`)
  if (lostEvents !== undefined)
    printLine(`Lost, according to the high-water mark: at least ${formatCount(lostEvents, 'event')}.`)
  for (const { examples } of views) printLine(`A view has to be rebuilt: ${examples.join('; ')}`)
  for (const line of formatLostErasures(restored.lostErasures, store)) printLine(line)
  printLine('Holds that were set after the backup are lost: set them again before a process with retention runs.')
  if (pending.length === 0) return printLine('No calls were pending when the backup was made.')
  printLine('')
  if (resumedAs !== undefined) {
    printLine('These calls were pending then, and may have been made since. All but readings become unknown:')
    for (const line of formatPendingEffects(pending)) printLine(line)
    return
  }
  printLine('WARNING: these calls were pending then, and may have been made since. An engine that opens this')
  printLine('store makes them AGAIN, except unknown and parked ones, which wait for you. Check the records of')
  printLine('the services first:')
  for (const line of formatPendingEffects(pending)) printLine(line)
}

function* formatLostErasures(lost: RestoreResult['lostErasures'], store: string): Iterable<string> {
  if (lost.length === 0) return
  yield ''
  yield 'WARNING: these people were erased after the backup, and are BACK. Erase them again before anything else:'
  for (const { subject, at } of lost)
    yield `erased ${at}: averba erase ${store} --subject ${subject} --requester <ref> --legal-basis <text> --backups-kept <days>`
  yield ''
}
