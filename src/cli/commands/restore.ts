import { Command } from 'commander'
import { type RestoreResult, restoreStore } from '../../index.ts'
import { formatCount, formatPendingEffects, printSafely } from '../output.ts'
import { createStoppableProgress } from '../progress.ts'
import { parseRootKey, type RootKeyOption, rootKeyOption } from '../root-key.ts'

/** The command `averba restore`. */
export function restoreCommand(): Command {
  return new Command('restore')
    .description('Make a store of a backup, checked before it gets its name. Overwrites nothing.')
    .argument('<backup>', 'what averba backup made')
    .argument('<store>', 'the file to make')
    .option('--keys <file>', 'the keyring; the one beside the store or the backup otherwise')
    .option('--accept-rollback', 'go on from a backup under a new name, also where later events are lost')
    .addOption(rootKeyOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nWhat was owed when the backup was made may have been done since, and would be done AGAIN: look at it\n' +
        'before an engine opens the store, and never let two stores of one log run.\nExit codes: 0 done, 1 not done.',
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
  if (json) return printSafely(JSON.stringify(restored))
  const { position, at, parts, owed, views, resumedAs, lostEvents } = restored
  printSafely(
    `${store}: ${formatCount(position, 'event')} up to ${at}, ${formatCount(parts, 'part')}, checked. Nothing later is in it.`,
  )
  printSafely(`Its keyring is ${restored.keys}.`)
  if (resumedAs !== undefined) printSafely(`The log goes on as ${resumedAs}, and says so itself.`)
  if (lostEvents !== undefined)
    printSafely(`Lost by that, as its high-water mark tells: at least ${formatCount(lostEvents, 'event')}.`)
  for (const { examples } of views) printSafely(`A view has to be rebuilt: ${examples.join('; ')}`)
  for (const line of formatLostErasures(restored.lostErasures, store)) printSafely(line)
  printSafely(
    'Holds that were set after it are not in it: set them again before a process with retention opens it.',
  )
  if (owed.length === 0) return printSafely('Nothing was owed when the backup was made.')
  printSafely('')
  if (resumedAs !== undefined) {
    printSafely('These calls were owed then, and may have been made since. All but readings become unknown:')
    for (const line of formatPendingEffects(owed)) printSafely(line)
    return
  }
  printSafely(
    'WARNING: these calls were owed then, and may have been made since. An engine that opens this store',
  )
  printSafely(
    'makes them AGAIN, but for what is unknown or parked, which waits for you. Look into the records of the',
  )
  printSafely('services first:')
  for (const line of formatPendingEffects(owed)) printSafely(line)
}

function* formatLostErasures(lost: RestoreResult['lostErasures'], store: string): Iterable<string> {
  if (lost.length === 0) return
  yield ''
  yield 'WARNING: these persons were erased after the backup, and are BACK. Erase them again before anything else:'
  for (const { subject, at } of lost)
    yield `erased ${at}: averba erase ${store} --subject ${subject} --requester <ref> --legal-basis <text> --backups-kept <days>`
  yield ''
}
