import { copyStore } from '../../index.ts'
import { isOnPostgres, keyringPath } from '../../vocabulary/names.ts'
import { defineCommand } from '../command.ts'
import { logOptions, readLogOptions } from '../options.ts'
import { createProgress } from '../progress.ts'

export const copyCommand = defineCommand({
  usage: 'copy <from> <to>',
  description:
    'Move a log, such as from a file to PostgreSQL: copy it with its keyring, and prove that both are equal.',
  arguments: [
    'the file of the log, or the address of its schema on PostgreSQL; close every engine on it first',
    'a file or a schema that does not exist yet',
  ],
  options: {
    ...logOptions,
    '--to-keys <file>': 'the new place of the keyring: for PostgreSQL, a file that every machine reaches',
  },
  example: 'averba copy averba.sqlite postgres://db.local/app --to-keys averba.keys',
  notes:
    'The log ends at its former place with log.moved: nothing is recorded there any more, and opening it fails ' +
    'with MOVED. After an interruption, the same command goes on. Keep the former keyring until the new one is ' +
    'backed up, then destroy it: erasures after the move do not reach it.\nExit codes: 0 moved, 1 not moved.',
  async run(terminal, { keys, rootKeyFrom, toKeys }, from, to) {
    const progress = createProgress(terminal)
    const result = await copyStore({
      from: readLogOptions(from, { keys, rootKeyFrom }),
      to: { store: to, ...(toKeys !== undefined && { keyring: toKeys }) },
      onProgress: (done, end) => progress('copy', done, end),
    })
    const { events, root } = result
    const { say } = terminal
    const lines = [
      say`${say.count(events, 'event')} were copied, with the root ${root} at both places.`,
      say`Its keyring is ${toKeys ?? keyringPath(to)}.`,
      say`Name the new place in each configuration: ${isOnPostgres(to) ? 'store, keyring' : 'store'}. Back up its keyring.`,
    ]
    return { result, lines }
  },
})
