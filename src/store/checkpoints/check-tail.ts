import { parseCheckpoint } from '../../proof/note.ts'
import type { KeyringSigner } from '../../vault/cryptography.ts'
import type { Steps } from '../database/connection.ts'
import { checkHead, type Head } from '../log/head.ts'
import { damagedLogError, forgedLogError } from '../log/header.ts'
import type { Tags } from '../log/tags.ts'
import { checkEvents, readTail, tailEvents } from '../log/tail.ts'
import { rootAt } from '../log/tree.ts'
import { readNewestCheckpoint } from './checkpoints.ts'
import { isSignedBy } from './high-water-mark.ts'

/**
 * Checks that the last events were written with the keys of the log: every event after a position, or after the newest
 * signed checkpoint. That also covers the events of a long tail: their own tags are checked when they are read.
 *
 * @throws {AverbaError} `CORRUPT`
 */
export function* checkTail(tags: Tags, signer: KeyringSigner, end: number, after?: number): Steps<void> {
  const isShort = after !== undefined && end - after <= tailEvents
  let last = isShort ? after : Math.max(after ?? 0, yield* findSignedSize(signer))
  while (last < end) {
    const page = yield* readTail(last)
    checkEvents(tags, page)
    last = page.at(-1)?.position ?? end
  }
}

/** Checks the head of the log, and the events from its newest signed checkpoint on. Returns the head. */
export function* checkWhole(tags: Tags, signer: KeyringSigner): Steps<Head> {
  const head = yield* checkHead(tags)
  yield* checkTail(tags, signer, head.position)
  return head
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
