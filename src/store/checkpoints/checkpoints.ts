import { parseCheckpoint, signCheckpoint } from '../../proof/checkpoint.ts'
import { beganType, logStream, resumedType } from '../../proof/log-stream.ts'
import type { Signer } from '../../proof/note.ts'
import { anchorBytesMax, anchorTooLong } from '../../proof/verify-checkpoints.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { damagedLogError } from '../log/damaged.ts'
import { parseHeader } from '../log/header.ts'
import { rootAt, treeHead } from '../log/tree.ts'

/** A stored, signed checkpoint. */
export interface StoredCheckpoint {
  readonly number: number
  readonly size: number
  readonly note: string
  /** The result of the host's anchor, if there is one. */
  readonly anchor: Uint8Array | null
}

/** Signs a checkpoint over all events, unless the newest one covers them. */
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
 * Stores the anchor of a checkpoint.
 *
 * @throws {AverbaError} `MISCONFIGURED` when it is longer than 64 kB
 */
export function* keepAnchor(size: number, anchor: Uint8Array): Steps<void> {
  if (anchor.length > anchorBytesMax)
    throw new AverbaError('MISCONFIGURED', `Cannot store the anchor of a checkpoint: it ${anchorTooLong}`, {
      hint: 'Let `anchor` return only a time stamp or a signed note',
    })
  yield* rows({ sql: updateAnchor, parameters: [anchor, size] })
}

/** Reads every checkpoint, the oldest first. */
export function* readCheckpoints(): Steps<readonly StoredCheckpoint[]> {
  return yield* rows<StoredCheckpoint>({ sql: selectCheckpoints, parameters: [] })
}

/** Reads the newest checkpoint. */
export function* readNewestCheckpoint(): Steps<StoredCheckpoint | undefined> {
  return yield* first<StoredCheckpoint>({ sql: selectNewest, parameters: [] })
}

/** Reads the name under which the log signs now: from its first event, or from the last accepted restore. */
export function* readOrigin(): Steps<string> {
  const found = yield* first<{ header: string }>({
    sql: selectOrigin,
    parameters: [logStream, beganType, resumedType],
  })
  const { origin } = found ? parseHeader(found.header).data : {}
  if (typeof origin === 'string') return origin
  throw damagedLogError('Cannot sign a checkpoint: the log has no first event')
}

/** The fault when the mark itself is damaged: the log may be intact. */
export const damagedMark = 'its high-water mark is damaged'

/**
 * Describes how the log contradicts its high-water mark; `undefined` if it does not.
 *
 * @param mark a signed checkpoint of this log, already verified
 */
export function* findMarkFault(mark: string): Steps<string | undefined> {
  const checkpoint = parseCheckpoint(mark)
  if (!checkpoint) return damagedMark
  const { size, root } = checkpoint
  const head = yield* treeHead()
  if (head.size < size) return `it has ${head.size} events, and had ${size} when its high-water mark was written`
  if ((yield* rootAt(size)) === root) return undefined
  return `its first ${size} events differ from those under its high-water mark`
}

const insertCheckpoint = 'insert into checkpoint (number, size, note) values (?, ?, ?)'
const updateAnchor = 'update checkpoint set anchor = ? where size = ?'
const selectCheckpoints = 'select number, size, note, anchor from checkpoint order by number'
const selectNewest = 'select number, size, note, anchor from checkpoint order by number desc limit 1'
const selectOrigin = `select event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.type in (?, ?) order by event.version desc limit 1`

/** Reads every name under which the log has signed, with its key line. */
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
