import { changeRootKey } from '../../index.ts'
import { defineCommand, exitCodes } from '../command.ts'
import { logOptions, readLogOptions, readRootKey } from '../options.ts'

export const changeRootKeyCommand = defineCommand({
  usage: 'change-root-key <store>',
  description: 'Wrap the keys of a log under another root key, and overwrite its former keyring.',
  arguments: ['the file of the log, or the address of its schema on PostgreSQL; close every engine on it first'],
  options: {
    ...logOptions,
    '--new-root-key-from <variable>': {
      text: 'the environment variable that holds the new root key; by default the keyring gets one of its own',
      read: readRootKey,
    },
  },
  example: 'averba change-root-key averba.sqlite',
  notes:
    'Copies of the former keyring still open with the former root key: destroy both.\n' +
    'Exit codes: 0 changed, 1 nothing was changed.',
  async run({ say }, { keys, rootKeyFrom, newRootKeyFrom: newRootKey }, store) {
    await changeRootKey({ ...readLogOptions(store, { keys, rootKeyFrom }), ...(newRootKey && { newRootKey }) })
    const rootKeyId = newRootKey?.id ?? null
    const keyring = keys ?? `${store}.keys`
    const line =
      rootKeyId === null
        ? say`${keyring} now holds its own root key: the option keys must be absent.`
        : say`${keyring} now opens with the root key ${rootKeyId} only: the option keys must hold it.`
    return { result: { rootKeyId }, lines: [line], code: exitCodes.done }
  },
})
