import type { Clock } from '../runtime/clock.ts'
import type { Entropy } from '../runtime/entropy.ts'
import type { Keyring } from '../vault/keyring.ts'
import type { Keys } from '../vault/keys.ts'
import type { Json } from '../vocabulary/message.ts'
import type { View } from '../vocabulary/view.ts'
import type { Connection } from './database/connection.ts'
import type { Schemas } from './log/upcasters.ts'

/** How to open a store. */
export interface StoreOptions {
  /** The path of its file, or `:memory:`. */
  readonly path: string
  /** What it stands on in place of that file. */
  readonly medium?: StoreMedium
  readonly views: readonly View[]
  readonly clock: Clock
  readonly entropy: Entropy
  readonly createId: () => string
  /** How events of older schemas are read; none has changed when absent. */
  readonly schemas?: Schemas
  /** Who holds the root key of the log; its keyring file does, when absent. */
  readonly keys?: Keys
  /** The kinds of records whose parts are sealed under a key of each record; none when absent. */
  readonly recordKeys?: readonly string[]
  /** Told once, with the path, when a keyring file is made. */
  readonly onKeyringCreated?: (path: string) => void
  /** Told of a view that failed, or failed again, and stands still. */
  readonly onViewStopped?: (view: string) => void
  /** Told of a view that another process stopped, or took over for another version. */
  readonly onViewTaken?: (view: string) => void
  /** Told of a view that caught up and rejoined in this process. */
  readonly onViewBack?: (view: string) => void
  /** Where the newest checkpoint is kept outside of the database; a file beside it by default. */
  readonly highWaterMark?: HighWaterMark
  /** Lets someone else sign each checkpoint. */
  readonly anchor?: Anchor
  /** Goes on from a backup under a new name, also where the mark says that events are lost. */
  readonly acceptRollback?: boolean
  /** What the first event says beside the names of the log and its keyring. */
  readonly beginning?: Readonly<Record<string, Json>>
  /** Told of what an operator should know. */
  readonly onTrouble?: (what: string, error: unknown) => void
}

/** What a store stands on in place of a file, as in a simulation: its database, and where its keyring is kept. */
export interface StoreMedium {
  open(): Promise<Connection>
  /** The keyring; `create` makes it, or reads it from beside the file. */
  keyring(create: () => Promise<Keyring>): Promise<Keyring>
}

/**
 * Lets someone else sign a checkpoint: a witness, or an authority of time stamps. What it gives is kept with it.
 *
 * The checkpoint is the whole signed note: its text, an empty line, and the lines of its signatures with the last
 * newline. An authority has to stamp exactly these bytes (their hash by SHA-256, SHA-384 or SHA-512), and nothing
 * derived from them, such as the root. A time stamp of anything else is kept, told to the logger, and not counted when
 * the log is verified: the log is no worse for it. What is longer than 64 kB is not kept. A witness signs the text of
 * the note alone, as C2SP has it, and answers with the note and its own line behind the others.
 */
export type Anchor = (checkpoint: Uint8Array) => Promise<Uint8Array | undefined>

/**
 * Where the newest checkpoint is kept outside of the database, so that a log that was cut off, put back or replaced is
 * noticed when it is opened. Best on another disk, or in somebody else's hands.
 */
export interface HighWaterMark {
  /** The signed checkpoint that was written last; `undefined` when none ever was. */
  read(): Promise<string | undefined>
  /** Keeps a signed checkpoint, durable when it resolves. Called after the commit, never before. */
  write(checkpoint: string): Promise<void>
}
