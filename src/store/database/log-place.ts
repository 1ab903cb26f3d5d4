import type { Entropy } from '../../runtime/entropy.ts'
import { KeyringFile } from '../../vault/keyring-file.ts'
import { guardKeyring, type KeyringStore } from '../../vault/keyring-store.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { isOnPostgres, keyringPath } from '../../vocabulary/names.ts'
import { locatePostgres } from './postgres.ts'
import type { PostgresPool } from './postgres-pool.ts'
import { openPostgresReading } from './postgres-reading.ts'
import type { Reading } from './reading.ts'
import { Snapshot } from './snapshot.ts'

/** Where a log is kept, as in the options of `openAverba`. */
export interface LogPlace {
  /** The path of a file, or the address of a schema on a PostgreSQL server. */
  readonly store: string
  /** The host's own connections to that server. */
  readonly pool?: Pick<PostgresPool, 'connect' | 'options'>
  /** The keyring: by default the file beside the store. A log on PostgreSQL has none there. */
  readonly keyring?: string | KeyringStore
}

/**
 * Opens a log to read it at one moment. Engines may be using it.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`, `MISCONFIGURED`
 */
export async function openReading({ store, pool }: LogPlace): Promise<Reading> {
  return isOnPostgres(store) ? openPostgresReading(await locatePostgres(store, pool)) : Snapshot.open(store)
}

/** Where the keyring of a log is, to read it. Throws `MISCONFIGURED` when it is needed, and not named. */
export function keyringOf({ store, keyring }: LogPlace, entropy: Entropy): KeyringStore {
  if (typeof keyring === 'object') return guardKeyring(keyring)
  if (keyring === undefined && isOnPostgres(store))
    throw new AverbaError('MISCONFIGURED', 'Cannot open a log on PostgreSQL: its keyring is not named', {
      hint: 'Give the option keyring, or --keys on the command line (--to-keys for the new place of a copy)',
    })
  return new KeyringFile(keyring ?? keyringPath(store), entropy)
}

/** Looks again when the keyring was changed meanwhile: it is read after the log, which would seem to lack keys. */
export async function whileKeyringStays<T>(kept: KeyringStore, look: () => Promise<T>): Promise<T> {
  const readTag = async () => (await kept.read().catch(() => undefined))?.tag
  const before = await readTag()
  const found = await look()
  return (await readTag()) === before ? found : look()
}
