import { changeRootKey } from '../../index.ts'
import { defineCommand, exitCodes } from '../command.ts'
import { findLog, namedOptions, requireNamed } from '../load-config.ts'
import { readRootKey } from '../options.ts'

export const changeRootKeyCommand = defineCommand({
  usage: 'change-root-key',
  description: 'Wrap the keys of a log under another root key, and overwrite its former keyring.',
  options: {
    ...namedOptions,
    '--new-root-key-from <variable>': {
      text: 'the environment variable that holds the new root key; by default the keyring gets one of its own',
      read: readRootKey,
    },
  },
  example: 'averba change-root-key --store averba.sqlite',
  notes:
    'Close every engine on it first. Copies of the former keyring still open with the former root key: destroy both.\n' +
    'Exit codes: 0 changed, 1 nothing was changed.',
  async run({ say }, { newRootKeyFrom: newRootKey, ...source }) {
    requireNamed(source, 'Cannot change a root key: it is not said of which log')
    const log = await findLog(source)
    await changeRootKey({ ...log, ...(newRootKey && { newRootKey }) })
    const rootKeyId = newRootKey?.id ?? null
    const { store, keyring: given = `${store}.keys` } = log
    const keyring = typeof given === 'string' ? given : given.name
    const line =
      rootKeyId === null
        ? say`${keyring} now holds its own root key: the option keys must be absent.`
        : say`${keyring} now opens with the root key ${rootKeyId} only: the option keys must hold it.`
    return { result: { rootKeyId }, lines: [line], code: exitCodes.done }
  },
})
