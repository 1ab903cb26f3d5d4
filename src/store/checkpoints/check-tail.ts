import { isLeafOf } from '../../proof/merkle.ts'
import { parseCheckpoint } from '../../proof/note.ts'
import type { KeyringSigner } from '../../vault/cryptography.ts'
import { rows, type Steps } from '../database/connection.ts'
import { db, type Schema } from '../database/schema.ts'
import { checkHead } from '../log/head.ts'
import { DamagedEvent, damagedLogError, forgedLogError } from '../log/header.ts'
import type { Tags } from '../log/tags.ts'
import { rootAt } from '../log/tree.ts'
import { readNewestCheckpoint } from './checkpoints.ts'
import { isSignedBy } from './high-water-mark.ts'

const pageEvents = 500

/**
 * Checks that the last events were written with the keys of the log: every event after a position, or after the newest
 * signed checkpoint. That also covers the events of a long tail: their own tags are checked when they are read.
 *
 * @throws {AverbaError} `CORRUPT`
 */
export function* checkTail(tags: Tags, signer: KeyringSigner, end: number, after?: number): Steps<void> {
  const isShort = after !== undefined && end - after <= pageEvents
  let last = isShort ? after : Math.max(after ?? 0, yield* findSignedSize(signer))
  while (last < end) {
    const events = db.selectFrom('event').select(['position', 'header', 'leaf', 'tag'])
    const page = yield* rows(events.where('position', '>', last).orderBy('position').limit(pageEvents))
    for (const event of page) checkEvent(tags, event)
    last = page.at(-1)?.position ?? end
  }
}

/** Checks the head of the log, and the events from its newest signed checkpoint on. Returns its end. */
export function* checkWhole(tags: Tags, signer: KeyringSigner): Steps<number> {
  const { position } = yield* checkHead(tags)
  yield* checkTail(tags, signer, position)
  return position
}

function checkEvent(tags: Tags, event: Pick<Schema['event'], 'position' | 'header' | 'leaf' | 'tag'>): void {
  const { position, header, leaf, tag } = event
  if (!isLeafOf(header, leaf)) throw new DamagedEvent('its leaf is not the hash of its header', { position })
  if (tags.ofEvent(header) !== tag) throw new DamagedEvent('it was written without the keys of this log', { position })
}

/** The number of events under the newest checkpoint, which the keyring must have signed; 0 without one. */
function* findSignedSize(signer: KeyringSigner): Steps<number> {
  const newest = yield* readNewestCheckpoint()
  if (!newest) return 0
  const checkpoint = parseCheckpoint(newest.note)
  if (checkpoint?.size !== newest.size || checkpoint.root !== (yield* rootAt(newest.size)))
    throw damagedLogError(`The checkpoint over ${newest.size} events contradicts the log`)
  if (isSignedBy(signer, newest.note)) return newest.size
  throw forgedLogError(`The checkpoint over ${newest.size} events was not signed with the keys of the log`)
}
