import { consistencyRanges, inclusionRanges, type LeafRange, rootOfRange } from '../../proof/compact-tree.ts'
import { writeDisclosure } from '../../proof/disclosure.ts'
import { type Checkpoint, parseCheckpoint } from '../../proof/note.ts'
import { writeTlogProof } from '../../proof/tlog-proof.ts'
import type { Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { PartAddress, RecordedEvent } from '../../vocabulary/message.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import type { HeaderReader } from '../log/header.ts'
import { eventsOf, headerColumns } from '../log/read.ts'
import { rootAt, subtreeRoot } from '../log/tree.ts'
import { readNewestCheckpoint, type StoredCheckpoint } from './checkpoints.ts'

/** Selects an event by its position or its id, `<stream>/<version>`. */
export type EventSelector = number | string

/** Writes the proof that the newest checkpoint covers an event, in the format C2SP tlog-proof. */
export function* proveEvent(headers: HeaderReader, which: EventSelector): Steps<string> {
  const { position, header } = yield* findEvent(headers, which)
  const { note, size } = yield* requireCheckpoint()
  if (position > size) {
    const message = `Cannot prove the event at ${position}: no checkpoint covers it`
    throw new AverbaError('INVALID_INPUT', message, { hint: 'Close the log or request a checkpoint: both sign one' })
  }
  const index = position - 1
  return writeTlogProof(header, index, yield* computeRoots(inclusionRanges(index, size)), note)
}

/** An event's exact header with the hashes that lead from it to the root of a tree (RFC 6962, section 2.1.1). */
export interface InclusionProof {
  readonly header: string
  readonly index: number
  /** The hashes from its sibling upwards, in hexadecimal. */
  readonly path: readonly string[]
}

/** Proves that events are in the tree of the first `size` events of the log. */
export function* proveInclusion(
  headers: HeaderReader,
  positions: readonly number[],
  size: number,
): Steps<InclusionProof[]> {
  const proven: InclusionProof[] = []
  for (const position of positions) {
    const { header } = yield* findEvent(headers, position)
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

interface FoundEvent {
  readonly position: number
  readonly header: string
  readonly event: RecordedEvent
}

/** Finds an event. Throws `NOT_FOUND`. */
function* findEvent(headers: HeaderReader, which: EventSelector): Steps<FoundEvent> {
  const slash = String(which).lastIndexOf('/')
  const query =
    typeof which === 'number'
      ? db.selectFrom('event').where('event.position', '=', which)
      : eventsOf(which.slice(0, slash)).where('event.version', '=', Number(which.slice(slash + 1)))
  const found = yield* first(query.select(headerColumns))
  if (found) return { ...found, event: headers.read(found) }
  throw new AverbaError('NOT_FOUND', 'Cannot prove the event: no event has this position or id', {
    hint: 'Give its position, or its id as <stream>/<version>',
  })
}

/**
 * Finds the parts of an event that can be disclosed, which are encrypted under keys of its record, and their owners.
 *
 * @throws {AverbaError} `NOT_FOUND` when the event does not exist, or its parts were destroyed; `INVALID_INPUT` when
 * none of its parts is encrypted under a key of its record
 */
export function* findDisclosable(
  headers: HeaderReader,
  which: EventSelector,
): Steps<{ parts: PartAddress[]; owners: string[] }> {
  const { record, parts } = yield* readSealedParts(headers, which)
  return { parts: parts.map(({ name }) => `${record}/${name}`), owners: [...new Set(parts.map(part => part.owner))] }
}

/**
 * Writes the proof of an event under the newest checkpoint, with its encrypted parts and the keys of its record.
 *
 * @throws {AverbaError} as `findDisclosable` and `proveEvent`
 */
export function* discloseEvent(vault: Vault, headers: HeaderReader, which: EventSelector): Steps<string> {
  const { record, parts } = yield* readSealedParts(headers, which)
  const owners = new Map(parts.map(part => [part.owner, part]))
  const keys = [...owners].map(([owner, part]) => ({ owner, key: vault.recordKey(part, record).key }))
  return writeDisclosure({ proof: yield* proveEvent(headers, which), keys, parts })
}

/** Reads the parts of an event that are encrypted under keys of its record. */
function* readSealedParts(headers: HeaderReader, which: EventSelector) {
  const { position, event } = yield* findEvent(headers, which)
  const { id: record, parts: marks = [] } = event
  const own = new Set(marks.flatMap(({ name, recordKey }) => (recordKey === undefined ? [] : [name])))
  if (own.size === 0)
    throw new AverbaError('INVALID_INPUT', `Cannot disclose "${record}": it has no key of its own`, {
      hint: 'Set the option recordKeys: later events get their own keys',
    })
  const stored = yield* rows(
    db
      .selectFrom('part')
      .innerJoin('owner_key', 'owner_key.key', 'part.owner')
      .select(['part.name', 'part.sealed'])
      .select(['owner_key.owner', 'owner_key.epoch', 'owner_key.wrapped', 'owner_key.commitment'])
      .where('part.position', '=', position)
      .orderBy('part.name'),
  )
  const found = stored.filter(({ name }) => own.has(name))
  if (found.length > 0) return { record, parts: found }
  throw new AverbaError('NOT_FOUND', `Cannot disclose "${record}": its parts were destroyed`)
}
