import { leafHash } from '../../proof/merkle.ts'
import type { Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant, PartMark, RecordedEvent, Settlement } from '../../vocabulary/message.ts'
import { each, first, type Steps } from '../database/connection.ts'
import {
  canMove,
  canSettle,
  type EffectMove,
  effectRows,
  endEffect,
  insertEffect,
  isEffectOpen,
  moveEffect,
  resolveEffect,
} from '../ledger/ledger.ts'
import { writeHead } from '../log/head.ts'
import { type HeaderReader, schemaOf, writeHeader } from '../log/header.ts'
import { digestKey, lookUp, writeEntries } from '../log/keyed-index.ts'
import { type ChangedStream, writeStreamEnds } from '../log/streams.ts'
import type { Tags } from '../log/tags.ts'
import type { Append, Appended, IndexEntry, Receipt, StagedEvent, StreamExpectation } from './append.ts'
import { arePartsPresent, type Destruction, destroyData, erasedOwner, isSurveyOutdated } from './destruction.ts'
import type {
  KnownOwner,
  KnownStream,
  NewRecentDigest,
  RecentDigest,
  RecentDigests,
  WriterCache,
} from './writer-cache.ts'

/** The staged appends of one transaction: each is checked when it is staged, and all are written together. */
export class Batch {
  readonly streams = new Map<string, ChangedStream>()
  readonly owners: KnownOwner[] = []
  readonly events: StagedEvent[] = []
  readonly effects: unknown[][] = []
  readonly receipts = new Map<string, Receipt>()
  readonly indexEntries = new Map<string, IndexEntry>()
  readonly recent = new Map<string, NewRecentDigest>()
  /** The moves of effects by id, each with the time of its append. */
  readonly moved = new Map<string, { move: EffectMove; now: Instant }>()
  readonly ended = new Map<string, { as: Settlement; reason: string; position: number }>()
  readonly cancelled = new Set<string>()
  readonly destroyed: Destruction[] = []

  get isEmpty(): boolean {
    return this.events.length + this.receipts.size + this.indexEntries.size + this.ended.size === 0
  }

  /** Writes everything but the views and their checkpoints. */
  *write(tags: Tags, cache: WriterCache, recents: RecentDigests): Steps<void> {
    yield* writeStreamEnds(tags, [...this.streams.values()])
    yield* each(insertOwner, this.owners, ownerRow)
    yield* each(insertEvent, this.events, eventRow)
    yield* each(insertPart, this.events.flatMap(partRows), row => row)
    yield* each(insertEffect, this.effects, row => row)
    yield* writeEntries(tags, [...this.indexEntries.values()])
    yield* recents.add(this.recent)
    for (const { move, now } of this.moved.values()) yield* moveEffect(move, now)
    for (const [effect, { position, ...how }] of this.ended) yield* endEffect({ effect, ...how }, position)
    for (const { recorded, stream } of this.events) {
      if (recorded.resolves) yield* resolveEffect(stream, recorded.resolves, recorded.position)
      for (const effect of recorded.cancels ?? [])
        yield* endEffect({ effect, as: 'cancelled', reason: `cancelled by ${recorded.type}` }, recorded.position)
    }
    yield* each(insertReceipt, [...this.receipts.values()], receiptRow)
    yield* each(insertSubtree, cache.tree.takeCompleted(), ({ level, number, hash }) => [level, number, hash])
    for (const destruction of this.destroyed) yield* destroyData(destruction)
    if (this.events.length > 0) yield* writeHead(tags, cache, cache.tree)
  }
}

function ownerRow({ key, owner, epoch, wrapped, commitment }: KnownOwner): unknown[] {
  return [key, owner, epoch, wrapped, commitment]
}

function eventRow({ recorded, stream, header, leaf, tag }: StagedEvent): unknown[] {
  const { position, version, type } = recorded
  return [position, stream, version, type, header, leaf, tag]
}

function partRows({ recorded, parts }: StagedEvent): unknown[][] {
  return parts.map(({ name, owner, sealed }) => [recorded.position, name, owner, sealed])
}

function receiptRow({ commandId, digest, code, detail, effect, position, stream }: Receipt): unknown[] {
  return [commandId, digest, code, detail, effect, position, stream]
}

/** Finds the stored receipt of a command. */
export function* findReceipt(commandId: string): Steps<Receipt | undefined> {
  return yield* first<Receipt>({ sql: selectReceipt, parameters: [commandId] })
}

const insertOwner = 'insert into owner_key (key, owner, epoch, wrapped, commitment) values (?, ?, ?, ?, ?)'
const insertEvent = `insert into event (position, stream, version, type, header, leaf, tag)
  values (?, ?, ?, ?, ?, ?, ?)`
const insertPart = 'insert into part (position, name, owner, sealed) values (?, ?, ?, ?)'
const insertReceipt = `insert into receipt (command_id, digest, code, detail, effect, position, stream)
  values (?, ?, ?, ?, ?, ?, ?)`
const selectReceipt = `select command_id as "commandId", digest, code, detail, effect, position, stream
  from receipt where command_id = ?`
const insertSubtree = 'insert into subtree (level, number, hash) values (?, ?, ?)'

/** The stored state of a stream, and its key and version after the append. A key of 0 is not assigned yet. */
interface StreamPlacement {
  readonly found: KnownStream | undefined
  key: number
  version: number
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

interface AppendContext {
  readonly vault: Vault
  readonly headers: HeaderReader
  readonly tags: Tags
  readonly cache: WriterCache
  readonly recents: RecentDigests
  readonly batch: Batch
}

/**
 * Checks an append against the log and the appends staged before it, and stages it. The batch and the cache change only
 * in the last step, so that a conflict or an error leaves them unchanged.
 */
export function* stageAppend(context: AppendContext, input: Append): Steps<Appended> {
  const { batch, cache } = context
  if (input.receipt) {
    const { commandId } = input.receipt
    const receipt = batch.receipts.get(commandId) ?? (yield* findReceipt(commandId))
    if (receipt) return { status: 'known', receipt }
  }
  const streams = new Map<string, StreamPlacement>()
  for (const { stream, expect, isNew } of input.streams) {
    const found = cache.streams.get(stream) ?? (isNew ? undefined : yield* cache.readStream(context.tags, stream))
    if (!isExpected(expect, found?.version))
      return conflict(`"${stream}" is at ${found?.version ?? 'none'} instead of ${expect}`)
    streams.set(stream, { found, key: found?.key ?? 0, version: found?.version ?? 0 })
  }
  const reason = yield* findConflict(context, input)
  if (reason !== undefined) return conflict(reason)
  const owners = new Map<string, KnownOwner>()
  let isErased = false
  for (const { parts } of input.events) {
    for (const part in parts) {
      const name = parts[part]?.owner ?? ''
      if (owners.has(name)) continue
      const owner = (yield* cache.findOwner(context.headers, name)) ?? cache.newOwner(name, context.vault)
      owners.set(name, owner)
      if (owner.isErased === 1) isErased = true
    }
  }
  if (isErased && input.whenErased === 'refuse')
    throw new AverbaError('SUBJECT_ERASED', 'Cannot record the command: its data subject was erased')
  if (isErased && input.whenErased === 'conflict') return conflict('the owner of a part was erased meanwhile')
  const { destroys } = input
  const person = destroys?.person
  const erased = person && (yield* cache.findOwner(context.headers, person.owner))
  // The key of somebody else may have been put under this name.
  if (erased && erased.epoch > 0) context.vault.checkOwnerKey(erased)
  const appended = stageEvents(context, isErased ? withoutDigests(input) : input, streams, owners)
  if (destroys) batch.destroyed.push(destroys)
  if (person && erased) cache.owners.set(erased.owner, erasedOwner(erased, person))
  return appended
}

/** Checks what an append requires besides the versions of its streams. Returns why it conflicts, if it does. */
function* findConflict(context: AppendContext, input: Append): Steps<string | undefined> {
  const { batch, cache } = context
  const { moves, destroys, concerns } = input
  const taken = yield* findTaken(context, input.indexEntries ?? [])
  if (taken) return `a ${taken.kind} was indexed meanwhile`
  if (input.recent && (yield* wasRecordedRecently(context, input.recent)))
    return 'the same content was recorded recently'
  const { settles } = input
  if (settles && (hasEndedInBatch(batch, settles.effect) || !(yield* canSettle(settles))))
    return `the effect "${settles.effect}" has ended meanwhile, or another attempt has begun`
  for (const { event } of input.events) {
    for (const effect of event.cancels ?? []) {
      if (hasEndedInBatch(batch, effect) || !(yield* isEffectOpen(effect)))
        return `the effect "${effect}" has ended meanwhile`
    }
  }
  const isMoved = moves && (batch.moved.has(moves.effect) || hasEndedInBatch(batch, moves.effect))
  if (moves && (isMoved || !(yield* canMove(context, moves)))) {
    return `the effect "${moves.effect}" has changed meanwhile`
  }
  const person = destroys?.person
  if (person && (yield* isSurveyOutdated(context.headers, person, batch.events)))
    return 'an event of the person was recorded meanwhile'
  if (destroys && !(yield* arePartsPresent(destroys, batch.destroyed))) return 'a part was destroyed meanwhile'
  if (concerns && (yield* cache.findOwner(context.headers, concerns))?.isErased === 1)
    return 'the data subject was erased meanwhile'
  return undefined
}

/** Finds an index entry that is no longer what the append replaces. */
function* findTaken({ batch, tags }: AppendContext, entries: readonly IndexEntry[]): Steps<IndexEntry | undefined> {
  for (const [kind, ofKind] of Map.groupBy(entries, each => each.kind)) {
    const digests = ofKind.map(each => each.digest)
    const stored = yield* lookUp(tags, kind, digests)
    const valueOf = (entry: IndexEntry, i: number) => batch.indexEntries.get(entryKey(entry))?.value ?? stored[i]
    const taken = ofKind.find((entry, i) => valueOf(entry, i) !== entry.replaces)
    if (taken) return taken
  }
  return undefined
}

/** Builds every event first, which may throw, and only then changes the batch and the cache, which does not. */
function stageEvents(
  context: AppendContext,
  input: Append,
  streams: ReadonlyMap<string, StreamPlacement>,
  owners: ReadonlyMap<string, KnownOwner>,
): Appended {
  const { cache, batch } = context
  // The system clock may go back; the times of the log never do.
  let { at } = cache
  if (input.at > at) at = input.at
  const staged: StagedEvent[] = []
  for (const item of input.events) {
    const place = streams.get(item.stream)
    if (!place) throw new TypeError(`Cannot append to "${item.stream}": it has no expectation`)
    if (place.key === 0) place.key = cache.nextStream()
    place.version += 1
    const position = cache.position + staged.length + 1
    const ending = staged.length === input.events.length - 1 ? input : undefined
    staged.push(toStagedEvent(context, input, item, { position, at, ...place }, ending, owners))
  }
  for (const [name, { found, key, version }] of streams) {
    if (version === (found?.version ?? 0)) continue
    batch.streams.set(name, { key, name, version, isNew: batch.streams.get(name)?.isNew ?? !found })
    cache.streams.set(name, { key, version })
  }
  for (const [name, owner] of owners) {
    if (!cache.owners.has(name)) batch.owners.push(owner)
    cache.owners.set(name, owner.isNew ? { ...owner, isNew: false } : owner)
  }
  for (const event of staged) {
    batch.events.push(event)
    if (event.recorded.effects) batch.effects.push(...effectRows(event.recorded, event.stream, input.at))
    cache.tree.add(event.leaf)
  }
  cache.position += staged.length
  if (staged.length > 0) cache.at = at
  const events = staged.map(event => event.recorded)
  const { position } = cache
  for (const entry of input.indexEntries ?? []) batch.indexEntries.set(entryKey(entry), entry)
  if (input.recent && events.length > 0) {
    batch.recent.set(digestKey(input.recent.digest), { ...input.recent, position, at: input.at })
  }
  if (input.settles) {
    const { effect, as, reason } = input.settles
    batch.ended.set(effect, { as, reason, position })
  }
  for (const { cancels = [] } of events) for (const effect of cancels) batch.cancelled.add(effect)
  if (input.moves && events.length > 0) batch.moved.set(input.moves.effect, { move: input.moves, now: input.at })
  if (input.receipt) {
    const first = events.find(event => event.effects?.length)
    batch.receipts.set(input.receipt.commandId, {
      ...input.receipt,
      effect: first ? `${first.id}/0` : '',
      position,
      stream: events.length > 0 ? '' : (input.concerns ?? input.streams.at(-1)?.stream ?? ''),
    })
  }
  return { status: 'appended', position, events }
}

function toStagedEvent(
  { vault, headers, tags }: AppendContext,
  { about }: Append,
  item: Append['events'][number],
  { position, at, key, version }: Pick<RecordedEvent, 'position' | 'at' | 'version'> & { key: number },
  ending: Pick<Append, 'settles' | 'moves'> | undefined,
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
    const newKey = owner.isNew && { key: Buffer.from(owner.commitment).toString('hex') }
    const ownKey = recordKey !== undefined && { recordKey }
    // Sorted, as in the header.
    marks.push({ bytes: sealed.length, hash, ...newKey, name, owner: part.owner, ...ownKey })
    parts.push({ name, owner: owner.key, sealed })
  }
  // Rare members are added to the one copy: every append runs this, and spreading them would be slower.
  const recorded: Writable<RecordedEvent> = { ...event, position, at, stream, version, id, causedBy, machine }
  if (input) recorded.input = input
  if (about) Object.assign(recorded, about)
  if (ending?.settles) recorded.settles = { effect: ending.settles.effect, as: ending.settles.as }
  if (ending?.moves) recorded.moves = { effect: ending.moves.effect, to: ending.moves.to }
  if (marks.length > 0) recorded.parts = marks
  const header = writeHeader(recorded, schemaOf(event.type, headers.schemas))
  return { recorded, stream: key, header, leaf: leafHash(header), tag: tags.ofEvent(header), parts }
}

/** Removes the digests by which an erased person could be found. */
function withoutDigests({ recent: _, indexEntries: __, ...input }: Append): Append {
  return input
}

function* wasRecordedRecently({ batch, recents }: AppendContext, recent: RecentDigest): Steps<boolean> {
  yield* recents.catchUp()
  return batch.recent.has(digestKey(recent.digest)) || (yield* recents.find(recent)) !== undefined
}

function hasEndedInBatch({ ended, cancelled }: Batch, effect: string): boolean {
  return ended.has(effect) || cancelled.has(effect)
}

function entryKey({ kind, digest }: IndexEntry): string {
  return `${kind} ${digestKey(digest)}`
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
