import type { RecordedEvent } from '../../vocabulary/message.ts'
import { each, rows, type Steps } from '../database/connection.ts'
import type { HeaderReader, StoredHeader } from '../log/header.ts'
import { type PartPlace, partPlaceKey } from '../parts/parts.ts'
import { isEventOfPerson } from '../parts/person-search.ts'
import { deleteRecentDigests, type KnownOwner } from './writer-cache.ts'

/** The data that an append destroys. */
export interface Destruction {
  readonly parts: readonly PartPlace[]
  /** For an erasure: the person whose parts they are. */
  readonly person?: ErasedPerson
}

/** An erased person, and what is destroyed besides the parts. */
export interface ErasedPerson {
  readonly owner: string
  /** The person's ref in headers. */
  readonly subject: string
  /** The end of the log when the data was surveyed. */
  readonly until: number
  readonly indexEntries: readonly { readonly kind: string; readonly digest: Uint8Array }[]
  /** The commands that recorded events of the person, and the streams of commands without events. */
  readonly commands: readonly string[]
  readonly streams: readonly string[]
  /** Some parts are kept, so the key that opens them is kept too. */
  readonly keepsKey: boolean
  /** The positions of kept parts. Their recent digests are deleted: equal content now belongs to another person. */
  readonly kept: readonly number[]
}

/** Reports whether an event of the person was recorded since the survey. */
export function* isSurveyOutdated(headers: HeaderReader, person: ErasedPerson): Steps<boolean> {
  const { subject, until } = person
  const newer = yield* rows<StoredHeader>({ sql: selectNewer, parameters: [until, `%${subject}%`] })
  return newer.some(stored => isOfPerson(person, headers.read(stored)))
}

export function isPersonStaged(
  person: ErasedPerson,
  staged: readonly { readonly header: string; readonly recorded: RecordedEvent }[],
): boolean {
  return staged.some(({ header, recorded }) => header.includes(person.subject) && isOfPerson(person, recorded))
}

/** An event of one of the person's streams may name them only in the parts that its effects open. */
function isOfPerson({ subject, streams }: ErasedPerson, event: RecordedEvent): boolean {
  return streams.includes(event.stream) || isEventOfPerson(subject, event)
}

export function areDestroyed(parts: readonly PartPlace[], staged: readonly Destruction[]): boolean {
  const inBatch = new Set(staged.flatMap(each => each.parts.map(partPlaceKey)))
  return parts.some(part => inBatch.has(partPlaceKey(part)))
}

/** Destroys the data. The row of an erased key stays, without the key, so that no new key is created. */
export function* destroyData({ parts, person }: Destruction): Steps<void> {
  yield* each(deletePart, parts, ({ position, name }) => [position, name])
  yield* deleteRecentDigests(parts.map(({ position }) => position))
  if (!person) return
  const { owner, indexEntries, commands, streams, keepsKey, kept } = person
  yield* deleteRecentDigests(kept)
  yield* each(deleteEntry, indexEntries, ({ kind, digest }) => [kind, digest])
  yield* each(emptyReceipt, commands, id => [emptyBytes, id])
  yield* each(emptyReceiptsOfStream, streams, stream => [emptyBytes, stream])
  if (keepsKey) yield* rows({ sql: markOwner, parameters: [owner] })
  else yield* rows({ sql: emptyOwner, parameters: [emptyBytes, emptyBytes, owner] })
}

/** The writer's copy of an owner's key after the erasure. */
export function erasedOwner(owner: KnownOwner, { keepsKey }: ErasedPerson): KnownOwner {
  return { ...owner, isErased: 1, ...(!keepsKey && { epoch: 0, wrapped: emptyBytes, commitment: emptyBytes }) }
}

const emptyBytes = new Uint8Array()

const selectNewer = 'select position, header, tag from event where position > ? and header like ?'
const deletePart = 'delete from part where position = ? and name = ?'
const deleteEntry = 'delete from keyed_index where kind = ? and digest = ?'
const emptyReceipt = 'update receipt set digest = ? where command_id = ?'
const emptyReceiptsOfStream = `update receipt set digest = ? where stream = ? and stream <> ''`
const markOwner = 'update owner_key set is_erased = 1 where owner = ?'
const emptyOwner = 'update owner_key set is_erased = 1, epoch = 0, wrapped = ?, commitment = ? where owner = ?'
