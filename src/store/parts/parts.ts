import { type ExpressionBuilder, sql } from 'kysely'
import type { OwnerKey, Vault } from '../../vault/vault.ts'
import type { Instant, Json, PartAddress, PartMark } from '../../vocabulary/message.ts'
import { parsePartAddress } from '../../vocabulary/names.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { db, type Schema } from '../database/schema.ts'
import { DamagedEvent, type HeaderReader, type StoredHeader } from '../log/header.ts'
import { eventsOf, headerColumns, positionBefore } from '../log/read.ts'

export interface PartPlace {
  readonly position: number
  readonly name: string
}

/** Formats a part's place as events name it: `<position>/<name>`. */
export function partPlaceKey({ position, name }: PartPlace): string {
  return `${position}/${name}`
}

/** The condition that a row of `part` comes after a place, in the order of places. */
export function isAfterPart({ position, name }: PartPlace) {
  return ({ eb, refTuple, tuple }: ExpressionBuilder<Schema, 'part'>) =>
    eb(refTuple('part.position', 'part.name'), '>', tuple(position, name))
}

export function* findPresent<P extends PartPlace>(parts: readonly P[]): Steps<P[]> {
  const found: P[] = []
  for (const part of parts)
    if (yield* first({ sql: selectPart, parameters: [part.position, part.name] })) found.push(part)
  return found
}
const selectPart = 'select position from part where position = ? and name = ?'

/** Opens the part at an address; `undefined` when it does not exist. */
export function* openPart(vault: Vault, headers: HeaderReader, address: PartAddress): Steps<Json | undefined> {
  const [stream, version, name] = parsePartAddress(address)
  const part = yield* first<OwnerKey & StoredHeader & { sealed: Uint8Array }>({
    sql: selectSealed,
    parameters: [stream, version, name],
  })
  return part && vault.open(part, address, part.sealed, headers.findRecordKey(part, name))
}
const selectSealed = `select event.position, event.header, event.tag, part.sealed,
  owner_key.owner, owner_key.epoch, owner_key.wrapped, owner_key.commitment from stream
  join event on event.stream = stream.key join part on part.position = event.position
  join owner_key on owner_key.key = part.owner
  where stream.name = ? and event.version = ? and part.name = ?`

/** Finds whose key seals a part, according to its event; `undefined` when no event names such a part. */
export function* findPartOwner(headers: HeaderReader, address: PartAddress): Steps<string | undefined> {
  const [stream, version, name] = parsePartAddress(address)
  const event = yield* first(eventsOf(stream).select(headerColumns).where('event.version', '=', version))
  const marks: readonly PartMark[] = event ? (headers.parse(event).parts ?? []) : []
  return marks.find(mark => mark.name === name)?.owner
}

export interface AgedPart extends PartPlace {
  readonly stream: string
  readonly version: number
  readonly owner: string
}

/** A page of parts. `next` is where the next page begins; absent on the last one. */
export interface AgedPage {
  readonly parts: readonly AgedPart[]
  readonly next?: PartPlace
}

const pageParts = 500
/** Most parts may be of other kinds, so a page is also bounded by positions: a long scan would block other work. */
const pagePositions = 5_000

/** The row of a part has no tag: under another owner's name, a hold would not cover it. */
function checkOwner(headers: HeaderReader, part: StoredHeader & AgedPart): void {
  const marks: readonly PartMark[] = headers.parse(part).parts ?? []
  if (marks.some(({ name, owner }) => name === part.name && owner === part.owner)) return
  throw new DamagedEvent(`the owner of its part "${part.name}" was changed`, { position: part.position })
}

/** Reads a page of the parts of some kinds (`<type>/<name>`), of events recorded before an instant, in order. */
export function* readAgedParts(
  headers: HeaderReader,
  kinds: readonly string[],
  before: Instant,
  last: PartPlace,
): Steps<AgedPage> {
  const until = yield* positionBefore(headers, before)
  const end = Math.min(until, last.position + pagePositions)
  const parts = yield* rows(
    db
      .selectFrom('part')
      .innerJoin('event', 'event.position', 'part.position')
      .innerJoin('stream', 'stream.key', 'event.stream')
      .innerJoin('owner_key', 'owner_key.key', 'part.owner')
      .select(['part.position', 'part.name', 'stream.name as stream', 'event.version', 'owner_key.owner'])
      .select(['event.header', 'event.tag'])
      .where(isAfterPart(last))
      .where('part.position', '<=', end)
      .where(sql<string>`event.type || '/' || part.name`, 'in', kinds)
      .orderBy('part.position')
      .orderBy('part.name')
      .limit(pageParts),
  )
  for (const part of parts) checkOwner(headers, part)
  const final = parts.length === pageParts ? parts.at(-1) : undefined
  if (final) return { parts, next: { position: final.position, name: final.name } }
  return end < until ? { parts, next: { position: end + 1, name: '' } } : { parts }
}
