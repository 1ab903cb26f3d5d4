import type { Clock } from '../runtime/clock.ts'
import type { Entropy } from '../runtime/entropy.ts'
import type { Keyring } from '../vault/keyring.ts'
import type { KeyringStore } from '../vault/keyring-store.ts'
import type { Keys } from '../vault/keys.ts'
import type { EventMap } from '../vocabulary/log-types.ts'
import type { View } from '../vocabulary/view.ts'
import type { Connection } from './database/connection.ts'
import type { Schemas } from './log/header.ts'

export interface StoreOptions<E extends EventMap = EventMap> {
  readonly path: string
  /** Where the database and the keyring are kept instead of that file. */
  readonly medium?: StoreMedium
  readonly views: readonly View[]
  readonly clock: Clock
  readonly entropy: Entropy
  readonly createId: () => string
  readonly schemas?: Schemas<E>
  /** Where the keyring is kept. By default in a file beside the store. */
  readonly keyring?: string | KeyringStore
  /** Holds the root key of the log. By default the keyring file holds it. */
  readonly keys?: Keys
  /** Kinds of records whose parts are sealed under a key per record. */
  readonly recordKeys?: readonly string[]
  /** Called once with the path of a new keyring file. */
  readonly onKeyringCreated?: (path: string) => void
  /** Called when a view has failed, or failed again, and stops. */
  readonly onViewStopped?: (view: string) => void
  /** Called when another process has stopped a view, or has taken it over for another version. */
  readonly onViewTaken?: (view: string) => void
  /** Called when a stopped view has caught up in this process. */
  readonly onViewBack?: (view: string) => void
  /** Where the newest checkpoint is kept outside of the database. By default a file beside it. */
  readonly highWaterMark?: HighWaterMark
  /** Has a third party sign each checkpoint. */
  readonly anchor?: Anchor
  /** Continues from a backup under a new origin, even when the high-water mark shows lost events. */
  readonly acceptRollback?: boolean
  /** Opens a log that has just been copied here, to record that it has arrived. */
  readonly isArriving?: boolean
  /** Further data of the first event, beside the origin and the keyring. */
  readonly beginning?: object
  /** Called with problems that an operator should know. */
  readonly onTrouble?: (what: string, error: unknown) => void
}

/** Replaces the file of a store, as in a simulation: its database, and the place of its keyring. */
export interface StoreMedium {
  open(): Promise<Connection>
  /** Gives the keyring. `create` makes it, or reads it from beside the file. */
  keyring(create: () => Promise<Keyring>): Promise<Keyring>
}

/**
 * Has a third party sign a checkpoint: a witness or a time-stamp authority. Its answer is stored with the checkpoint.
 *
 * The checkpoint is the whole signed note: its text, an empty line, and the signature lines with the last newline. A
 * time-stamp authority has to stamp exactly these bytes (their SHA-256, SHA-384 or SHA-512), and nothing derived from
 * them, such as the root. A time stamp of anything else is stored and logged, but verification ignores it. Answers over
 * 64 kB are not stored. A witness signs the text of the note alone, as in C2SP, and answers with the note and its own
 * signature line after the others.
 */
export type Anchor = (checkpoint: Uint8Array) => Promise<Uint8Array | undefined>

/**
 * Keeps the newest checkpoint outside of the database: opening a log that was cut off, rolled back or replaced then
 * fails. Best on another disk, or with another party.
 */
export interface HighWaterMark {
  /** Reads the signed checkpoint that was written last; `undefined` before the first. */
  read(): Promise<string | undefined>
  /** Stores a signed checkpoint, durable when it resolves. Called after the commit, never before. */
  write(checkpoint: string): Promise<void>
}
