import { each, first, type Steps } from '../database/connection.ts'
import { checkTablesVersion } from '../database/migrations.ts'
import type { Schema } from '../database/schema.ts'
import { damagedLogError, forgedLogError } from './header.ts'
import type { LogEnd, Tags } from './tags.ts'
import { reservedError } from './tail.ts'
import { rootAt, Tree } from './tree.ts'

export interface Head extends LogEnd {
  readonly tree: Tree
  /** The leaf of the newest event; null without events. */
  readonly leaf: Uint8Array | null
  /** The running views: see `Projector`. */
  readonly views: string
  readonly epoch: number
  /** Raised by what changes rows that other writers keep in memory, besides events. */
  readonly fence: number
  /** The tag over its end and its tree. */
  readonly tag: string
  readonly schema: number
}

/** Writes the end of the log with its tag, which is set, in the transaction of its newest events. */
export function* writeHead(tags: Tags, head: { -readonly [K in keyof Head]: Head[K] }): Steps<void> {
  const { position, at, stream, owner, tree } = head
  head.tag = tags.ofHead(head, tree.root())
  yield* each(updateHead, [[position, at, stream, owner, tree.frontier, head.tag]], row => row)
}

/** Reads the end of the log. Throws `CORRUPT` when it was not written with the keys of the log. */
export function* readHead(tags: Tags): Steps<Head> {
  const head = yield* first<HeadRow>({ sql: selectHead, parameters: [] })
  if (!head) throw damagedLogError('The log has no head')
  // Another process may have migrated them since this one opened the log.
  checkTablesVersion('the log', head.schema)
  const { position, end, frontier, ...others } = head
  if (position !== end) throw damagedLogError(`The log has ${end} events, and its head names ${position}`)
  if (position === 0 && head.tag !== '') throw reservedError('the log')
  const tree = Tree.of(position, frontier)
  if (!tree || (position > 0 && tags.ofHead(head, tree.root()) !== head.tag)) throw changedLogError(position)
  return { ...others, position, tree }
}

/** Reads the end of the log, and compares it with the leaves of the events. Throws `CORRUPT`. */
export function* checkHead(tags: Tags): Steps<Head> {
  const head = yield* readHead(tags)
  const { position, tree } = head
  if (tree.root() !== (yield* rootAt(position))) throw changedLogError(position)
  return head
}

function changedLogError(events: number) {
  return forgedLogError(`The log of ${events} events was changed, or written to without its keys`)
}

/** Reads what changes in the head when another process has written what a writer keeps in memory. */
export const selectHeadMark = { sql: 'select tag, fence, views, epoch, schema from head', parameters: [] }

export function headMarkOf({ tag, fence, views, epoch, schema }: Head): object {
  return { tag, fence, views, epoch, schema }
}

/** Reports whether nothing that writers keep in memory has changed between two heads, besides events. */
export function agreesBesidesEvents(one: Head, other: Head): boolean {
  return one.fence === other.fence && one.views === other.views && one.epoch === other.epoch
}

/** Fails the transaction unless the head is as a writer remembers it, and returns nothing: nobody need wait for it. */
export function requireHead({ tag, fence, views, epoch, schema }: Head): Steps<void> {
  return each(failUnlessSame, [[tag, fence, views, epoch, schema]], row => row)
}

const failUnlessSame = `select 1 / count(*) from head
  where tag = ? and fence = ? and views = ? and epoch = ? and schema = ?`

/** The stored head, and the position of the newest event beside it. */
type HeadRow = Pick<
  Schema['head'],
  'position' | 'at' | 'stream' | 'owner' | 'views' | 'epoch' | 'fence' | 'frontier' | 'tag' | 'schema'
> & {
  readonly end: number
  readonly leaf: Uint8Array | null
}

const selectHead = `select position, at, stream, owner, views, epoch, fence, frontier, tag, schema,
  (select coalesce(max(position), 0) from event) as "end",
  (select leaf from event where event.position = head.position) as leaf from head`
const updateHead = 'update head set position = ?, at = ?, stream = ?, owner = ?, frontier = ?, tag = ?'
