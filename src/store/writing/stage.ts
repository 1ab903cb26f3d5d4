import { leafHash } from '../../proof/merkle.ts'
import type { Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { PartMark, RecordedEvent } from '../../vocabulary/message.ts'
import type { Steps } from '../database/connection.ts'
import { canMove, effectRows, isOpen } from '../ledger/ledger.ts'
import { writeHeader } from '../log/header.ts'
import { type Schemas, schemaOf } from '../log/upcasters.ts'
import type { Append, Appended, IndexEntry, Receipt, StagedEvent, StreamExpectation } from './append.ts'
import { type Batch, findReceipt, lookUp } from './batch.ts'
import { areThere, erasedOwner, isOutdated } from './destruction.ts'
import { keyOf, type RecentDigest, type RecentDigests } from './recent-digests.ts'
import type { KnownOwner, KnownStream, WriterCache } from './writer-cache.ts'

/** Where a stream that an append names was found, and where the append brings it. A key of 0 is still to be given. */
interface StreamPlacement {
  readonly found: KnownStream | undefined
  key: number
  version: number
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** Where appends are staged. */
export interface AppendContext {
  readonly vault: Vault
  readonly schemas: Schemas
  readonly known: WriterCache
  readonly recents: RecentDigests
  readonly batch: Batch
}

/**
 * Checks an append against the log and the appends staged before it, and stages it. A refusal or an error leaves no
 * trace: what is known changes only in the last step.
 */
export function* stage(desk: AppendContext, input: Append): Steps<Appended> {
  const { batch, known } = desk
  const receipt = input.receipt && !input.receipt.isNew && (yield* receiptOf(batch, input.receipt.commandId))
  if (receipt) return { status: 'known', receipt }
  const streams = new Map<string, StreamPlacement>()
  for (const { stream, expect, isNew } of input.streams) {
    const found = known.streams.get(stream) ?? (isNew ? undefined : yield* known.readStream(stream))
    if (!isExpected(expect, found?.version))
      return conflict(`"${stream}" is at ${found?.version ?? 'none'} instead of ${expect}`)
    streams.set(stream, { found, key: found?.key ?? 0, version: found?.version ?? 0 })
  }
  for (const claim of input.claims ?? []) {
    const value = batch.claims.get(nameOf(claim))?.value ?? (yield* lookUp(claim.kind, claim.digest))
    if (value !== claim.replaces) return conflict(`a ${claim.kind} was claimed meanwhile`)
  }
  if (input.recent && (yield* wasRecorded(desk, input.recent)))
    return conflict('it was recorded a short while ago')
  for (const effect of endsOf(input)) {
    if (hasEndedIn(batch, effect) || !(yield* isOpen(effect)))
      return conflict(`the effect "${effect}" has ended meanwhile`)
  }
  const { moves } = input
  const isMoved = moves && (batch.moved.has(moves.effect) || hasEndedIn(batch, moves.effect))
  if (moves && (isMoved || !(yield* canMove(moves)))) {
    return conflict(`the effect "${moves.effect}" stands elsewhere by now`)
  }
  const { destroys, concerns } = input
  const person = destroys?.person
  if (person && (yield* isOutdated(person, batch.events)))
    return conflict('more of the person was recorded meanwhile')
  if (destroys && !(yield* areThere(destroys, batch.destroyed)))
    return conflict('a part was destroyed meanwhile')
  if (concerns && (yield* findOwner(known, concerns))?.isErased === 1)
    return conflict('whom it concerns was erased meanwhile')
  const owners = new Map<string, KnownOwner>()
  let isErased = false
  for (const { parts } of input.events) {
    for (const part in parts) {
      const name = parts[part]?.owner ?? ''
      if (owners.has(name)) continue
      const owner = (yield* findOwner(known, name)) ?? known.newOwner(name, desk.vault)
      owners.set(name, owner)
      if (owner.isErased === 1) isErased = true
    }
  }
  if (isErased && input.receipt)
    throw new AverbaError('SUBJECT_ERASED', 'Cannot do this: its data subject was erased')
  if (isErased && input.whenErased === 'conflict') return conflict('its owner was erased meanwhile')
  const erased = person && (yield* findOwner(known, person.owner))
  const appended = commit(desk, isErased ? bare(input) : input, streams, owners)
  if (destroys) batch.destroyed.push(destroys)
  if (person && erased) known.owners.set(erased.owner, erasedOwner(erased, person))
  return appended
}

/** Writes every event, which can fail, and only then counts them, which cannot. */
function commit(
  { known, batch, vault, schemas }: AppendContext,
  input: Append,
  streams: ReadonlyMap<string, StreamPlacement>,
  owners: ReadonlyMap<string, KnownOwner>,
): Appended {
  // The system's clock may go back; the log's times do not.
  let { at } = known
  if (input.at > at) at = input.at
  const staged: StagedEvent[] = []
  for (const item of input.events) {
    const place = streams.get(item.stream)
    if (!place) throw new TypeError(`Cannot append to "${item.stream}": it has no expectation`)
    if (place.key === 0) place.key = known.nextStream()
    place.version += 1
    const position = known.position + staged.length + 1
    const ends = staged.length === input.events.length - 1 ? input : undefined
    staged.push(toStaged(vault, schemas, input, item, { position, at, ...place }, ends, owners))
  }
  for (const [name, { found, key, version }] of streams) {
    if (version === (found?.version ?? 0)) continue
    if (!found) batch.streams.push({ key, name })
    known.streams.set(name, { key, version })
  }
  for (const [name, owner] of owners) {
    if (!known.owners.has(name)) batch.owners.push(owner)
    known.owners.set(name, owner.isNew ? { ...owner, isNew: false } : owner)
  }
  for (const event of staged) {
    batch.events.push(event)
    if (event.recorded.effects) batch.effects.push(...effectRows(event.recorded, event.stream, input.at))
    known.tree.add(event.leaf)
  }
  known.position += staged.length
  if (staged.length > 0) known.at = at
  const events = staged.map(event => event.recorded)
  const { position } = known
  for (const claim of input.claims ?? []) batch.claims.set(nameOf(claim), claim)
  if (input.recent && events.length > 0) {
    batch.recent.set(keyOf(input.recent.digest), { ...input.recent, position, at: input.at })
  }
  if (input.settles) {
    const { effect, as, reason } = input.settles
    batch.ended.set(effect, { as, reason, position })
  }
  for (const { cancels = [] } of events) for (const effect of cancels) batch.cancelled.add(effect)
  if (input.moves && events.length > 0)
    batch.moved.set(input.moves.effect, { move: input.moves, now: input.at })
  if (input.receipt) {
    const owing = events.find(event => event.effects?.length)
    const { isNew: _, ...receipt } = input.receipt
    batch.receipts.set(input.receipt.commandId, {
      ...receipt,
      effect: owing ? `${owing.id}/0` : '',
      position,
      stream: events.length > 0 ? '' : (input.concerns ?? input.streams.at(-1)?.stream ?? ''),
    })
  }
  return { status: 'appended', position, events }
}

function toStaged(
  vault: Vault,
  schemas: Schemas,
  { about }: Append,
  item: Append['events'][number],
  { position, at, key, version }: Pick<RecordedEvent, 'position' | 'at' | 'version'> & { key: number },
  ends: Pick<Append, 'settles' | 'moves'> | undefined,
  owners: ReadonlyMap<string, KnownOwner>,
): StagedEvent {
  const { event, stream, causedBy, input, machine, parts: toSeal } = item
  const id = `${stream}/${version}`
  const parts: { name: string; owner: number; sealed: Uint8Array }[] = []
  const marks: PartMark[] = []
  for (const name in toSeal) {
    const part = toSeal[name]
    const owner = part && owners.get(part.owner)
    if (!owner) throw new TypeError(`Cannot seal the part "${name}": its owner has no key`)
    if (owner.isErased === 1) continue
    const { sealed, hash, recordKey } = vault.seal(owner, `${id}/${name}`, part.value, machine.name)
    const commits = owner.isNew && { key: Buffer.from(owner.commitment).toString('hex') }
    const own = recordKey !== undefined && { recordKey }
    // In the order of the header.
    marks.push({ bytes: sealed.length, hash, ...commits, name, owner: part.owner, ...own })
    parts.push({ name, owner: owner.key, sealed })
  }
  // One copy of the event, and then what most events do not have: every append passes here.
  const recorded: Writable<RecordedEvent> = { ...event, position, at, stream, version, id, causedBy, machine }
  if (input) recorded.input = input
  if (about) Object.assign(recorded, about)
  if (ends?.settles) recorded.settles = { effect: ends.settles.effect, as: ends.settles.as }
  if (ends?.moves) recorded.moves = { effect: ends.moves.effect, to: ends.moves.to }
  if (marks.length > 0) recorded.parts = marks
  const header = writeHeader(recorded, schemaOf(event.type, schemas))
  return { recorded, stream: key, header, leaf: leafHash(header), parts }
}

/** What is left of an append about an erased person: nothing by which the person could be found. */
function bare({ recent: _, claims: __, ...input }: Append): Append {
  return input
}
function* wasRecorded({ batch, recents }: AppendContext, asked: RecentDigest): Steps<boolean> {
  yield* recents.catchUp()
  return batch.recent.has(keyOf(asked.digest)) || (yield* recents.find(asked)) !== undefined
}
function* receiptOf(batch: Batch, commandId: string): Steps<Receipt | undefined> {
  return batch.receipts.get(commandId) ?? (yield* findReceipt(commandId))
}
function* findOwner(known: WriterCache, name: string): Steps<KnownOwner | undefined> {
  return known.owners.get(name) ?? (yield* known.readOwner(name))
}

/** The effects that it ends, in any way: each has to be open until then. */
function endsOf({ settles, events }: Append): string[] {
  const ends = settles ? [settles.effect] : []
  for (const { event } of events) if (event.cancels) ends.push(...event.cancels)
  return ends
}

function hasEndedIn({ ended, cancelled }: Batch, effect: string): boolean {
  return ended.has(effect) || cancelled.has(effect)
}

function nameOf({ kind, digest }: IndexEntry): string {
  return `${kind} ${Buffer.from(digest).toString('hex')}`
}

function conflict(reason: string): Appended {
  return { status: 'conflict', reason }
}

function isExpected(expect: StreamExpectation, version: number | undefined): boolean {
  if (expect === 'any') return true
  if (expect === 'none') return version === undefined
  if (expect === 'exists') return version !== undefined
  return (version ?? 0) === expect
}
