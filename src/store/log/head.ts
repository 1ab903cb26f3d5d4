import { first, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { damagedLogError, forgedLogError } from './header.ts'
import type { Tags } from './tags.ts'

/** The end of a log: its number of events, and the root over them in hexadecimal. */
export interface LogEnd {
  readonly size: number
  readonly root: string | undefined
}

/** Writes the number of events and the tag of the whole log, in the transaction of its newest events. */
export function* writeHead(tags: Tags, { size, root }: LogEnd): Steps<void> {
  yield* rows({ sql: updateHead, parameters: [size, tags.ofHead(size, root)] })
}

/**
 * Checks that the whole log was written with its keys.
 *
 * @throws {AverbaError} `CORRUPT`
 */
export function* checkHead(tags: Tags, { size, root }: LogEnd): Steps<void> {
  const head = yield* first(db.selectFrom('head').select(['size', 'tag']))
  if (head?.size !== size)
    throw damagedLogError(`The log has ${size} events, and its head names ${head?.size ?? 'none'}`)
  if (size > 0 && tags.ofHead(size, root) !== head.tag)
    throw forgedLogError(`The log of ${size} events was changed, or written to without its keys`)
}

const updateHead = 'update head set size = ?, tag = ?'
