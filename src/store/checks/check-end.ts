import { hashBytes, isLeafOf } from '../../proof/merkle.ts'
import { first, type Steps } from '../database/connection.ts'
import { damagedLogError } from '../log/damaged.ts'
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
  const last = yield* first<LastEvent>({ sql: selectLast, parameters: [] })
  const position = last?.position ?? 0
  if (last && !isLeafOf(last.header, last.leaf))
    return `the leaf of the event at ${position} is not the hash of its header`
  const beside = yield* first<Record<'part' | 'effect' | 'follower', number | null>>({
    sql: selectBeside,
    parameters: [],
  })
  const reach = Math.max(beside?.part ?? 0, beside?.effect ?? 0, beside?.follower ?? 0)
  if (reach > position) return `its last event is at ${position}, but a part, an effect or a follower is at ${reach}`
  return yield* findTilesFault(position)
}

function* findTilesFault(size: number): Steps<string | undefined> {
  let level = 1
  for (; tileHashes ** level <= size; level++) {
    const hashes = Math.floor(size / tileHashes ** level)
    const number = Math.ceil(hashes / tileHashes) - 1
    const bytes = (hashes - number * tileHashes) * hashBytes
    const tile = yield* first<Tile>({ sql: selectLastTile, parameters: [level] })
    if (tile?.number !== number || tile.bytes !== bytes)
      return `the last tile on level ${level} does not match the tree of its ${size} events`
  }
  const above = yield* first<Tile>({ sql: selectLastTile, parameters: [level] })
  return above && `the tree of its ${size} events has one level too many`
}

interface LastEvent {
  readonly position: number
  readonly header: string
  readonly leaf: Uint8Array | null
}

interface Tile {
  readonly number: number
  readonly bytes: number
}

const selectBeside = `select (select max(position) from part) as part,
  (select max(position) from effect) as effect, (select max(position) from follower) as follower`
const selectLast = 'select position, header, leaf from event order by position desc limit 1'
const selectLastTile = `select number, length(hashes) as bytes from tile where level = ?
  order by number desc limit 1`
