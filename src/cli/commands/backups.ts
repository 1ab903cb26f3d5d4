import {
  type BackupResult,
  backupStore,
  type RestoreResult,
  type ResumeResult,
  restoreStore,
  resumeStore,
} from '../../index.ts'
import { defineCommand } from '../command.ts'
import { logOptions, readLogOptions } from '../options.ts'
import { formatBytes, formatCount, formatPendingEffects } from '../output.ts'
import { createProgress, createStoppableProgress } from '../progress.ts'

/** The command `averba backup`. */
export const backupCommand = defineCommand({
  usage: 'backup <store> <file>',
  description: 'Copy a store, which may be in use, into one new file, and check the copy.',
  arguments: ['the file of the log', 'the backup to make; an existing file is not overwritten'],
  options: { '--json': 'print one JSON object' },
  example: 'averba backup averba.sqlite backups/averba.sqlite',
  notes: 'The keyring is not in the backup: back up <store>.keys in another place.\nExit codes: 0 done, 1 not done.',
  async run(terminal, _, store, to) {
    const result = await backupStore({ store, to, onProgress: createStoppableProgress(terminal) })
    return { result, lines: formatBackup(result, store, to) }
  },
})

function* formatBackup(made: BackupResult, store: string, to: string): Iterable<string> {
  const { position, at, bytes, parts, keyring, epochs, pending } = made
  const extent = `${formatCount(position, 'event')} up to ${at}, ${formatCount(parts, 'part')}`
  yield `${to}: ${extent}, ${formatBytes(bytes)}, checked.`
  yield `Its parts open with the keyring ${keyring}, epochs ${epochs.join(', ') || 'none yet'}.`
  yield `The keyring is NOT in it: back up ${store}.keys too, in another place.`
  if (pending.length === 0) return
  yield 'These calls are pending in the backup: a restored log would make them again.'
  yield* formatPendingEffects(pending)
}

/** The command `averba restore`. */
export const restoreCommand = defineCommand({
  usage: 'restore <backup> <store>',
  description: 'Make a store from a backup, and check it before it gets its name.',
  arguments: ['the file that averba backup made', 'the file to make; an existing file is not overwritten'],
  options: {
    '--keys <file>': 'the keyring; by default the one beside the store or the backup',
    '--accept-rollback': 'continue the log under a new name, even if later events are lost',
    '--root-key-from <variable>': logOptions['--root-key-from <variable>'],
    '--json': 'print one JSON object',
  },
  example: 'averba restore backups/averba.sqlite averba.sqlite',
  notes:
    'Calls that were pending in the backup may have been made since, and would be made AGAIN: check them before\n' +
    'an engine opens the store. Never run two stores of one log.\nExit codes: 0 done, 1 not done.',
  async run(terminal, { keys, acceptRollback, rootKeyFrom: rootKey }, backup, store) {
    const onProgress = createStoppableProgress(terminal)
    const more = { ...(keys !== undefined && { keys }), ...(rootKey && { rootKey }) }
    const result = await restoreStore({ backup, store, acceptRollback, onProgress, ...more })
    return { result, lines: formatRestored(result, store) }
  },
})

/** The command `averba resume`. */
export const resumeCommand = defineCommand({
  usage: 'resume <store>',
  description:
    'Let a log continue that was put back to an earlier state where it is, such as by its PostgreSQL server.',
  arguments: ['the address of its schema, or its file; close every engine on it first'],
  options: {
    ...logOptions,
    '--json': 'print one JSON object',
  },
  example: 'averba resume postgres://db.local/app --keys averba.keys',
  notes:
    'It is checked, and continues under a new name, linked to the old one by an event. Calls that were pending then\n' +
    'become unknown, except readings: they may have been made since. A host with a high-water mark of its own calls\n' +
    'resumeStore with it instead.\nExit codes: 0 done, 1 not done.',
  async run(terminal, { keys, rootKeyFrom }, store) {
    const onProgress = createProgress(terminal)
    const result = await resumeStore({ ...readLogOptions(store, { keys, rootKeyFrom }), onProgress })
    return { result, lines: formatResumed(result, store) }
  },
})

function* formatResumed(resumed: ResumeResult, store: string): Iterable<string> {
  const { position, at, pending, resumedAs, lostErasures } = resumed
  yield `The log of ${formatCount(position, 'event')} up to ${at} continues as ${resumedAs}, and has recorded that.`
  yield* formatLoss(resumed)
  yield* formatLostErasures(lostErasures, store)
  yield* formatUnknown(pending)
}

function* formatLoss({ lostEvents }: Pick<ResumeResult, 'lostEvents'>): Iterable<string> {
  if (lostEvents !== undefined)
    yield `Lost, according to the high-water mark: at least ${formatCount(lostEvents, 'event')}.`
}

function* formatUnknown(pending: ResumeResult['pending']): Iterable<string> {
  if (pending.length === 0) return
  yield 'These calls were pending then, and may have been made since. All but readings become unknown:'
  yield* formatPendingEffects(pending)
}

function* formatRestored(restored: Awaited<ReturnType<typeof restoreStore>>, store: string): Iterable<string> {
  const { position, at, parts, pending, views, resumedAs } = restored
  const extent = `${formatCount(position, 'event')} up to ${at}, ${formatCount(parts, 'part')}`
  yield `${store}: ${extent}, checked. Later events are not in it.`
  yield `Its keyring is ${restored.keys}.`
  if (resumedAs !== undefined) yield `The log continues as ${resumedAs}, and has recorded that.`
  yield* formatLoss(restored)
  for (const { examples } of views) yield `A view has to be rebuilt: ${examples.join('; ')}`
  yield* formatLostErasures(restored.lostErasures, store)
  yield 'Holds that were set after the backup are lost: set them again before a process with retention runs.'
  if (pending.length === 0) return yield 'No calls were pending when the backup was made.'
  yield ''
  if (resumedAs !== undefined) {
    yield* formatUnknown(pending)
    return
  }
  yield 'WARNING: these calls were pending then, and may have been made since. An engine that opens this'
  yield 'store makes them AGAIN, except unknown and parked ones, which wait for you. Check the records of'
  yield 'the services first:'
  yield* formatPendingEffects(pending)
}

function* formatLostErasures(lost: RestoreResult['lostErasures'], store: string): Iterable<string> {
  if (lost.length === 0) return
  yield ''
  yield 'WARNING: these people were erased after the backup, and are BACK. Erase them again before anything else:'
  for (const { subject, at } of lost)
    yield `erased ${at}: averba erase ${store} --subject ${subject} --requester <ref> --legal-basis <text> --backups-kept <days>`
  yield ''
}
