import type { EffectState } from '../message.ts'

/** The columns of the log and of what stands beside it. The views have tables of their own. */
export interface Schema {
  /** One row: the last position and its time. Taken under the lock of every append. */
  head: { id: 1; position: number; at: string }
  /** Facts about the whole file: the version of its schema. */
  meta: { name: string; value: string }
  /** Streams by number: integer keys keep the indexes of a long log flat. */
  stream: { key: number; name: string; version: number }
  /** The log. `header` is the exact text that is hashed; the other columns only find it. */
  event: { position: number; stream: number; version: number; type: string; header: Uint8Array }
  /** Personal data, sealed, beside its event. Rows can go; the header keeps their hash. */
  part: { position: number; name: string; owner: number; sealed: Uint8Array }
  /** One key per owner, wrapped by an epoch of the keyring. */
  owner_key: { key: number; owner: string; epoch: number; wrapped: Uint8Array }
  /** What a command id led to. `digest` is keyed, so that it cannot be used to guess the input. */
  receipt: {
    command_id: string
    digest: Uint8Array
    code: string
    detail: string
    effect: string
    position: number
  }
  /** The ledger of calls owed to the outside. */
  effect: {
    id: string
    stream: number
    position: number
    type: string
    data: string
    opens: string
    state: EffectState
    due_at: string
    attempts: number
    because: string
    settled_at: number | null
    lease_owner: string | null
    lease_until: string | null
  }
  /** Which stream stands for a CPF, a service's id or a content: keyed digests only. */
  keyed_index: { kind: string; digest: Uint8Array; value: string }
  /** How far each view has come. */
  projection: {
    view: string
    version: number
    position: number
    state: 'running' | 'stopped'
    because: string
  }
}

/** The newest version of the tables that this library knows. */
export const schemaVersion = 1

/**
 * Writes the statements that make an empty database.
 *
 * Keys that grow are `integer primary key` in SQLite, which is the row id itself; positions come from
 * `head`, never from the database's own counting, so that they are dense in both dialects.
 */
export function createTables(dialect: 'sqlite' | 'postgres'): string[] {
  const isSqlite = dialect === 'sqlite'
  const bytes = isSqlite ? 'blob' : 'bytea'
  const integer = isSqlite ? 'integer' : 'bigint'
  const counted = isSqlite ? 'integer primary key' : 'bigint generated always as identity primary key'
  const end = isSqlite ? 'strict' : ''
  const table = (name: string, ...columns: string[]) => `create table ${name} (${columns.join(', ')}) ${end}`
  return [
    table('head', `id ${integer} primary key`, `position ${integer} not null`, 'at text not null'),
    table('meta', 'name text primary key', 'value text not null'),
    table('stream', `key ${counted}`, 'name text not null unique', `version ${integer} not null`),
    table(
      'event',
      `position ${integer} primary key`,
      `stream ${integer} not null references stream (key)`,
      `version ${integer} not null`,
      'type text not null',
      `header ${bytes} not null`,
      'unique (stream, version)',
    ),
    table(
      'owner_key',
      `key ${counted}`,
      'owner text not null unique',
      `epoch ${integer} not null`,
      `wrapped ${bytes} not null`,
    ),
    table(
      'part',
      `position ${integer} not null references event (position)`,
      'name text not null',
      `owner ${integer} not null references owner_key (key)`,
      `sealed ${bytes} not null`,
      'primary key (position, name)',
    ),
    table(
      'receipt',
      'command_id text primary key',
      `digest ${bytes} not null`,
      'code text not null',
      'detail text not null',
      'effect text not null',
      `position ${integer} not null`,
    ),
    table(
      'effect',
      'id text primary key',
      `stream ${integer} not null references stream (key)`,
      `position ${integer} not null references event (position)`,
      'type text not null',
      'data text not null',
      'opens text not null',
      'state text not null',
      'due_at text not null',
      `attempts ${integer} not null`,
      'because text not null',
      `settled_at ${integer}`,
      'lease_owner text',
      'lease_until text',
    ),
    `create index effect_due on effect (state, due_at)`,
    `create index effect_of_stream on effect (stream, type)`,
    table(
      'keyed_index',
      'kind text not null',
      `digest ${bytes} not null`,
      'value text not null',
      'primary key (kind, digest)',
    ),
    table(
      'projection',
      'view text primary key',
      `version ${integer} not null`,
      `position ${integer} not null`,
      'state text not null',
      'because text not null',
    ),
    `insert into head (id, position, at) values (1, 0, '')`,
    `insert into meta (name, value) values ('schema', '${schemaVersion}')`,
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
