import type { RecordedEvent } from '../../vocabulary/message.ts'
import { each, rows, type Steps } from '../database/connection.ts'
import { parseHeader } from '../log/header.ts'
import { placeOf, present } from '../parts/parts.ts'
import { isOf } from '../parts/person-search.ts'
import { forgetRecent } from './recent-digests.ts'
import type { KnownOwner } from './writer-cache.ts'

/** What is destroyed with an append. */
export interface DestroyedWith {
  readonly parts: readonly { readonly position: number; readonly name: string }[]
  /** The person whose parts they are, where it is an erasure. */
  readonly person?: ErasedPerson
}

/** What an erasure destroys beside the parts. */
export interface ErasedPerson {
  readonly owner: string
  /** What the headers name the person by. */
  readonly subject: string
  /** The end of the log when the data was surveyed. */
  readonly until: number
  readonly claims: readonly { readonly kind: string; readonly digest: Uint8Array }[]
  /** The commands that led to events of the person, and the streams of those that recorded nothing. */
  readonly commands: readonly string[]
  readonly streams: readonly string[]
  /** Something is kept, and so is the key that opens it. */
  readonly keepsKey: boolean
  /** The positions of kept parts: the same content that comes again belongs to somebody else from now on. */
  readonly kept: readonly number[]
}

/** Reports whether something was recorded of the person since the survey, or is staged to be. */
export function* isOutdated(
  { subject, until, streams }: ErasedPerson,
  staged: readonly { readonly header: string; readonly recorded: RecordedEvent }[],
): Steps<boolean> {
  const found = yield* rows<{ header: string }>({ sql: selectNewer, parameters: [until, `%${subject}%`] })
  const newer = found.map(({ header }): RecordedEvent => parseHeader(header))
  const inBatch = staged.filter(({ header }) => header.includes(subject)).map(each => each.recorded)
  // What a consent of theirs has come to owe opens something of them, and says no more of whose it is.
  return [...newer, ...inBatch].some(event => streams.includes(event.stream) || isOf(subject, event))
}

/**
 * Reports whether each part is there, and is not staged to be destroyed. An erasure destroys its parts wherever they
 * are, by destroying the key.
 */
export function* areThere(
  { parts, person }: DestroyedWith,
  staged: readonly DestroyedWith[],
): Steps<boolean> {
  if (person) return true
  const inBatch = new Set(staged.flatMap(each => each.parts.map(placeOf)))
  if (parts.some(part => inBatch.has(placeOf(part)))) return false
  return (yield* present(parts)).length === parts.length
}

/** Destroys it. The row of the key stays, without a key, so that none is made again. */
export function* destroy({ parts, person }: DestroyedWith): Steps<void> {
  yield* each(
    deletePart,
    parts.map(({ position, name }) => [position, name]),
  )
  yield* forgetRecent(parts.map(({ position }) => position))
  if (!person) return
  const { owner, claims, commands, streams, keepsKey, kept } = person
  yield* forgetRecent(kept)
  yield* each(
    deleteClaim,
    claims.map(({ kind, digest }) => [kind, digest]),
  )
  const none = new Uint8Array()
  yield* each(
    emptyReceipt,
    commands.map(id => [none, id]),
  )
  yield* each(
    emptyBareReceipts,
    streams.map(stream => [none, stream]),
  )
  if (keepsKey) yield* rows({ sql: markOwner, parameters: [owner] })
  else yield* rows({ sql: emptyOwner, parameters: [none, none, owner] })
}

/** An owner's key after its erasure, as the writer knows it. */
export function erasedOwner(owner: KnownOwner, { keepsKey }: ErasedPerson): KnownOwner {
  const none = new Uint8Array()
  return { ...owner, isErased: 1, ...(!keepsKey && { epoch: 0, wrapped: none, commitment: none }) }
}

const selectNewer = 'select header from event where position > ? and header like ?'
const deletePart = 'delete from part where position = ? and name = ?'
const deleteClaim = 'delete from keyed_index where kind = ? and digest = ?'
const emptyReceipt = 'update receipt set digest = ? where command_id = ?'
const emptyBareReceipts = `update receipt set digest = ? where stream = ? and stream <> ''`
const markOwner = 'update owner_key set is_erased = 1 where owner = ?'
const emptyOwner =
  'update owner_key set is_erased = 1, epoch = 0, wrapped = ?, commitment = ? where owner = ?'
