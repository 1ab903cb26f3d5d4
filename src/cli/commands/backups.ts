import { existsSync } from 'node:fs'
import {
  type BackupResult,
  backupStore,
  type RestoreResult,
  type ResumeResult,
  restoreStore,
  resumeStore,
} from '../../index.ts'
import { isOnPostgres, markPath } from '../../vocabulary/names.ts'
import { defineCommand } from '../command.ts'
import type { Say } from '../language.ts'
import { findLog, namedOptions, placeOptions, requireNamed } from '../load-config.ts'
import { logOptions } from '../options.ts'
import { formatBytes, formatPendingEffects } from '../output.ts'
import { showValue } from '../printed-commands.ts'
import { createProgress, createStoppableProgress } from '../progress.ts'

export const backupCommand = defineCommand({
  usage: 'backup <file>',
  description: 'Copy a store, which may be in use, into one new file, and check the copy.',
  arguments: ['the backup to make; an existing file is not overwritten'],
  options: placeOptions,
  example: 'averba backup backups/averba.sqlite --store averba.sqlite',
  notes: 'The keyring is not in the backup: back up <store>.keys in another place.\nExit codes: 0 done, 1 not done.',
  async run(terminal, source, to) {
    const { store } = await findLog(source)
    const result = await backupStore({ store, to, onProgress: createStoppableProgress(terminal) })
    return { result, lines: formatBackup(terminal.say, result, store, to) }
  },
})

function* formatBackup(say: Say, made: BackupResult, store: string, to: string): Iterable<string> {
  const { position, at, bytes, parts, keyring, epochs, pending } = made
  const extent = say`${say.count(position, 'event')} up to ${at}, ${say.count(parts, 'part')}`
  yield say`${to}: ${extent}, ${formatBytes(bytes)}, checked.`
  yield say`Its parts open with the keyring ${keyring}, epochs ${epochs.join(', ') || say`none yet`}.`
  yield say`The keyring is NOT in it: back up ${store}.keys too, in another place.`
  if (pending.length === 0) return
  yield say`These calls are open in the backup. A restored log may make those again that are not parked or unknown:`
  yield* formatPendingEffects(say, pending)
}

export const restoreCommand = defineCommand({
  usage: 'restore <backup> <store>',
  description: 'Make a store from a backup, and check it before it gets its name.',
  arguments: ['the file that averba backup made', 'the file to make; an existing file is not overwritten'],
  options: {
    '--keys <file>': 'the keyring; by default the one beside the store or the backup',
    '--accept-rollback': 'continue the log under a new name, even if later events are lost',
    '--root-key-from <variable>': logOptions['--root-key-from <variable>'],
  },
  example: 'averba restore backups/averba.sqlite averba.sqlite',
  notes:
    'Calls that were pending in the backup may have been made since, and would be made AGAIN: check them before ' +
    'an engine opens the store. Never run two stores of one log.\nExit codes: 0 done, 1 not done.',
  async run(terminal, { keys, acceptRollback, rootKeyFrom: rootKey }, backup, store) {
    const onProgress = createStoppableProgress(terminal)
    const more = { ...(keys !== undefined && { keys }), ...(rootKey && { rootKey }) }
    const result = await restoreStore({ backup, store, acceptRollback, onProgress, ...more })
    return { result, lines: formatRestored(terminal.say, result, store) }
  },
})

export const resumeCommand = defineCommand({
  usage: 'resume',
  description:
    'Let a log continue where it is: one that its server put back to an earlier state, or whose new place is lost.',
  options: namedOptions,
  example: 'averba resume --store postgres://db.local/app --keys averba.keys',
  notes:
    'Close every engine on it first. It is checked, and continues under a new name, linked to the old one by an event. Calls that were pending then ' +
    'become unknown, except readings: they may have been made since. A high-water mark of ' +
    'your own is used when the configuration has it.\nExit codes: 0 done, 1 not done.',
  async run(terminal, source) {
    requireNamed(source, 'Cannot resume a log: it is not said which')
    const log = await findLog(source)
    const result = await resumeStore({ ...log, onProgress: createProgress(terminal) })
    return { result, lines: formatResumed(terminal.say, result, log.store) }
  },
})

function* formatResumed(say: Say, resumed: ResumeResult, store: string): Iterable<string> {
  const { position, at, pending, resumedAs, lostErasures } = resumed
  yield say`The log of ${say.count(position, 'event')} up to ${at} continues as ${resumedAs}, and has recorded that.`
  if (resumed.lostEvents !== undefined)
    yield say`Lost, according to the high-water mark: at least ${say.count(resumed.lostEvents, 'event')}.`
  // An address may have a password.
  yield* formatLostErasures(say, lostErasures, isOnPostgres(store) ? '<address>' : store)
  yield* formatUnknown(say, pending)
}

function* formatUnknown(say: Say, pending: ResumeResult['pending']): Iterable<string> {
  if (pending.length === 0) return
  yield say`These calls were pending then, and may have been made since. In the next process all but readings become unknown:`
  yield* formatPendingEffects(say, pending)
}

function* formatRestored(
  say: Say,
  restored: Awaited<ReturnType<typeof restoreStore>>,
  store: string,
): Iterable<string> {
  const { position, at, parts, pending, views, resumedAs } = restored
  const extent = say`${say.count(position, 'event')} up to ${at}, ${say.count(parts, 'part')}`
  yield say`${store}: ${extent}, checked. Later events are not in it.`
  yield say`Its keyring is ${restored.keys}.`
  if (resumedAs !== undefined) yield say`The log continues as ${resumedAs}, and has recorded that.`
  if (!existsSync(markPath(store))) yield say`It has no high-water mark yet: the next process says so, and makes one.`
  if (restored.lostEvents !== undefined)
    yield say`Lost, according to the high-water mark: at least ${say.count(restored.lostEvents, 'event')}.`
  for (const { examples } of views) yield say`A view has to be rebuilt: ${examples.join('; ')}`
  yield* formatLostErasures(say, restored.lostErasures, store)
  yield say`Holds that were set after the backup are lost: set them again before a process with retention runs.`
  if (pending.length === 0) return yield say`No calls were pending when the backup was made.`
  yield ''
  if (resumedAs !== undefined) return yield* formatUnknown(say, pending)
  yield* say`WARNING: these calls were pending then, and may have been made since. An engine that opens this
store makes them AGAIN, except unknown and parked ones, which wait for you. Check the records of
the services first:`.split('\n')
  yield* formatPendingEffects(say, pending)
}

function* formatLostErasures(say: Say, lost: RestoreResult['lostErasures'], store: string): Iterable<string> {
  if (lost.length === 0) return
  yield ''
  yield say`WARNING: these people were erased after the backup, and are BACK. Erase them again before anything else:`
  for (const { subject, at } of lost)
    yield say`erased ${at}: averba erase --store ${showValue(store)} --subject ${subject} --actor <ref> --requester <ref> --legal-basis <text> --backups-kept <days>`
  yield ''
}
