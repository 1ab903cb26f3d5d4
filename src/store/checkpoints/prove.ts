import { type Checkpoint, parseCheckpoint } from '../../proof/checkpoint.ts'
import { consistencyRanges, inclusionRanges, type LeafRange, rootOfRange } from '../../proof/paths.ts'
import { writeTlogProof } from '../../proof/tlog-proof.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { first, type Steps } from '../database/connection.ts'
import { rootAt, subtreeRoot } from '../log/tree.ts'
import { readNewestCheckpoint, type StoredCheckpoint } from './checkpoints.ts'

/** Selects an event by its position or its id, `<stream>/<version>`. */
export type EventSelector = number | string

/** Writes the proof that the newest checkpoint covers an event, in the format C2SP tlog-proof. */
export function* proveEvent(which: EventSelector): Steps<string> {
  const event = yield* findEvent(which)
  const { note, size } = yield* requireCheckpoint()
  if (event.position > size) {
    const message = `Cannot prove the event at ${event.position}: no checkpoint covers it`
    throw new AverbaError('INVALID_INPUT', message, {
      hint: 'Close the log or request a checkpoint: both sign one',
    })
  }
  const index = event.position - 1
  return writeTlogProof(event.header, index, yield* computeRoots(inclusionRanges(index, size)), note)
}

/** An event's exact header with the hashes that lead from it to the root of a tree (RFC 6962, section 2.1.1). */
export interface InclusionProof {
  readonly header: string
  readonly index: number
  /** The hashes from its sibling upwards, in hexadecimal. */
  readonly path: readonly string[]
}

/** Proves that events are in the tree of the first `size` events of the log. */
export function* proveInclusion(positions: readonly number[], size: number): Steps<InclusionProof[]> {
  const proven: InclusionProof[] = []
  for (const position of positions) {
    const { header } = yield* findEvent(position)
    const path = yield* computeRoots(inclusionRanges(position - 1, size))
    proven.push({ header, index: position - 1, path })
  }
  return proven
}

/**
 * Returns the hashes that prove that the log under an older checkpoint is a prefix of today's, as a witness requires.
 *
 * @throws {AverbaError} `INVALID_INPUT` when the note is not a checkpoint, or not one of this log
 */
export function* proveConsistency(note: string): Steps<{ before: Checkpoint; checkpoint: string; hashes: string[] }> {
  const before = parseCheckpoint(note)
  if (!before) throw new AverbaError('INVALID_INPUT', 'Cannot prove consistency: the text is not a checkpoint')
  const { note: checkpoint, size } = yield* requireCheckpoint()
  if (before.size === 0 || before.size > size || (yield* rootAt(before.size)) !== before.root)
    throw new AverbaError('INVALID_INPUT', 'Cannot prove consistency: the checkpoint is not of this log')
  const hashes = yield* computeRoots(consistencyRanges(before.size, size))
  return { before: { origin: before.origin, size: before.size, root: before.root }, checkpoint, hashes }
}

function* computeRoots(ranges: readonly LeafRange[]): Steps<string[]> {
  const roots: string[] = []
  for (const range of ranges) roots.push(yield* rootOfRange(range, subtreeRoot))
  return roots
}

function* requireCheckpoint(): Steps<StoredCheckpoint> {
  const found = yield* readNewestCheckpoint()
  if (found) return found
  throw new AverbaError('INVALID_INPUT', 'Cannot write a proof: the log has no checkpoint yet')
}

/**
 * Finds an event with its exact header.
 *
 * @throws {AverbaError} `NOT_FOUND`
 */
export function* findEvent(which: EventSelector): Steps<{ position: number; header: string }> {
  const slash = String(which).lastIndexOf('/')
  const found =
    typeof which === 'number'
      ? yield* first<HeaderRow>({ sql: selectAt, parameters: [which] })
      : yield* first<HeaderRow>({
          sql: selectById,
          parameters: [which.slice(0, slash), Number(which.slice(slash + 1))],
        })
  if (found) return found
  throw new AverbaError('NOT_FOUND', 'Cannot prove the event: no event has this position or id', {
    hint: 'Give its position, or its id as <stream>/<version>',
  })
}

interface HeaderRow {
  readonly position: number
  readonly header: string
}

const selectAt = 'select position, header from event where position = ?'
const selectById = `select event.position, event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.version = ?`
