import { Command } from 'commander'
import { type RestoreResult, restoreStore } from '../../index.ts'
import { counted, describePending, print } from '../output.ts'
import { createStoppableProgress } from '../progress.ts'
import { type RootKeyOption, rootKeyOf, rootKeyOption } from '../root-key.ts'

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
    ...rootKeyOf(options),
  })
  if (json) return print(JSON.stringify(restored))
  const { position, at, parts, owed, views, resumedAs, lostEvents } = restored
  print(
    `${store}: ${counted(position, 'event')} up to ${at}, ${counted(parts, 'part')}, checked. Nothing later is in it.`,
  )
  print(`Its keyring is ${restored.keys}.`)
  if (resumedAs !== undefined) print(`The log goes on as ${resumedAs}, and says so itself.`)
  if (lostEvents !== undefined)
    print(`Lost by that, as its high-water mark tells: at least ${counted(lostEvents, 'event')}.`)
  for (const { examples } of views) print(`A view has to be rebuilt: ${examples.join('; ')}`)
  for (const line of describeLost(restored.lostErasures, store)) print(line)
  print(
    'Holds that were set after it are not in it: set them again before a process with retention opens it.',
  )
  if (owed.length === 0) return print('Nothing was owed when the backup was made.')
  print('')
  if (resumedAs !== undefined) {
    print('These calls were owed then, and may have been made since. All but readings become unknown:')
    for (const line of describePending(owed)) print(line)
    return
  }
  print('WARNING: these calls were owed then, and may have been made since. An engine that opens this store')
  print(
    'makes them AGAIN, but for what is unknown or parked, which waits for you. Look into the records of the',
  )
  print('services first:')
  for (const line of describePending(owed)) print(line)
}

function* describeLost(lost: RestoreResult['lostErasures'], store: string): Iterable<string> {
  if (lost.length === 0) return
  yield ''
  yield 'WARNING: these persons were erased after the backup, and are BACK. Erase them again before anything else:'
  for (const { subject, at } of lost)
    yield `erased ${at}: averba erase ${store} --subject ${subject} --requester <ref> --legal-basis <text> --backups-kept <days>`
  yield ''
}
