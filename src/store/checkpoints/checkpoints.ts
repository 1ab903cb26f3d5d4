import { parseCheckpoint, signCheckpoint } from '../../proof/checkpoint.ts'
import { beganType, logStream, resumedType } from '../../proof/log-stream.ts'
import { anchorBytesMax, anchorTooLong } from '../../proof/marks.ts'
import type { Signer } from '../../proof/note.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { damagedLogError } from '../log/damaged.ts'
import { parseHeader } from '../log/header.ts'
import { rootAt, treeHead } from '../log/tree.ts'

/** A signed checkpoint as it is kept. */
export interface StoredCheckpoint {
  /** Counts from 1 without gaps. */
  readonly number: number
  readonly size: number
  readonly note: string
  /** What the host's anchor gave for it, where it was asked. */
  readonly anchor: Uint8Array | null
}

/** Signs where the log stands, unless the newest checkpoint does. */
export function* makeCheckpoint(signer: Signer): Steps<StoredCheckpoint> {
  const { size, root = '' } = yield* treeHead()
  const newest = yield* readNewestCheckpoint()
  if (newest?.size === size) return newest
  const origin = yield* readOrigin()
  const note = signCheckpoint({ origin, size, root }, signer)
  const made = { number: (newest?.number ?? 0) + 1, size, note, anchor: null }
  yield* rows({ sql: insertCheckpoint, parameters: [made.number, size, note] })
  return made
}

/**
 * Keeps what an anchor gave for a checkpoint.
 *
 * @throws {AverbaError} `MISCONFIGURED` when it is longer than 64 kB
 */
export function* keepAnchor(size: number, anchor: Uint8Array): Steps<void> {
  if (anchor.length > anchorBytesMax)
    throw new AverbaError('MISCONFIGURED', `What the anchor gave for a checkpoint ${anchorTooLong}`, {
      hint: 'Let `anchor` give a time stamp or a signed note alone, without anything beside it.',
    })
  yield* rows({ sql: updateAnchor, parameters: [anchor, size] })
}

/** Every checkpoint, the oldest first. */
export function* readCheckpoints(): Steps<readonly StoredCheckpoint[]> {
  return yield* rows<StoredCheckpoint>({ sql: selectCheckpoints, parameters: [] })
}

/** The newest checkpoint. */
export function* readNewestCheckpoint(): Steps<StoredCheckpoint | undefined> {
  return yield* first<StoredCheckpoint>({ sql: selectNewest, parameters: [] })
}

/** The name that the log signs under today: that of its beginning, or of the last restore that was accepted. */
export function* readOrigin(): Steps<string> {
  const found = yield* first<{ header: string }>({
    sql: selectOrigin,
    parameters: [logStream, beganType, resumedType],
  })
  const { origin } = found ? parseHeader(found.header).data : {}
  if (typeof origin === 'string') return origin
  throw damagedLogError('Cannot sign a checkpoint: the log has no beginning')
}

/** What is wrong where the mark itself is: the log may be whole. */
export const damagedMark = 'its high-water mark is damaged'

/**
 * Says how a log contradicts the mark that was left outside of it, if it does.
 *
 * @param mark a signed checkpoint of this log, verified
 */
export function* findMarkFault(mark: string): Steps<string | undefined> {
  const checkpoint = parseCheckpoint(mark)
  if (!checkpoint) return damagedMark
  const { size, root } = checkpoint
  const head = yield* treeHead()
  if (head.size < size)
    return `it has ${head.size} events, and had ${size} when its high-water mark was written`
  if ((yield* rootAt(size)) === root) return undefined
  return `its first ${size} events are others than when its high-water mark was written`
}

const insertCheckpoint = 'insert into checkpoint (number, size, note) values (?, ?, ?)'
const updateAnchor = 'update checkpoint set anchor = ? where size = ?'
const selectCheckpoints = 'select number, size, note, anchor from checkpoint order by number'
const selectNewest = 'select number, size, note, anchor from checkpoint order by number desc limit 1'
const selectOrigin = `select event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.type in (?, ?) order by event.version desc limit 1`

/** Every name that the log signs under, with the key line that it names. */
export function* readKeyLines(): Steps<{ origin: string; key: string }[]> {
  const found = yield* rows<{ header: string }>({
    sql: selectKeyLines,
    parameters: [logStream, beganType, resumedType],
  })
  return found.map(({ header }) => {
    const { origin, key } = parseHeader(header).data
    return { origin: String(origin), key: String(key) }
  })
}
const selectKeyLines = `select event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.type in (?, ?) order by event.version`
