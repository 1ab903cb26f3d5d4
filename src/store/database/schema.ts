import {
  DummyDriver,
  HandleEmptyInListsPlugin,
  Kysely,
  replaceWithNoncontingentExpression,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { EffectState } from '../../vocabulary/message.ts'

/** The tables of the log and its ledger. Views have further tables. */
export interface Schema {
  /**
   * One row: the version of these tables, the running views, the epoch of new keys with where it began, and the end of
   * the log: see `LogEnd`. `frontier` has the peaks of its tree, and `tag` is that of the whole log. `fence` is
   * raised by what else changes rows that writers keep in memory.
   */
  head: {
    id: 1
    schema: number
    views: string
    epoch: number
    epoch_since: number
    position: number
    at: string
    stream: number
    owner: number
    frontier: Uint8Array
    tag: string
    fence: number
  }
  /** Every view with its version. For a stopped one, also the position that its rows show, and the reason. */
  projection: { view: string; version: number; position: number; reason: string }
  /** Streams by number: integer keys keep the indexes small. `tag` shows that `version` is the last one. */
  stream: { key: number; name: string; version: number; tag: string }
  /** The log. `leaf` is the hash of the exact text `header`, `tag` shows that it was written with the keys. */
  event: {
    position: number
    stream: number
    version: number
    type: string
    header: string
    leaf: Uint8Array
    tag: string
  }
  /** The Merkle tree above its leaves: the full subtrees of `256 ** level` leaves, by number. */
  subtree: { level: number; number: number; hash: Uint8Array }
  /** Signed checkpoints of the tree, numbered from 1 without gaps, with the answer of an anchor. */
  checkpoint: { number: number; size: number; note: string; anchor: Uint8Array | null }
  /** Sealed personal data of an event. Rows can be deleted; the event's header keeps their hash. */
  part: { position: number; name: string; owner: number; sealed: Uint8Array }
  /** One key per owner, wrapped by a keyring epoch. An erased person's row stays, with an empty key of epoch 0. */
  owner_key: {
    key: number
    owner: string
    epoch: number
    wrapped: Uint8Array
    commitment: Uint8Array
    is_erased: 0 | 1
  }
  /**
   * The outcome of a command id. `digest` is keyed, so that guesses of the input cannot be tested against it, and empty
   * after an erasure. `stream` is set only for a command without events, whose stream no header names.
   */
  receipt: {
    command_id: string
    digest: Uint8Array
    code: 'accepted' | 'refused'
    detail: string
    effect: string
    position: number
    stream: string
  }
  /** The ledger of pending effects: effect `n` of the event at `position`. */
  effect: {
    position: number
    n: number
    stream: number
    type: string
    state: EffectState
    /** 1 until it is settled, declined or cancelled. The index covers open effects only. */
    is_open: 0 | 1
    /** When it is tried next; null when that is never without a person or a reading: parked and unknown ones. */
    due_at: string | null
    /** When `due_at` or the lease was set, by the clock of that process; null where no clock can have been ahead. */
    given_at: string | null
    attempts: number
    reason: string
    settled_at: number | null
    lease_owner: string | null
    lease_until: string | null
  }
  /** Finds a stream by the keyed digest of a CPF or of a service's id. `tag` binds it to its digest. */
  keyed_index: { kind: string; digest: Uint8Array; value: string; tag: string }
  /** Keyed digests of recently received contents, in log order. Rows may be deleted at any time. */
  recent_digest: { position: number; at: string; digest: Uint8Array }
  /** How far each durable handler has come in the log, and the process that runs it. */
  follower: {
    name: string
    types: string | null
    position: number
    is_parked: 0 | 1
    attempts: number
    due_at: string | null
    reason: string
    lease_owner: string | null
    lease_until: string | null
  }
  /** Secrets shared by the processes of the file, sealed under a keyring epoch. Rows may be deleted at any time. */
  secret: { name: string; generation: number; epoch: number; sealed: Uint8Array }
  /** Leases for work that one process at a time may do, such as a login. Rows may be deleted at any time. */
  lease: { name: string; owner: string; until: string }
  /** How much of its time (in µs since 1970) the calls of a service have used, and until when it wants none. */
  rate: { service: string; spent_until: number; closed_until: string }
  /** How far the rebuild of a view has come, in a table beside the served one: see `SideTable`. */
  rebuild: { view: string; version: number; position: number; until: number; written: number; run: number }
}

/**
 * The tables of version 1, for SQLite. With `without rowid` a table is stored in its key: one B-tree for two. Not so
 * that of parts: a B-tree of keys gives each larger row a page of its own.
 */
const tables = `
create table head (id integer primary key, schema integer not null, views text not null, epoch integer not null,
  epoch_since integer not null, position integer not null, at text not null, stream integer not null,
  owner integer not null, frontier blob not null, tag text not null, fence integer not null) strict
create table projection (view text primary key, version integer not null, position integer not null,
  reason text not null) strict
create table stream (key integer primary key, name text not null unique, version integer not null,
  tag text not null) strict
create table event (position integer primary key, stream integer not null references stream (key),
  version integer not null, type text not null, header text not null, leaf blob not null,
  tag text not null, unique (stream, version)) strict
create table subtree (level integer not null, number integer not null, hash blob not null,
  primary key (level, number)) strict, without rowid
create table checkpoint (number integer primary key, size integer not null unique, note text not null,
  anchor blob) strict
create table owner_key (key integer primary key, owner text not null unique, epoch integer not null,
  wrapped blob not null, commitment blob not null, is_erased integer not null default 0) strict
create table part (position integer not null references event (position), name text not null,
  owner integer not null references owner_key (key), sealed blob not null,
  primary key (position, name)) strict
create table receipt (command_id text primary key, digest blob not null, code text not null, detail text not null,
  effect text not null, position integer not null, stream text not null) strict, without rowid
create index receipt_bare on receipt (stream) where stream <> ''
create table effect (position integer not null references event (position), n integer not null,
  stream integer not null references stream (key), type text not null, state text not null, is_open integer not null,
  due_at text, given_at text, attempts integer not null, reason text not null, settled_at integer,
  lease_owner text, lease_until text, primary key (position, n)) strict, without rowid
create index effect_due on effect (due_at) where is_open = 1
create index effect_given on effect (given_at) where given_at is not null
create table keyed_index (kind text not null, digest blob not null, value text not null, tag text not null,
  primary key (kind, digest)) strict, without rowid
create table recent_digest (position integer primary key, at text not null, digest blob not null) strict
create table follower (name text primary key, types text, position integer not null, is_parked integer not null,
  attempts integer not null, due_at text, reason text not null, lease_owner text, lease_until text) strict
create table secret (name text primary key, generation integer not null, epoch integer not null,
  sealed blob not null) strict
create table lease (name text primary key, owner text not null, until text not null) strict
create table rate (service text primary key, spent_until integer not null, closed_until text not null) strict
create table rebuild (view text primary key, version integer not null, position integer not null,
  until integer not null, written integer not null, run integer not null) strict
insert into head (id, schema, views, epoch, epoch_since, position, at, stream, owner, frontier, tag, fence)
  values (1, 1, '', 1, 0, 0, '', 0, 0, x'', '', 0)`

/** The statements that create the tables of version 1. The writer assigns positions, so that they have no gaps. */
export function createTables(dialect: 'sqlite' | 'postgres'): string[] {
  const statements = tables.slice(1).replaceAll('\n  ', ' ').split('\n')
  return dialect === 'sqlite'
    ? [...statements, ...appendOnlyTriggers()]
    : [...statements, ...serverTables].map(toPostgres)
}

/** Only on servers: what each process wrote last, whose commit may be in doubt, and what hosts have done. */
const serverTables = [
  'create table writer (name text primary key, mark text not null) strict',
  'create table done_item (name text not null, item text not null, at text not null, primary key (name, item)) strict',
]

/** Compares texts by bytes, and checks no references: that costs as much as a row, and deep checks do it. */
function toPostgres(statement: string): string {
  return statement
    .replaceAll(/ references \w+ \(\w+\)/g, '')
    .replace(/ strict(, without rowid)?$/, ' ')
    .replaceAll(' integer', ' bigint')
    .replaceAll(' blob', ' bytea')
    .replaceAll(' text', ' text collate "C"')
    .replace("x''", "''")
}

export const tableNames: readonly string[] = createTables('sqlite').flatMap(
  statement => /^create table (\w+)/.exec(statement)?.[1] ?? [],
)

/** Guards against accidental edits of events. Somebody who owns the file can drop the triggers. */
function appendOnlyTriggers(): string[] {
  return ['update', 'delete'].map(
    verb =>
      `create trigger event_no_${verb} before ${verb} on event begin select raise(abort, 'events are append-only'); end`,
  )
}

/** PostgreSQL does not accept an empty list. */
export const emptyLists = new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })

/** Refuses to run a query that was to be yielded: without rows it would look as if there were none. */
class NoDriver extends DummyDriver {
  override async acquireConnection(): Promise<never> {
    throw new TypeError('Cannot run a query of the log by itself: yield it with rows or first')
  }
}

/**
 * Builds and compiles queries of the log's tables, and runs none: steps yield them with `rows` and `first`. The text
 * marks each parameter with `?`, as hand-written SQL does, so it serves every dialect.
 */
export const db = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new NoDriver(),
    createIntrospector: kysely => new SqliteIntrospector(kysely),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
  plugins: [emptyLists],
})

/** Tells all processes of a log that something that they keep in memory has changed. */
export const raiseFence = 'update head set fence = fence + 1'

/** Checks the name of a schema on PostgreSQL, and quotes it: it may be a word of SQL. Throws `MISCONFIGURED`. */
export function quoteSchema(schema: string): string {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) return `"${schema}"`
  throw new AverbaError('MISCONFIGURED', 'Cannot use this schema for a log: its name is not allowed', {
    hint: 'Use small letters, digits and _, and begin with a letter',
  })
}
