import { isDeepStrictEqual } from 'node:util'
import { arrivedType, logStream, movedType } from '../../proof/recorded-header.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { KeyringStore } from '../../vault/keyring-store.ts'
import { parseKeyring } from '../../vault/stored-keys.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { type Connection, each, first, rows, type Steps } from '../database/connection.ts'
import type { Reading } from '../database/reading.ts'
import { db } from '../database/schema.ts'
import { readTime } from '../database/server-time.ts'
import { parseHeader } from '../log/header.ts'
import { endOfLog } from '../log/read.ts'
import { busyLogError, readReservation } from '../log/tail.ts'
import { rootAt } from '../log/tree.ts'
import { type Append, logEvent } from '../writing/append.ts'

/** The tables of a copy, in the order of their references. The head, which completes it, is last. */
const tables: Readonly<Record<string, readonly string[]>> = {
  stream: ['key'],
  event: ['position'],
  subtree: ['level', 'number'],
  checkpoint: ['number'],
  owner_key: ['key'],
  part: ['position', 'name'],
  receipt: ['command_id'],
  effect: ['position', 'n'],
  keyed_index: ['kind', 'digest'],
  recent_digest: ['position'],
  follower: ['name'],
  secret: ['name'],
}
const pageRows = 500
/** A part may have megabytes. */
const partPageRows = 50

type Row = Readonly<Record<string, unknown>>

export interface Copied {
  readonly events: number
  /** The root of the hash tree over all events, equal at both places. */
  readonly root: string
}

/** Makes the append after which nothing is recorded at a place any more. */
export function leave(move: string, end: number, at: Instant): Append {
  const events = [logEvent(movedType, 'log.move', { move })]
  return { at, streams: [{ stream: logStream, expect: 'exists' }], events, end }
}

/** Reserves a place for a move, or gives the move that it was reserved for before the log left. */
export function* reserve(move: string): Steps<string> {
  const reserved = yield* readReservation()
  // Somebody has begun one there meanwhile.
  if ((yield* endOfLog()) > 0) throw occupiedError()
  if (reserved === undefined) yield* rows(db.updateTable('head').set({ tag: move }).where('position', '=', 0))
  return reserved ?? move
}

/** Makes the append with which a log goes on at its new place. */
export function arrive(move: string, { events: size, root }: Copied, at: Instant): Append {
  const events = [logEvent(arrivedType, 'log.arrive', { move, size, root })]
  return { at, streams: [{ stream: logStream, expect: 'exists' }], events, end: size }
}

/** Reads the move that a log has left its place with; `undefined` when it has not. */
export function* readMove(): Steps<string | undefined> {
  const newest = db.selectFrom('event').select(['type', 'header']).orderBy('position', 'desc').limit(1)
  const found = yield* first(newest)
  if (found?.type !== movedType) return undefined
  const { move }: { move?: unknown } = parseHeader(found.header).data ?? {}
  return String(move)
}

/**
 * Refuses to move a log while a process works with it: what that would still learn could not be recorded.
 *
 * @throws {AverbaError} `STORE_BUSY`
 */
export function* checkIdle(dialect: Connection['dialect'], hostNow: Instant): Steps<void> {
  // Leases on a server are in its time, whatever the clock of this machine says.
  const server = dialect === 'postgres' ? yield* first<{ ms: number }>({ sql: readTime, parameters: [] }) : undefined
  const now = server ? toInstant(server.ms) : hostNow
  for (const table of ['effect', 'follower'] as const) {
    const held = db.selectFrom(table).select('lease_until').where('lease_owner', 'is not', null)
    if (yield* first(held.where('lease_until', '>', now).limit(1))) throw busyLogError()
  }
}

/** Checks that the new place has no keyring, or this one. Returns its text, and whether it is there. */
export async function checkKeyringPlace(
  from: KeyringStore,
  to: KeyringStore,
): Promise<{ readonly text: string; readonly isThere: boolean }> {
  const kept = await from.read()
  if (!kept) throw new AverbaError('KEYS_MISSING', `Cannot move the log: its keyring "${from.name}" is missing`)
  const there = await to.read()
  // The size that it remembers grows with each close of its log.
  const keysIn = (text: string) => ({ ...parseKeyring(text, to.name), size: 0, mac: '' })
  if (!there || isDeepStrictEqual(keysIn(there.text), keysIn(kept.text))) return { text: kept.text, isThere: !!there }
  throw otherKeyringError(to)
}

/** Copies the keyring to its new place, unless it is there. */
export async function copyKeyring(from: KeyringStore, to: KeyringStore): Promise<void> {
  const { text, isThere } = await checkKeyringPlace(from, to)
  if (!isThere && !(await to.replace(text, undefined))) throw otherKeyringError(to)
}

function otherKeyringError(to: KeyringStore): AverbaError {
  return new AverbaError('KEYS_MISMATCH', `Cannot move the log: "${to.name}" is another keyring`, {
    hint: 'Name a place without a keyring',
  })
}

/**
 * Copies the rows of a log that has left its place to tables that are empty, or have a part of the same copy.
 *
 * @throws {AverbaError} `INVALID_INPUT` when another log is there, `CORRUPT` when the copy has another root
 */
export async function copyRows(
  from: Reading,
  to: Connection,
  onProgress: (done: number, end: number) => void = () => undefined,
): Promise<Copied> {
  const end = await from.read(() => first(db.selectFrom('head').selectAll()))
  if (!end) throw new AverbaError('CORRUPT', 'Cannot move the log: it has no head')
  await checkSameLog(from, to, end.position)
  for (const [table, keys] of Object.entries(tables)) await copyTable(from, to, table, keys, onProgress, end.position)
  const { views: _, schema: __, ...head } = end
  // Opening it builds the views.
  await to.transact(() => rows(db.updateTable('head').set({ ...head, views: '' })))
  const [root, copied] = [await from.read(() => rootAt(end.position)), await to.read(() => rootAt(end.position))]
  if (root === undefined || root !== copied)
    throw new AverbaError('CORRUPT', 'Cannot move the log: the copy has another root')
  return { events: end.position, root }
}

async function checkSameLog(from: Reading, to: Connection, end: number): Promise<void> {
  const readBegan = () => first(db.selectFrom('event').select('header').where('position', '=', 1))
  const there = await to.read(readBegan)
  const head = await to.read(() => first(db.selectFrom('head').select('position')))
  const isCopy = there?.header === (await from.read(readBegan))?.header
  // It goes on with what was interrupted, also when only the arrival is missing.
  if (!there || (isCopy && [0, end].includes(head?.position ?? 0))) return
  throw occupiedError()
}

export function occupiedError(): AverbaError {
  return new AverbaError('INVALID_INPUT', 'Cannot move the log: there is a log at the new place', {
    hint: 'Name a file or a schema that does not exist',
  })
}

function busyCopyError(): AverbaError {
  return new AverbaError('STORE_BUSY', 'Cannot move the log: another copy writes to the new place', {
    hint: 'Wait for it. If it ends without success, repeat this one',
  })
}

async function copyTable(
  from: Reading,
  to: Connection,
  table: string,
  keys: readonly string[],
  onProgress: (done: number, end: number) => void,
  end: number,
): Promise<void> {
  const order = keys.map(key => `"${key}"`)
  const newest = `select ${order.join(', ')} from ${table} order by ${order.map(key => `${key} desc`).join(', ')} limit 1`
  const readNewest = () => first<Row>({ sql: newest, parameters: [] })
  let last = await to.read(readNewest)
  for (;;) {
    const after = last === undefined ? '' : `where (${order.join(', ')}) > (${order.map(() => '?').join(', ')})`
    const limit = table === 'part' ? partPageRows : pageRows
    const sql = `select * from ${table} ${after} order by ${order.join(', ')} limit ${limit}`
    const parameters = last === undefined ? [] : keys.map(key => last?.[key])
    const page = await from.read(() => rows<Row>({ sql, parameters }))
    const columns = Object.keys(page[0] ?? {})
    const before = last
    last = page.at(-1)
    if (last === undefined) return
    const names = columns.map(column => `"${column}"`).join(', ')
    const insert = `insert into ${table} (${names}) values (${columns.map(() => '?').join(', ')})`
    await to.transact(function* () {
      const newestNow = yield* readNewest()
      if (keys.some(key => !isSame(newestNow?.[key], before?.[key]))) throw busyCopyError()
      yield* each(insert, page, row => columns.map(column => valueOf(column, row)))
    })
    if (table === 'event') onProgress(Number(last.position), end)
    await yieldToEventLoop()
  }
}

/** Compares values of two databases, which give bytes as different objects. */
function isSame(one: unknown, other: unknown): boolean {
  const areBytes = one instanceof Uint8Array && other instanceof Uint8Array
  return areBytes ? Buffer.compare(one, other) === 0 : one === other
}

/** Leases belong to processes at the former place. */
function valueOf(column: string, row: Row): unknown {
  return column.startsWith('lease_') ? null : row[column]
}
