import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Steps } from '../../src/store/database/connection.ts'
import { hashBytes, leafHash, type Subtree, Tree, treeRoot } from '../../src/store/log/tree.ts'
import type { Sqlite } from '../support/sqlite.ts'
import { useDatabase } from '../support/use-database.ts'

interface EventRow {
  readonly position: number
  readonly name: string
  readonly version: number
  readonly type: string
  readonly header: string
  readonly leaf: Buffer
}

/** The header of an event. */
export interface Header {
  readonly position: number
  readonly stream: string
  readonly version: number
  readonly type: string
  readonly commandId?: string
  readonly data: { readonly of?: number }
  readonly effects?: readonly unknown[]
  readonly parts?: readonly { readonly name: string; readonly hash: string }[]
}

/** Reads the tables directly, without the store, and describes every contradiction. */
export function checkTables(path: string): { headers: Header[]; corrupt: string[] } {
  const check = (database: Sqlite) => {
    const rows = database.rows<EventRow>(selectEvents)
    const headers = rows.map(row => JSON.parse(row.header) as Header) // Written by the store.
    const ofRows = [...checkEvents(rows, headers), ...checkTree(database, rows)]
    return { headers, corrupt: [...checkFile(database), ...ofRows, ...checkEffectsAndParts(database, headers)] }
  }
  return useDatabase(path, check, { readOnly: true })
}

function* checkFile(database: Sqlite): Iterable<string> {
  const integrity = database.pragma('integrity_check')
  if (integrity !== 'ok') yield `SQLite says: ${integrity}`
  if (database.column('pragma foreign_key_check').length > 0) yield 'a row has a foreign key without a target'
}

function* checkEvents(rows: readonly EventRow[], headers: readonly Header[]): Iterable<string> {
  const versions = new Map<string, number>()
  for (const [i, row] of rows.entries()) {
    const header = headers[i]
    const version = (versions.get(row.name) ?? 0) + 1
    versions.set(row.name, version)
    if (row.position !== i + 1) yield `event ${i + 1} has the position ${row.position}`
    if (row.version !== version) yield `version ${version} of ${row.name} says ${row.version}`
    const { position, name, type } = row
    if (!isDeepStrictEqual({ ...header, position, stream: name, version: row.version, type }, header))
      yield `the header at ${position} is of another event`
    if (!leafHash(row.header).equals(row.leaf)) yield `the leaf at ${row.position} is of another text`
  }
}

/** Compares the stored tree with one built from the leaves, and its root with the definition. */
function* checkTree(database: Sqlite, rows: readonly EventRow[]): Iterable<string> {
  const tree = new Tree()
  for (const row of rows) tree.add(row.leaf)
  const expected = new Map(tree.takeCompleted().map(each => [`${each.level}/${each.number}`, each.hash]))
  const stored = database.rows<Subtree>('select level, number, hash from subtree')
  for (const { level, number, hash } of stored) {
    if (!expected.get(`${level}/${number}`)?.equals(hash))
      yield `the subtree ${level}/${number} does not match its leaves`
    expected.delete(`${level}/${number}`)
  }
  for (const missing of expected.keys()) yield `the subtree ${missing} is missing`
  const root = runReadSteps(database, treeRoot())
  const defined = rows.length > 0 ? merkleRoot(rows.map(row => row.leaf)).toString('hex') : undefined
  if (root !== defined) yield 'the root does not match the leaves'
}

/** The Merkle root as defined in RFC 6962, section 2.1. */
function merkleRoot(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves
  if (only && leaves.length === 1) return only
  const half = 2 ** Math.ceil(Math.log2(leaves.length) - 1)
  const node = Buffer.concat([Buffer.alloc(1, 1), merkleRoot(leaves.slice(0, half)), merkleRoot(leaves.slice(half))])
  if (node.length !== 1 + 2 * hashBytes) throw new TypeError('Cannot compute the root: a node must have two hashes')
  return hash('sha256', node, 'buffer')
}

/** Checks that the effects and parts in the tables are exactly those in the headers. */
function* checkEffectsAndParts(database: Sqlite, headers: readonly Header[]): Iterable<string> {
  const effects = database.column("select position || '/' || n from effect")
  const named = headers.flatMap(each => (each.effects ?? []).map((_, n) => `${each.position}/${n}`))
  if (!isSameSet(effects, named)) yield 'the effects differ from those in the headers'
  const parts = database.rows<{ place: string; sealed: Buffer }>(
    "select position || '/' || name as place, sealed from part",
  )
  const sealed = parts.map(each => `${each.place}/${hash('sha256', each.sealed)}`)
  const marked = headers.flatMap(({ position, parts = [] }) =>
    parts.map(part => `${position}/${part.name}/${part.hash}`),
  )
  if (!isSameSet(sealed, marked)) yield 'the parts differ from those in the headers'
  const beyond = database.value('select count(*) from receipt where position > ?', headers.length)
  if (beyond !== 0) yield 'a receipt is of an event that does not exist'
}

function isSameSet(a: readonly unknown[], b: readonly unknown[]): boolean {
  const other = new Set(b)
  return a.length === b.length && new Set(a).size === other.size && a.every(each => other.has(each))
}

/** Runs reading steps without the store's connection. */
function runReadSteps<T>(database: Sqlite, steps: Steps<T>): T {
  let step = steps.next()
  while (!step.done) {
    if (!('parameters' in step.value)) throw new TypeError('Cannot run a step that writes')
    step = steps.next(database.rows(step.value.sql, ...step.value.parameters))
  }
  return step.value
}

const selectEvents = `select position, stream.name, event.version, type, header, leaf from event
  join stream on stream.key = event.stream order by position`
