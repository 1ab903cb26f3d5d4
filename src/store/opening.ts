import { existsSync, statSync } from 'node:fs'
import { beganType, logStream } from '../proof/log-stream.ts'
import type { Entropy } from '../runtime/entropy.ts'
import {
  createKeyring,
  createKeyringFile,
  createKeyringFileUnder,
  type Keyring,
  openKeyringFile,
  openKeyringFileUnder,
} from '../vault/keyring.ts'
import type { Keys } from '../vault/keys.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { toInstant } from '../vocabulary/instant.ts'
import type { RecordedEvent } from '../vocabulary/message.ts'
import { keyringPath } from '../vocabulary/names.ts'
import { keyLineOf } from './checkpoints/resuming.ts'
import { type Connection, rows, type Steps } from './database/connection.ts'
import { migrate } from './database/migrations.ts'
import { openSqlite } from './database/sqlite.ts'
import { damaged } from './log/damaged.ts'
import type { StoreOptions } from './store-options.ts'
import { type Append, logEvent } from './writing/append.ts'

interface KeyringOptions {
  readonly path: string
  readonly entropy: Entropy
  readonly keys?: Keys
  readonly onKeyringCreated?: (path: string) => void
}

/**
 * Opens the file of a log, or makes one, except where a keyring is left and its log is gone. The keyring is looked for
 * first: it is made after the file, even where another process begins the log at this moment. Throws as `openSqlite`
 * does.
 *
 * @throws {AverbaError} `KEYS_MISMATCH` when the log is gone
 */
export async function openFile(path: string): Promise<Connection> {
  if (path !== ':memory:' && existsSync(keyringOf(path)) && isNothing(path)) throw lost(path)
  return openSqlite(path)
}

/** An empty file becomes a database by the first pragma that is set. */
function isNothing(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0
}

/**
 * Makes the tables, or migrates them. The keyring is made after the tables: a keyring without tables means that a log
 * was lost, and a new one would hide that.
 */
export function* prepareTables(connection: Connection, path: string): Steps<void> {
  const isEmpty = (yield* rows(connection.listTables)).length === 0
  if (isEmpty && path !== ':memory:' && existsSync(keyringOf(path))) throw lost(path)
  yield* migrate(connection, path)
}

function lost(path: string): AverbaError {
  const cannot = `Cannot open "${path}": the log that belongs to the keyring beside it is gone`
  return new AverbaError('KEYS_MISMATCH', cannot, {
    hint: 'Restore a backup with averba restore, or move the keyring away to begin a new log',
    path,
  })
}

/** Opens the keyring beside a file, or makes the first one, for an empty log without a keyring. */
export async function openKeyring(options: KeyringOptions, isEmpty: boolean): Promise<Keyring> {
  const { keys, entropy } = options
  if (options.path === ':memory:') return createKeyring(entropy)
  const path = keyringOf(options.path)
  if (!isEmpty || existsSync(path))
    return keys ? openKeyringFileUnder(keys, path, entropy) : openKeyringFile(path, entropy)
  const keyring = keys ? await createKeyringFileUnder(keys, path, entropy) : createKeyringFile(path, entropy)
  options.onKeyringCreated?.(path)
  return keyring
}

/**
 * Compares the keyring with the one that the first event of the log names.
 *
 * @throws {AverbaError} `KEYS_MISMATCH`
 */
export function refuseOtherKeyring(
  path: string,
  { data }: RecordedEvent,
  keyring: Pick<Keyring, 'id'>,
): void {
  // As `begin` writes it.
  if ((data as { keyring?: unknown }).keyring === keyring.id) return
  throw new AverbaError('KEYS_MISMATCH', `Cannot open "${path}": its keyring is another one`, {
    hint: 'Put back the keyring file that was made with this log',
  })
}

/** The error for a keyring from before an erasure that the log knows of: nothing could be written with it. */
export function olderKeyring(path: string): AverbaError {
  return new AverbaError('KEYS_MISMATCH', `Cannot open "${path}": its keyring is an older copy`, {
    hint: 'Put the newest keyring back: an erasure since that copy has begun keys that it does not have',
    path: keyringOf(path),
  })
}

function keyringOf(path: string): string {
  return keyringPath(path)
}

/** What a log is begun with. */
interface NewLog {
  append(input: Append): Promise<unknown>
  readAt(position: number): Promise<RecordedEvent | undefined>
  readonly keyring: Keyring
}

/** Says in the log itself, as its first event, which log it is, and which keyring and key belong to it. */
export async function begin(
  { append, readAt, keyring }: NewLog,
  { clock, createId, beginning }: Pick<StoreOptions, 'clock' | 'createId' | 'beginning'>,
): Promise<RecordedEvent> {
  const origin = `log_${createId()}`
  const data = { ...beginning, origin, keyring: keyring.id, key: keyLineOf(origin, keyring.signer) }
  await append({
    at: toInstant(clock.now()),
    streams: [{ stream: logStream, expect: 'none' }],
    events: [logEvent(beganType, 'log.begin', data)],
  })
  // Another process may have begun it at the same time: what stands there counts.
  const began = await readAt(1)
  if (began?.type === beganType) return began
  throw damaged('Cannot open the log: it has no beginning')
}
