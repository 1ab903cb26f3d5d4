import type { KeyringStore } from '../vault/keyring-store.ts'
import { isOnPostgres } from '../vocabulary/names.ts'
import { accepted, withHint } from './option.ts'

const storeHint = 'Give the path of a SQLite file, :memory:, or an address that begins with postgres:'

/** Where a log is kept. The messages do not repeat the value: an address may contain a password. */
export const storePath = accepted<string>(
  path => typeof path === 'string' && path !== '',
  'it is missing',
  storeHint,
).refine(
  store => isOnPostgres(store) || !/^\w+:\/\//.test(store),
  withHint('it is an address of something else', storeHint),
)

/** Where the keyring of a log on PostgreSQL is kept. */
export const keyringPlace = accepted<string | KeyringStore>(
  isKeyringPlace,
  'it is not a path, or an object with name, read and replace',
)

function isKeyringPlace(value: unknown): boolean {
  const { name, read, replace }: Partial<KeyringStore> = Object(value)
  const isPlace = typeof name === 'string' && typeof read === 'function' && typeof replace === 'function'
  return isPlace || (typeof value === 'string' && value !== '')
}
