import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { CompactTree } from '../../src/proof/compact-tree.ts'
import { createVerifierKey, signCheckpoint, writeVerifierKey } from '../../src/proof/note.ts'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { leafHash } from '../../src/store/log/tree.ts'
import { createKeyring } from '../../src/vault/keyring.ts'
import { Sqlite } from '../support/sqlite.ts'
import { withoutGuards } from '../support/use-database.ts'
import { deleteKeptParts } from './absences.ts'

/** One way to tamper with a closed store, as its owner could. */
export interface Mutation {
  /** The row of the printed table: what is changed, and how. */
  readonly group: string
  readonly name: string
  /** Changes the store at the path. */
  apply(store: string): void
}

type Value = string | number | bigint | Uint8Array | null

interface Column {
  readonly name: string
  readonly type: string
  readonly pk: number
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

/** Changes a store after removing its triggers and constraints. */
function edit(store: string, work: (database: Sqlite) => void): void {
  const database = new Sqlite(store)
  try {
    database.pragma('foreign_keys = off')
    database.pragma('ignore_check_constraints = on')
    withoutGuards(database, () => work(database))
  } finally {
    database.close()
  }
}

/** Lists the mutations of a sample, with a few rows of each table and column, always in the same order. */
export function listMutations(sample: string, rowsMax: number): Mutation[] {
  const database = new Sqlite(sample, { readOnly: true })
  try {
    const tables = database.column(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name",
    ) as string[] // Names are text.
    const evidence = tables.filter(isEvidence)
    const events = Number(database.value('select count(*) from event'))
    return [
      ...evidence.flatMap(table => columnChanges(database, table, rowsMax)),
      ...evidence.flatMap(table => rowChanges(database, table, rowsMax)),
      ...swaps(database, rowsMax),
      ...deleteKeptParts(database),
      ...truncations(events),
      ...rewritings(),
      ...files(),
    ]
  } finally {
    database.close()
  }
}

function columnChanges(database: Sqlite, table: string, rowsMax: number): Mutation[] {
  const columns = columnsOf(database, table).filter(({ name }) => isEvidence(`${table}.${name}`))
  const rows = sampleRows(database, table, rowsMax)
  return columns.flatMap(({ name, type }) =>
    rows
      .filter(row => !isErasedKeyNumber(table, name, row))
      .flatMap(row =>
        changesOf(row[name] ?? null, type).map(
          ({ how, value }): Mutation => ({
            group: `${table}.${name}`,
            name: `${how} where ${describeRow(row)}`,
            apply: store =>
              edit(store, db => {
                const { where, values } = matching(columnsOf(db, table), row)
                db.prepare(`update or replace "${table}" set "${name}" = ? where ${where}`).run(value, ...values)
              }),
          }),
        ),
      ),
  )
}

/** Reports whether this is the key number of an erased owner: no other row refers to it. */
function isErasedKeyNumber(table: string, column: string | undefined, { epoch }: Record<string, Value>): boolean {
  return table === 'owner_key' && column === 'key' && epoch === 0
}

/** Slightly changed values of the same kind. */
function changesOf(value: Value, type: string): { how: string; value: Value }[] {
  if (value === null) {
    const filled = { TEXT: 'x', BLOB: Buffer.from('x') }[type.toUpperCase()] ?? 1
    return [{ how: 'filled', value: filled }]
  }
  if (typeof value === 'number' || typeof value === 'bigint')
    return [
      { how: 'one more', value: Number(value) + 1 },
      { how: 'negated', value: -Number(value) - 1 },
    ]
  if (typeof value === 'string') {
    const middle = Math.floor(value.length / 2)
    const other = value[middle] === 'x' ? 'y' : 'x'
    return [
      { how: 'a letter changed', value: `${value.slice(0, middle)}${other}${value.slice(middle + 1)}` },
      { how: 'a blank added', value: `${value} ` },
    ]
  }
  if (value.length === 0) return [{ how: 'filled', value: Buffer.from('x') }]
  const flipped = Uint8Array.from(value)
  const at = Math.floor(flipped.length / 2)
  flipped[at] = (flipped[at] ?? 0) ^ 1
  return [
    { how: 'a bit flipped', value: Buffer.from(flipped) },
    { how: 'a byte cut off', value: Buffer.from(value.subarray(0, -1)) },
  ]
}

function rowChanges(database: Sqlite, table: string, rowsMax: number): Mutation[] {
  const columns = columnsOf(database, table)
  const key = columns.find(column => column.pk === 1)
  const rows = sampleRows(database, table, rowsMax)
  const dropped = rows.map(
    (row): Mutation => ({
      group: `${table}: rows dropped`,
      name: describeRow(row),
      apply: store =>
        edit(store, db => {
          const { where, values } = matching(columns, row)
          db.prepare(`delete from "${table}" where ${where}`).run(...values)
        }),
    }),
  )
  const doubled = rows
    .filter(row => !isErasedKeyNumber(table, key?.name, row))
    .map(
      (row): Mutation => ({
        group: `${table}: rows doubled`,
        name: describeRow(row),
        apply: store =>
          edit(store, db => {
            const old = row[key?.name ?? ''] ?? null
            const other = typeof old === 'number' ? 1_000_000 + old : `${old}x`
            const copy = { ...row, ...(key && { [key.name]: other }) }
            // Where another column is unique too, the copy takes the place of the original.
            db.prepare(
              `insert or replace into "${table}" (${columns.map(each => `"${each.name}"`).join(', ')}) values (${columns.map(() => '?').join(', ')})`,
            ).run(...columns.map(each => copy[each.name] ?? null))
          }),
      }),
    )
  return [...dropped, ...doubled].filter(({ group }) => isEvidence(group))
}

/** Mutations that exchange the content of two rows. */
function swaps(database: Sqlite, rowsMax: number): Mutation[] {
  const swap = (group: string, table: string, key: string, columns: string, a: Value, b: Value): Mutation => ({
    group,
    name: `${a} and ${b}`,
    apply: store =>
      edit(store, db => {
        const read = (which: Value) =>
          Object.values(
            db.rows<Record<string, Value>>(`select ${columns} from "${table}" where ${key} = ?`, which)[0] ?? {},
          )
        const [first, second] = [read(a), read(b)]
        const names = columns.split(', ')
        const write = db.prepare(
          `update "${table}" set ${names.map(name => `${name} = ?`).join(', ')} where ${key} = ?`,
        )
        write.run(...second, a)
        write.run(...first, b)
      }),
  })
  const pairs = (sql: string) => database.rows<{ a: Value; b: Value }>(sql, rowsMax).map(({ a, b }) => [a, b] as const)
  const events = pairs(
    'select position as a, position + 1 as b from event where position > 1 and position < (select max(position) from event) limit ?',
  )
  const parts = pairs(
    'select a.position || char(47) || a.name as a, b.position || char(47) || b.name as b from part a join part b on b.position > a.position and b.name = a.name group by a.position limit ?',
  )
  const owners = pairs('select a.key as a, b.key as b from owner_key a join owner_key b on b.key > a.key limit ?')
  const place = `(position || char(47) || name)`
  return [
    ...events.map(([a, b]) => swap('events: headers swapped', 'event', 'position', 'header', a, b)),
    ...events.map(([a, b]) => swap('events: headers and leaves swapped', 'event', 'position', 'header, leaf', a, b)),
    ...parts.map(([a, b]) => swap('parts: swapped between events', 'part', place, 'sealed', a, b)),
    ...parts.map(([a, b]) => swap('parts: swapped with their owners', 'part', place, 'owner, sealed', a, b)),
    ...owners.map(([a, b]) => swap('owners: keys swapped', 'owner_key', 'key', 'wrapped', a, b)),
  ]
}

/** Mutations that cut the log off at each event, with everything that belongs to the later events. */
function truncations(events: number): Mutation[] {
  return Array.from({ length: events - 1 }, (_, i) => i + 2).map(from => ({
    group: 'the end of the log cut off',
    name: `from ${from}`,
    apply: store => edit(store, db => cutOff(db, from)),
  }))
}

function cutOff(db: Sqlite, from: number): void {
  for (const table of ['part', 'effect', 'receipt', 'event'])
    db.prepare(`delete from "${table}" where position >= ?`).run(from)
  db.prepare('delete from checkpoint where size >= ?').run(from)
  deleteSubtrees(db)
}

/** Deletes the subtrees when the tree becomes too small to have any. */
function deleteSubtrees(db: Sqlite): void {
  const count = Number(db.value('select count(*) from event'))
  if (count < 256) db.exec('delete from subtree')
}

/** Mutations that rewrite the history consistently, as far as that is possible without the keyring. */
function rewritings(): Mutation[] {
  const rewrite = (db: Sqlite, change: (header: string, position: number) => string) => {
    const rows = db.prepare('select position, header from event order by position').all()
    const update = db.prepare('update event set header = ?, leaf = ? where position = ?')
    // Cast: as selected.
    for (const { position, header } of rows as { position: number; header: string }[]) {
      const changed = change(header, position)
      if (changed !== header) update.run(changed, leafHash(changed), position)
    }
  }
  const resign = (store: string, db: Sqlite, withMark: boolean) => {
    const { signer } = createKeyring(systemEntropy)
    const origin = JSON.parse(String(db.value('select header from event where position = 1'))).data.origin
    const key = writeVerifierKey(createVerifierKey(origin, signer.publicKey))
    rewrite(db, (header, position) =>
      position === 1 ? header.replace(/"key":"[^"]*"/, `"key":${JSON.stringify(key)}`) : header,
    )
    const headers = db.column('select header from event order by position') as string[] // Text.
    const checkpoints = db.prepare('select number, size from checkpoint').all() as {
      number: number
      size: number
    }[] // As selected.
    let note = ''
    for (const { number, size } of checkpoints) {
      const tree = new CompactTree()
      for (const header of headers.slice(0, size)) tree.add(header)
      note = signCheckpoint({ origin, size, root: tree.root() }, signer)
      db.prepare('update checkpoint set note = ? where number = ?').run(note, number)
    }
    if (withMark) writeFileSync(`${store}.mark`, note)
  }
  const one = (group: string, name: string, apply: (store: string) => void): Mutation => ({
    group,
    name,
    apply,
  })
  return [
    one('history rewritten', 'an edited header with its leaf', store =>
      edit(store, db =>
        rewrite(db, (header, position) => (position === 5 ? header.replace(/"at":"20/, '"at":"19') : header)),
      ),
    ),
    one('re-signed with another key', 'the same events', store => edit(store, db => resign(store, db, false))),
    one('re-signed with another key', 'the same events, and the mark', store =>
      edit(store, db => resign(store, db, true)),
    ),
    one('re-signed with another key', 'a shorter log, and the mark', store =>
      edit(store, db => {
        cutOff(db, 20)
        db.exec('delete from checkpoint')
        db.exec("insert into checkpoint (number, size, note) values (1, 19, '')")
        resign(store, db, true)
      }),
    ),
  ]
}

/** Mutations of the files as a whole. */
function files(): Mutation[] {
  const one = (name: string, apply: (store: string) => void): Mutation => ({ group: 'the file', name, apply })
  return [
    one('replaced by an older copy', store => copyFileSync(`${store}.older`, store)),
    one('replaced by another log with its keyring in place', store => copyFileSync(`${store}.other`, store)),
    ...Array.from({ length: 40 }, (_, i) =>
      one(`cut to ${i + 1} of 41`, store => {
        const bytes = readFileSync(store)
        writeFileSync(store, bytes.subarray(0, Math.floor((bytes.length * (i + 1)) / 41)))
      }),
    ),
    one('the keyring replaced by another', store => copyFileSync(`${store}.other.keys`, `${store}.keys`)),
  ]
}

function columnsOf(database: Sqlite, table: string): Column[] {
  return database.rows<Column>(`pragma table_info("${table}")`)
}

/** Rows spread evenly over a table. */
function sampleRows(database: Sqlite, table: string, rowsMax: number): Record<string, Value>[] {
  const rows = database.prepare(`select * from "${table}"`).all() as Record<string, Value>[] // By column.
  const step = Math.max(1, rows.length / rowsMax)
  return Array.from({ length: Math.min(rows.length, rowsMax) }, (_, i) => rows[Math.floor(i * step)] ?? {})
}

/** The condition that finds a row by its primary key. */
function matching(columns: readonly Column[], row: Record<string, Value>): { where: string; values: Value[] } {
  const keys = columns.filter(column => column.pk > 0)
  return {
    where: keys.map(({ name }) => `"${name}" = ?`).join(' and '),
    values: keys.map(({ name }) => row[name] ?? null),
  }
}

/** Formats the first column: it identifies the row, and holds no personal data. */
function describeRow(row: Record<string, Value>): string {
  const [entry] = Object.entries(row)
  return entry ? `${entry[0]} = ${String(entry[1]).slice(0, 40)}` : ''
}
