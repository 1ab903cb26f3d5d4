import { Option } from 'commander'
import { environmentKeys, type Keys } from '../index.ts'

/** The value of the option. */
export interface RootKeyOption {
  readonly rootKeyFrom?: string
}

/** The option of every command that opens a log. */
export function rootKeyOption(): Option {
  return new Option(
    '--root-key-from <variable>',
    'the environment variable that holds the root key, when the keyring does not',
  )
}

/**
 * Reads the root key that the option names; an empty object without the option.
 *
 * @throws {AverbaError} as `environmentKeys`
 */
export function parseRootKey({ rootKeyFrom }: RootKeyOption): { rootKey?: Keys } {
  return rootKeyFrom === undefined ? {} : { rootKey: environmentKeys({ variable: rootKeyFrom }) }
}
