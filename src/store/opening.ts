import { existsSync, statSync } from 'node:fs'
import { beganType, logStream } from '../proof/recorded-header.ts'
import { createKeyring, createKeyringIn, type Keyring, openKeyring } from '../vault/keyring.ts'
import { type Exclusively, KeyringFile } from '../vault/keyring-file.ts'
import { guardKeyring, type KeyringStore } from '../vault/keyring-store.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { toInstant } from '../vocabulary/instant.ts'
import type { RecordedEvent } from '../vocabulary/message.ts'
import { isOnPostgres, keyringPath } from '../vocabulary/names.ts'
import { verifierKeyLine } from './checkpoints/high-water-mark.ts'
import { type Connection, rows, type Steps } from './database/connection.ts'
import type { LogPlace } from './database/log-place.ts'
import { migrate } from './database/migrations.ts'
import { locatePostgres, openPostgres } from './database/postgres.ts'
import { openSqlite } from './database/sqlite.ts'
import { endOfLog } from './log/read.ts'
import { readReservation, reservedError } from './log/tail.ts'
import type { StoreOptions } from './store-options.ts'
import { type Append, logEvent } from './writing/append.ts'

/**
 * Opens the file of a log, or creates it. The keyring is checked before the file: a process that creates a log makes
 * the file first, so a keyring without a file is never a new log. Throws as `openSqlite` does.
 *
 * @throws {AverbaError} `KEYS_MISMATCH` when a keyring exists and its log is missing
 */
export async function openFile(path: string): Promise<Connection> {
  if (path !== ':memory:' && existsSync(keyringPath(path)) && isEmptyFile(path)) throw logMissingError(path)
  return openSqlite(path)
}

/** SQLite accepts an empty file as a database, so it counts as a missing log. */
function isEmptyFile(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0
}

/** The options of a store that say where it is kept. What errors name must not have the password of an address. */
export async function placeOf(place: LogPlace): Promise<Pick<StoreOptions, 'path' | 'medium' | 'keyring'>> {
  const { store, pool } = place
  const keyring = place.keyring !== undefined && { keyring: place.keyring }
  if (!isOnPostgres(store)) return { path: store, ...keyring }
  const server = await locatePostgres(store, pool)
  const medium = { open: () => openPostgres(server), keyring: (create: () => Promise<Keyring>) => create() }
  return { path: `postgres:${server.schema}`, medium, ...keyring }
}

/**
 * Creates or migrates the tables. The keyring is created after them: a keyring without tables means a lost log.
 *
 * @param hasKeyring whether it was there before
 */
export function* prepareTables(connection: Connection, path: string, hasKeyring: boolean): Steps<void> {
  const isEmpty = (yield* rows(connection.listTables)).length === 0
  if (isEmpty && hasKeyring) throw logMissingError(path)
  yield* migrate(connection, path)
  if ((yield* readReservation()) !== undefined) throw reservedError(path)
}

/** The error for a keyring whose log is not there: a log that begins would not be the one that it belongs to. */
export function logMissingError(path: string): AverbaError {
  const cannot = `Cannot open "${path}": the log is missing, but its keyring is there`
  const hint = isOnPostgres(path)
    ? 'Look at the address and its schema, or repeat a copy that was interrupted: the keyring belongs to a log elsewhere. A new log needs a keyring of its own'
    : 'Restore a backup with averba restore, repeat a copy that was interrupted, or move the keyring away to start a new log'
  return new AverbaError('KEYS_MISMATCH', cannot, { hint, path })
}

/** Where the keyring of a log is kept; `undefined` for a log in memory. */
export function keyringPlace(connection: Connection, options: StoreOptions): KeyringStore | undefined {
  const { path, entropy, keyring: kept = keyringPath(path) } = options
  if (path === ':memory:') return undefined
  const locks = connection.dialect === 'postgres' ? 'rows' : undefined
  const exclusively: Exclusively = work => connection.transact(() => underLock(connection, work), locks)
  return typeof kept === 'string' ? new KeyringFile(kept, entropy, exclusively) : guardKeyring(kept)
}

/** Opens the keyring of a log, or creates it when the log is empty and has none. */
export async function openOrCreateKeyring(
  place: KeyringStore | undefined,
  options: StoreOptions,
  isEmpty: boolean,
): Promise<Keyring> {
  const { entropy, keys } = options
  if (!place) return createKeyring(entropy)
  if (!isEmpty || (await place.read())) return openKeyring(place, entropy, keys)
  const keyring = await createKeyringIn(place, entropy, keys)
  options.onKeyringCreated?.(place.name)
  return keyring
}

/**
 * Write transactions on a file exclude each other from their first statement on. On a server the keyring has a lock of
 * its own: a disk that hangs would hold up every process with that of the log.
 */
function* underLock<T>({ dialect }: Connection, work: () => T): Steps<T> {
  if (dialect === 'postgres') {
    // A file on a slow disk takes longer than a transaction may otherwise stand still.
    yield { sql: 'set local idle_in_transaction_session_timeout = 0', parameters: [] }
    yield { sql: lockKeyring, parameters: [] }
  } else yield* endOfLog()
  return work()
}

const lockKeyring = `select pg_advisory_xact_lock(hashtextextended('averba keyring ' || current_schema(), 0))`

/** Checks that the keyring is the one that the first event of the log names. Throws `KEYS_MISMATCH`. */
export function checkKeyringId(path: string, { data }: RecordedEvent, keyring: Pick<Keyring, 'id'>): void {
  const { keyring: named }: { keyring?: unknown } = data ?? {}
  if (named === keyring.id) return
  throw new AverbaError('KEYS_MISMATCH', `Cannot open "${path}": the keyring belongs to another log`, {
    hint: 'Put back the keyring file that was created with this log',
  })
}

/** The error for a keyring copied before an erasure in the log: it lacks the epoch that new keys are wrapped by. */
export function outdatedKeyringError(path: string): AverbaError {
  return new AverbaError('KEYS_MISMATCH', `Cannot open "${path}": its keyring is an outdated copy`, {
    hint: 'Put the newest keyring back: an erasure after this copy created keys that it lacks',
    path: keyringPath(path),
  })
}

/** Makes the append of the first event of a log: its origin, its keyring and its signing key. */
export function beginLog(
  keyring: Keyring,
  { clock, createId, beginning }: Pick<StoreOptions, 'clock' | 'createId' | 'beginning'>,
): Append {
  const origin = `log_${createId()}`
  const data = { ...beginning, origin, keyring: keyring.id, key: verifierKeyLine(origin, keyring.signer) }
  const streams = [{ stream: logStream, expect: 'none' as const }]
  return { at: toInstant(clock.now()), streams, events: [logEvent(beganType, 'log.begin', data)] }
}
