import { Option } from 'commander'
import { environmentKeys, type Keys } from '../index.ts'

/** What the option gives. */
export interface RootKeyOption {
  readonly rootKeyFrom?: string
}

/** The option of every command that opens a log. */
export function rootKeyOption(): Option {
  return new Option(
    '--root-key-from <variable>',
    'the environment variable of the root key, where the keyring has none',
  )
}

/**
 * Turns the option into what the functions of a store take: nothing without it.
 *
 * @throws {AverbaError} as `environmentKeys`
 */
export function parseRootKey({ rootKeyFrom }: RootKeyOption): { rootKey?: Keys } {
  return rootKeyFrom === undefined ? {} : { rootKey: environmentKeys({ variable: rootKeyFrom }) }
}
