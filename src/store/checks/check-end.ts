import { hashBytes, isLeafOf } from '../../proof/merkle.ts'
import { first, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { damagedLogError } from '../log/header.ts'
import { tileHashes } from '../log/tree.ts'

/**
 * Compares the end of the log with its parts, effects, followers and tiles, in constant time.
 *
 * @throws {AverbaError} `CORRUPT`
 */
export function* checkEnd(path: string): Steps<void> {
  const fault = yield* findEndFault()
  if (fault === undefined) return
  throw damagedLogError(`Cannot open "${path}": ${fault}`)
}

/** Describes what is wrong at the end of the log, if anything. */
export function* findEndFault(): Steps<string | undefined> {
  const events = db.selectFrom('event').select(['position', 'header', 'leaf'])
  const last = yield* first(events.orderBy('position', 'desc').limit(1))
  const position = last?.position ?? 0
  if (last && !isLeafOf(last.header, last.leaf))
    return `the leaf of the event at ${position} is not the hash of its header`
  let reach = 0
  for (const table of ['part', 'effect', 'follower'] as const) {
    const farthest = yield* first(db.selectFrom(table).select(({ fn }) => fn.max('position').as('position')))
    reach = Math.max(reach, farthest?.position ?? 0)
  }
  if (reach > position) return `its last event is at ${position}, but a part, an effect or a follower is at ${reach}`
  return yield* findTilesFault(position)
}

function* findTilesFault(size: number): Steps<string | undefined> {
  let level = 1
  for (; tileHashes ** level <= size; level++) {
    const hashes = Math.floor(size / tileHashes ** level)
    const number = Math.ceil(hashes / tileHashes) - 1
    const bytes = (hashes - number * tileHashes) * hashBytes
    const tile = yield* readLastTile(level)
    if (tile?.number !== number || tile.bytes !== bytes)
      return `the last tile on level ${level} does not match the tree of its ${size} events`
  }
  const above = yield* readLastTile(level)
  return above && `the tree of its ${size} events has one level too many`
}

function readLastTile(level: number): Steps<{ number: number; bytes: number } | undefined> {
  const query = db.selectFrom('tile').select(({ fn }) => ['number', fn<number>('length', ['hashes']).as('bytes')])
  return first(query.where('level', '=', level).orderBy('number', 'desc').limit(1))
}
