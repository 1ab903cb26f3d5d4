import type { EffectState } from '../../vocabulary/message.ts'

/** The columns of the log and of what stands beside it. The views have tables of their own. */
export interface Schema {
  /**
   * One row: the version of these tables, the views that stand at the end of the log, and the epoch of the keyring that
   * new keys are wrapped by, with the position where it began. It seldom changes.
   */
  head: { id: 1; schema: number; views: string; epoch: number; epoch_since: number }
  /** Every view: its version, and, where it has stopped, the position whose rows it shows and why. */
  projection: { view: string; version: number; position: number; reason: string }
  /** Streams by number: integer keys keep the indexes of a long log flat. */
  stream: { key: number; name: string }
  /** The log. `header` is the exact text that is hashed, `leaf` its hash; the other columns only find it. */
  event: {
    position: number
    stream: number
    version: number
    type: string
    header: string
    leaf: Uint8Array
  }
  /** The Merkle tree above its leaves: 256 hashes of a level in a row. */
  tile: { level: number; number: number; hashes: Uint8Array }
  /** Signed checkpoints of the tree, numbered from 1 without gaps, and what an anchor gave for one. */
  checkpoint: { number: number; size: number; note: string; anchor: Uint8Array | null }
  /** Personal data, sealed, beside its event. Rows can go; the header keeps their hash. */
  part: { position: number; name: string; owner: number; sealed: Uint8Array }
  /**
   * One key per owner, wrapped by an epoch of the keyring, with what it is known by. The row of an erased person stays,
   * so that none is made again; its key is empty, of epoch 0.
   */
  owner_key: {
    key: number
    owner: string
    epoch: number
    wrapped: Uint8Array
    commitment: Uint8Array
    is_erased: 0 | 1
  }
  /**
   * What a command id led to. `digest` is keyed, so that it cannot be used to guess the input, and empty once the
   * person was erased. `stream` is set for a command that recorded nothing, to tell what it was about: no header leads
   * to its receipt.
   */
  receipt: {
    command_id: string
    digest: Uint8Array
    code: string
    detail: string
    effect: string
    position: number
    stream: string
  }
  /** The ledger of calls owed to the outside: effect `n` of the event at `position`. */
  effect: {
    position: number
    n: number
    stream: number
    type: string
    state: EffectState
    /** 1 until it is settled or declined: the index holds the open ones only, and stays small. */
    is_open: number
    due_at: string
    /**
     * When it was given its time, or its lease, by the clock of who gave it; null where no clock can have been ahead.
     */
    given_at: string | null
    attempts: number
    reason: string
    settled_at: number | null
    lease_owner: string | null
    lease_until: string | null
  }
  /** Which stream stands for a CPF or a service's id: keyed digests only. */
  keyed_index: { kind: string; digest: Uint8Array; value: string }
  /** Which contents came a short while ago: keyed digests only, in the order of the log. Rows may go at any time. */
  recent_digest: { position: number; at: string; digest: Uint8Array }
  /** How far each durable handler has come in the log, and which process has it now. */
  follower: {
    name: string
    types: string | null
    position: number
    is_parked: number
    attempts: number
    due_at: string | null
    reason: string
    lease_owner: string | null
    lease_until: string | null
  }
  /** Secrets for the other processes of the file, sealed under an epoch of the keyring. Rows may go at any time. */
  secret: { name: string; generation: number; epoch: number; sealed: Uint8Array }
  /** What one process of the file does at a time, such as logging in somewhere. Rows may go at any time. */
  lease: { name: string; owner: string; until: string }
  /** How far a rebuild of a view has come, in a table beside the serving one: see `SideTable`. */
  rebuild: { view: string; version: number; position: number; until: number; written: number; run: number }
}

/**
 * Writes the statements that make an empty database, of version 1.
 *
 * Keys that grow are `integer primary key` in SQLite, which is the row id itself; positions come from the
 * writer, never from the database's own counting, so that they are dense in both dialects.
 */
export function createTables(dialect: 'sqlite' | 'postgres'): string[] {
  const isSqlite = dialect === 'sqlite'
  const bytes = isSqlite ? 'blob' : 'bytea'
  const integer = isSqlite ? 'integer' : 'bigint'
  const end = isSqlite ? 'strict' : ''
  // Texts are compared by their bytes, whatever the language of a database.
  const ordered = (column: string) => (isSqlite ? column : column.replace(' text', ' text collate "C"'))
  const table = (name: string, ...columns: string[]) =>
    `create table ${name} (${columns.map(ordered).join(', ')}) ${end}`
  /** A table whose rows are stored in its primary key: one tree instead of two. */
  const indexed = (name: string, ...columns: string[]) =>
    `${table(name, ...columns)}${isSqlite ? ', without rowid' : ''}`
  return [
    table(
      'head',
      `id ${integer} primary key`,
      `schema ${integer} not null`,
      'views text not null',
      `epoch ${integer} not null`,
      `epoch_since ${integer} not null`,
    ),
    table(
      'projection',
      'view text primary key',
      `version ${integer} not null`,
      `position ${integer} not null`,
      'reason text not null',
    ),
    table('stream', `key ${integer} primary key`, 'name text not null unique'),
    table(
      'event',
      `position ${integer} primary key`,
      `stream ${integer} not null references stream (key)`,
      `version ${integer} not null`,
      'type text not null',
      'header text not null',
      `leaf ${bytes} not null`,
      'unique (stream, version)',
    ),
    table(
      'tile',
      `level ${integer} not null`,
      `number ${integer} not null`,
      `hashes ${bytes} not null`,
      'primary key (level, number)',
    ),
    table(
      'checkpoint',
      `number ${integer} primary key`,
      `size ${integer} not null unique`,
      'note text not null',
      `anchor ${bytes}`,
    ),
    table(
      'owner_key',
      `key ${integer} primary key`,
      'owner text not null unique',
      `epoch ${integer} not null`,
      `wrapped ${bytes} not null`,
      `commitment ${bytes} not null`,
      `is_erased ${integer} not null default 0`,
    ),
    indexed(
      'part',
      `position ${integer} not null references event (position)`,
      'name text not null',
      `owner ${integer} not null references owner_key (key)`,
      `sealed ${bytes} not null`,
      'primary key (position, name)',
    ),
    indexed(
      'receipt',
      'command_id text primary key',
      `digest ${bytes} not null`,
      'code text not null',
      'detail text not null',
      'effect text not null',
      `position ${integer} not null`,
      'stream text not null',
    ),
    "create index receipt_bare on receipt (stream) where stream <> ''",
    indexed(
      'effect',
      `position ${integer} not null references event (position)`,
      `n ${integer} not null`,
      `stream ${integer} not null references stream (key)`,
      'type text not null',
      'state text not null',
      `is_open ${integer} not null`,
      'due_at text not null',
      'given_at text',
      `attempts ${integer} not null`,
      'reason text not null',
      `settled_at ${integer}`,
      'lease_owner text',
      'lease_until text',
      'primary key (position, n)',
    ),
    'create index effect_due on effect (due_at) where is_open = 1',
    'create index effect_given on effect (given_at) where given_at is not null',
    indexed(
      'keyed_index',
      'kind text not null',
      `digest ${bytes} not null`,
      'value text not null',
      'primary key (kind, digest)',
    ),
    table('recent_digest', `position ${integer} primary key`, 'at text not null', `digest ${bytes} not null`),
    table(
      'follower',
      'name text primary key',
      'types text',
      `position ${integer} not null`,
      `is_parked ${integer} not null`,
      `attempts ${integer} not null`,
      'due_at text',
      'reason text not null',
      'lease_owner text',
      'lease_until text',
    ),
    table(
      'secret',
      'name text primary key',
      `generation ${integer} not null`,
      `epoch ${integer} not null`,
      `sealed ${bytes} not null`,
    ),
    table('lease', 'name text primary key', 'owner text not null', 'until text not null'),
    table(
      'rebuild',
      'view text primary key',
      `version ${integer} not null`,
      `position ${integer} not null`,
      `until ${integer} not null`,
      `written ${integer} not null`,
      `run ${integer} not null`,
    ),
    `insert into head (id, schema, views, epoch, epoch_since) values (1, 1, '', 1, 0)`,
    ...(isSqlite ? appendOnlyTriggers() : []),
  ]
}

/** A guard against accidents, not against an owner of the file: events are never edited or removed. */
function appendOnlyTriggers(): string[] {
  return ['update', 'delete'].map(
    verb =>
      `create trigger event_no_${verb} before ${verb} on event begin select raise(abort, 'events are append-only'); end`,
  )
}
