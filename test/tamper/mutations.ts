import { copyFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { CompactTree } from '../../src/proof/compact-tree.ts'
import { createVerifierKey, signCheckpoint, writeVerifierKey } from '../../src/proof/note.ts'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { leafHash } from '../../src/store/log/tree.ts'
import { createKeyring } from '../../src/vault/keyring.ts'
import type { Sqlite } from '../support/sqlite.ts'
import { useDatabase, withoutGuards } from '../support/use-database.ts'

/** One way to tamper with a closed store, as its owner could. */
export interface Mutation {
  /** The row of the printed table: what is changed, and how. */
  readonly group: string
  readonly name: string
  /** Changes the store at the path. */
  apply(store: string): void
}

type Value = string | number | Uint8Array | null
type Row = Readonly<Record<string, Value>>

/** A table, with a few of its rows, spread evenly. */
interface Table {
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: string; readonly pk: number }[]
  readonly rows: readonly Row[]
}

/** What is not evidence, and so not tried: a table, a column or a change of rows, each with the reason. */
export const noEvidence: Readonly<Record<string, string>> = {
  secret: 'tokens and sessions may disappear at any time',
  lease: 'a lease may disappear at any time',
  rebuild: 'the progress of a rebuild: the rows themselves are compared',
  follower: 'the progress of a handler: the log does not record it',
  projection: 'the progress of a view: the rows themselves are compared',
  'checkpoint.anchor': 'comes from an anchor: --witness verifies it when its key is known',
  'owner_key.key of an erased owner': 'no other row refers to this number: the other columns of the row are compared',
  'effect.attempts': 'the number of attempts is only here',
  'effect.due_at': 'the time of the next attempt is only here',
  'effect.given_at': 'the time at which due_at was set is only here',
  'effect.reason': 'the reason of a deferral is only here',
  'effect.lease_owner': 'the process that has claimed the call',
  'effect.lease_until': 'the end of that claim',
  'head.views': 'the views that are up to date: the rows themselves are compared',
  'head.epoch': 'the epoch that wraps new keys: every key names its own epoch',
  'head.epoch_since': 'the time since which an epoch wraps new keys',
  'head.fence': 'only that writers read again what they keep in memory',
  'receipt.digest': 'keyed, over an input that is not in the log',
  'receipt.detail': 'a text that is returned when a command is repeated',
  'receipt: rows doubled': 'a command that recorded no event has a receipt too',
  'keyed_index.digest': 'keyed, over personal data that only the parts hold: averba.rebuildIndex restores it',
  'keyed_index: rows dropped': 'may be emptied: averba.rebuildIndex restores it',
  'recent_digest.digest': 'keyed, over content that only the parts hold, and deleted after ten minutes',
  'recent_digest: rows dropped': 'deleted after ten minutes: a later copy is a new notification',
  'keyed_index: rows doubled': 'several digests may lead to one record',
}

const isEvidence = (subject: string) => !Object.hasOwn(noEvidence, subject)

/** A mutation of the database, without its triggers and constraints. */
function edit(group: string, name: string, work: (database: Sqlite, store: string) => void): Mutation {
  const apply = (store: string) =>
    useDatabase(store, database => {
      database.pragma('foreign_keys = off')
      database.pragma('ignore_check_constraints = on')
      withoutGuards(database, () => work(database, store))
    })
  return { group, name, apply }
}

/** Lists the mutations of a sample, with a few rows of each table and column, always in the same order. */
export function listMutations(sample: string, rowsMax: number): Mutation[] {
  return useDatabase(sample, database => listOf(database, rowsMax), { readOnly: true })
}

function listOf(database: Sqlite, rowsMax: number): Mutation[] {
  const names = database.column(
    "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name",
  )
  const tables = names.map(String).filter(isEvidence).map(readTable)
  return [
    ...tables.flatMap(columnChanges),
    ...tables.flatMap(rowChanges),
    ...swaps(database, rowsMax),
    ...deletionsOfKeptParts(database),
    ...truncations(Number(database.value('select count(*) from event'))),
    ...rewritings,
    ...files,
  ]

  function readTable(name: string): Table {
    const all = database.prepare(`select * from "${name}"`).all() as Row[] // By column.
    const step = Math.max(1, all.length / rowsMax)
    const rows = Array.from({ length: Math.min(all.length, rowsMax) }, (_, i) => all[Math.floor(i * step)] ?? {})
    return { name, columns: database.rows(`pragma table_info("${name}")`), rows }
  }
}

function columnChanges(table: Table): Mutation[] {
  const columns = table.columns.filter(({ name }) => isEvidence(`${table.name}.${name}`))
  return columns.flatMap(({ name, type }) =>
    table.rows
      .filter(row => !isErasedKeyNumber(table, name, row))
      .flatMap(row =>
        Object.entries(changesOf(row[name] ?? null, type)).map(([how, value]) =>
          edit(`${table.name}.${name}`, `${how} where ${describeRow(row)}`, database =>
            changeRow(database, table, row, `update or replace "${table.name}" set "${name}" = ?`, value),
          ),
        ),
      ),
  )
}

/** Runs a statement for the row alone, which its primary key finds. */
function changeRow(database: Sqlite, { columns }: Table, row: Row, statement: string, ...values: Value[]): void {
  const keys = columns.filter(({ pk }) => pk > 0).map(({ name }) => name)
  const where = keys.map(name => `"${name}" = ?`).join(' and ')
  database.prepare(`${statement} where ${where}`).run(...values, ...keys.map(name => row[name] ?? null))
}

/** Reports whether this is the key number of an erased owner: no other row refers to it. */
function isErasedKeyNumber(table: Table, column: string | undefined, { epoch }: Row): boolean {
  return table.name === 'owner_key' && column === 'key' && epoch === 0
}

/** Slightly changed values of the same kind, by what was done. */
function changesOf(value: Value, type: string): Record<string, Value> {
  if (value === null) return { filled: { TEXT: 'x', BLOB: Buffer.from('x') }[type.toUpperCase()] ?? 1 }
  if (typeof value === 'number') return { 'one more': value + 1, negated: -value - 1 }
  const middle = Math.floor(value.length / 2)
  if (typeof value === 'string') {
    const changed = `${value.slice(0, middle)}${value[middle] === 'x' ? 'y' : 'x'}${value.slice(middle + 1)}`
    return { 'a letter changed': changed, 'a blank added': `${value} ` }
  }
  if (value.length === 0) return { filled: Buffer.from('x') }
  const flipped = value.with(middle, (value[middle] ?? 0) ^ 1)
  return { 'a bit flipped': flipped, 'a byte cut off': value.slice(0, -1) }
}

function rowChanges(table: Table): Mutation[] {
  const { name, columns, rows } = table
  const key = columns.find(column => column.pk === 1)?.name
  const dropped = rows.map(row =>
    edit(`${name}: rows dropped`, describeRow(row), database =>
      changeRow(database, table, row, `delete from "${name}"`),
    ),
  )
  const names = columns.map(column => `"${column.name}"`).join(', ')
  // Where another column is unique too, the copy takes the place of the original.
  const insert = `insert or replace into "${name}" (${names}) values (${columns.map(() => '?').join(', ')})`
  const doubled = rows
    .filter(row => !isErasedKeyNumber(table, key, row))
    .map(row => {
      const old = row[key ?? ''] ?? null
      const copy: Row = { ...row, ...(key && { [key]: typeof old === 'number' ? 1_000_000 + old : `${old}x` }) }
      const values = columns.map(column => copy[column.name] ?? null)
      return edit(`${name}: rows doubled`, describeRow(row), database => database.prepare(insert).run(...values))
    })
  return [...dropped, ...doubled].filter(({ group }) => isEvidence(group))
}

/** Mutations that exchange the content of two rows. */
function swaps(database: Sqlite, rowsMax: number): Mutation[] {
  const swap = (group: string, table: string, key: string, columns: string, pairs: { a: Value; b: Value }[]) =>
    pairs.map(({ a, b }) =>
      edit(group, `${a} and ${b}`, db => {
        const select = `select ${columns} from "${table}" where ${key} = ?`
        const [first, second] = [a, b].map(which => Object.values(db.rows<Row>(select, which)[0] ?? {}))
        const names = columns.split(', ')
        const write = db.prepare(
          `update "${table}" set ${names.map(name => `${name} = ?`).join(', ')} where ${key} = ?`,
        )
        write.run(...(second ?? []), a)
        write.run(...(first ?? []), b)
      }),
    )
  const pairs = (sql: string) => database.rows<{ a: Value; b: Value }>(sql, rowsMax)
  const events = pairs(
    'select position as a, position + 1 as b from event where position > 1 and position < (select max(position) from event) limit ?',
  )
  const parts = pairs(
    'select a.position || char(47) || a.name as a, b.position || char(47) || b.name as b from part a join part b on b.position > a.position and b.name = a.name group by a.position limit ?',
  )
  const owners = pairs('select a.key as a, b.key as b from owner_key a join owner_key b on b.key > a.key limit ?')
  return [
    ...swap('events: headers swapped', 'event', 'position', 'header', events),
    ...swap('events: headers and leaves swapped', 'event', 'position', 'header, leaf', events),
    ...swap('parts: swapped between events', 'part', partId, 'sealed', parts),
    ...swap('parts: swapped with their owners', 'part', partId, 'owner, sealed', parts),
    ...swap('owners: keys swapped', 'owner_key', 'key', 'wrapped', owners),
  ]
}

const partId = `(position || '/' || name)`

/** Mutations that delete a part which an erasure kept. */
function deletionsOfKeptParts(database: Sqlite): Mutation[] {
  const kept = database.column(`select ${partId} from part where ${partId} in (
    select value from event, json_each(header, '$.data.kept') where event.type = 'subject.erased'
  ) order by position, name`)
  return kept.map(id =>
    edit('part: deleted although an erasure kept it', String(id), db =>
      db.prepare(`delete from part where ${partId} = ?`).run(String(id)),
    ),
  )
}

/** Mutations that cut the log off at each event, with everything that belongs to the later events. */
function truncations(events: number): Mutation[] {
  return Array.from({ length: events - 1 }, (_, i) =>
    edit('the end of the log cut off', `from ${i + 2}`, db => cutOff(db, i + 2)),
  )
}

function cutOff(db: Sqlite, from: number): void {
  for (const table of ['part', 'effect', 'receipt', 'event'])
    db.prepare(`delete from "${table}" where position >= ?`).run(from)
  db.prepare('delete from checkpoint where size >= ?').run(from)
  // Then the tree is too small to have any.
  if (Number(db.value('select count(*) from event')) < 256) db.exec('delete from subtree')
}

/** Changes headers, each with its leaf. */
export function rewrite(db: Sqlite, change: (header: string, position: number) => string): void {
  const rows = db.rows<{ position: number; header: string }>('select position, header from event order by position')
  const update = db.prepare('update event set header = ?, leaf = ? where position = ?')
  for (const { position, header } of rows) {
    const changed = change(header, position)
    if (changed !== header) update.run(changed, leafHash(changed), position)
  }
}

/** Signs the log with another key. Returns the last checkpoint. */
function resign(db: Sqlite): string {
  const { signer } = createKeyring(systemEntropy)
  const origin = JSON.parse(String(db.value('select header from event where position = 1'))).data.origin
  const key = writeVerifierKey(createVerifierKey(origin, signer.publicKey))
  rewrite(db, (header, position) =>
    position === 1 ? header.replace(/"key":"[^"]*"/, `"key":${JSON.stringify(key)}`) : header,
  )
  const headers = db.column('select header from event order by position').map(String)
  let note = ''
  for (const { number, size } of db.rows<{ number: number; size: number }>('select number, size from checkpoint')) {
    const tree = new CompactTree()
    for (const header of headers.slice(0, size)) tree.add(header)
    note = signCheckpoint({ origin, size, root: tree.root() }, signer)
    db.prepare('update checkpoint set note = ? where number = ?').run(note, number)
  }
  return note
}

/** Mutations that rewrite the history consistently, as far as that is possible without the keyring. */
const rewritings: readonly Mutation[] = [
  edit('history rewritten', 'an edited header with its leaf', db =>
    rewrite(db, (header, position) => (position === 5 ? header.replace(/"at":"20/, '"at":"19') : header)),
  ),
  edit('re-signed with another key', 'the same events', db => resign(db)),
  edit('re-signed with another key', 'the same events, and the mark', (db, store) =>
    writeFileSync(`${store}.mark`, resign(db)),
  ),
  edit('re-signed with another key', 'a shorter log, and the mark', (db, store) => {
    cutOff(db, 20)
    db.exec('delete from checkpoint')
    db.exec("insert into checkpoint (number, size, note) values (1, 19, '')")
    writeFileSync(`${store}.mark`, resign(db))
  }),
]

/** A mutation of the files as a whole. */
const ofFiles = (name: string, apply: (store: string) => void): Mutation => ({ group: 'the file', name, apply })

const files: readonly Mutation[] = [
  ofFiles('replaced by an older copy', store => copyFileSync(`${store}.older`, store)),
  ofFiles('replaced by another log with its keyring in place', store => copyFileSync(`${store}.other`, store)),
  ...Array.from({ length: 40 }, (_, i) =>
    ofFiles(`cut to ${i + 1} of 41`, store => truncateSync(store, Math.floor((statSync(store).size * (i + 1)) / 41))),
  ),
  ofFiles('the keyring replaced by another', store => copyFileSync(`${store}.other.keys`, `${store}.keys`)),
]

/** Formats the first column: it identifies the row, and holds no personal data. */
function describeRow(row: Row): string {
  const [entry] = Object.entries(row)
  return entry ? `${entry[0]} = ${String(entry[1]).slice(0, 40)}` : ''
}
