import type { Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { PartMark, RecordedEvent, Settlement } from '../../vocabulary/message.ts'
import { parseEffectId } from '../../vocabulary/names.ts'
import { each, type Steps, together } from '../database/connection.ts'
import {
  type AttemptEnd,
  canEnd,
  canMove,
  type EffectRow,
  endedRow,
  movedRow,
  newRows,
  writeEffects,
} from '../ledger/effect-row.ts'
import { writeHead } from '../log/head.ts'
import { type HeaderReader, schemaOf, writeHeader } from '../log/header.ts'
import { digestKey, writeEntries } from '../log/keyed-index.ts'
import { type ChangedStream, type StreamEnd, writeStreamEnds } from '../log/streams.ts'
import type { Tags } from '../log/tags.ts'
import { leafHash } from '../log/tree.ts'
import type { Append, Appended, IndexEntry, Receipt, StagedEvent, StreamExpectation } from './append.ts'
import { areDestroyed, type Destruction, destroyData, erasedOwner, isPersonStaged } from './destruction.ts'
import type { Found } from './found.ts'
import type { KnownOwner, NewRecentDigest, RecentDigests, WriterCache } from './writer-cache.ts'

/** The staged appends of one transaction: each is checked when it is staged, and all are written together. */
export class Batch {
  readonly streams = new Map<string, ChangedStream>()
  readonly owners: KnownOwner[] = []
  readonly events: StagedEvent[] = []
  readonly receipts = new Map<string, Receipt>()
  readonly indexEntries = new Map<string, IndexEntry>()
  readonly recent = new Map<string, NewRecentDigest>()
  /** New and changed effects by id. Each changes at most once in a batch. */
  readonly effects = new Map<string, EffectRow>()
  readonly destroyed: Destruction[] = []

  get isEmpty(): boolean {
    return this.events.length + this.receipts.size + this.indexEntries.size + this.effects.size === 0
  }

  /** Writes everything but the views and their checkpoints. */
  *write(tags: Tags, cache: WriterCache, recents: RecentDigests): Steps<void> {
    const subtrees = cache.tree.takeCompleted()
    yield* together([
      writeStreamEnds(tags, [...this.streams.values()]),
      each(insertOwner, this.owners, ownerRow),
      each(insertEvent, this.events, eventRow),
      each(insertPart, this.events.flatMap(partRows), row => row),
      writeEffects([...this.effects.values()]),
      writeEntries(tags, [...this.indexEntries.values()]),
      recents.add(this.recent),
      writeReceipts([...this.receipts.values()]),
      each(insertSubtree, subtrees, ({ level, number, hash }) => [level, number, hash]),
      ...(this.events.length > 0 ? [writeHead(tags, cache)] : []),
    ])
    for (const destruction of this.destroyed) yield* destroyData(destruction)
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

const insertOwner = 'insert into owner_key (key, owner, epoch, wrapped, commitment) values (?, ?, ?, ?, ?)'
const insertEvent = `insert into event (position, stream, version, type, header, leaf, tag)
  values (?, ?, ?, ?, ?, ?, ?)`
const insertPart = 'insert into part (position, name, owner, sealed) values (?, ?, ?, ?)'
const insertSubtree = 'insert into subtree (level, number, hash) values (?, ?, ?)'

/** The stored state of a stream, and its key and version after the append. A key of 0 is not assigned yet. */
interface StreamPlacement {
  readonly before: StreamEnd | undefined
  key: number
  version: number
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

interface AppendContext {
  readonly vault: Vault
  readonly headers: HeaderReader
  readonly tags: Tags
  readonly cache: WriterCache
  readonly batch: Batch
}

/**
 * Checks an append against the log and the appends staged before it, and stages it. The batch and the cache change only
 * in the last step, so that a conflict or an error leaves them unchanged.
 */
export function stageAppend(context: AppendContext, input: Append, found: Found): Appended {
  const { stream, owner } = context.cache
  let status: Appended['status'] = 'conflict'
  try {
    const appended = stage(context, input, found)
    status = appended.status
    return appended
  } finally {
    // Nobody has got the numbers that it took.
    if (status !== 'appended') Object.assign(context.cache, { stream, owner })
  }
}

function stage(context: AppendContext, input: Append, found: Found): Appended {
  const { batch, cache } = context
  const receipt = input.receipt && (batch.receipts.get(input.receipt.commandId) ?? found.receipt)
  if (receipt) return { status: 'known', receipt }
  const streams = new Map<string, StreamPlacement>()
  for (const { stream, expect } of input.streams) {
    const known = cache.streams.get(stream)
    if (!isExpected(expect, known?.version))
      return conflict(`"${stream}" is at ${known?.version ?? 'none'} instead of ${expect}`)
    streams.set(stream, { before: known, key: known?.key ?? 0, version: known?.version ?? 0 })
  }
  const reason = findConflict(context, input, found)
  if (reason !== undefined) return conflict(reason)
  const owners = new Map<string, KnownOwner>()
  let isErased = false
  for (const { parts } of input.events)
    for (const part in parts) {
      const name = parts[part]?.owner ?? ''
      if (owners.has(name)) continue
      const owner = cache.owners.get(name) ?? cache.newOwner(name, context.vault)
      owners.set(name, owner)
      if (owner.isErased === 1) isErased = true
    }
  if (isErased && input.whenErased === 'refuse')
    throw new AverbaError('SUBJECT_ERASED', 'Cannot record the command: its data subject was erased')
  if (isErased && input.whenErased === 'conflict') return conflict('the owner of a part was erased meanwhile')
  const { destroys } = input
  const person = destroys?.person
  const erased = person && cache.owners.get(person.owner)
  // The key of somebody else may have been put under this name.
  if (erased && erased.epoch > 0) context.vault.checkOwnerKey(erased)
  const appended = stageEvents(context, isErased ? withoutDigests(input) : input, found, streams, owners)
  if (destroys) batch.destroyed.push(destroys)
  if (person && erased) cache.owners.set(erased.owner, erasedOwner(erased, person))
  return appended
}

/** Checks what an append requires besides the versions of its streams. Returns why it conflicts, if it does. */
function findConflict({ batch, cache }: AppendContext, input: Append, found: Found): string | undefined {
  const { end, indexEntries = [], recent, settles, moves, cancelsFrom, destroys, concerns } = input
  if (end !== undefined && end !== cache.position) return 'something was recorded meanwhile'
  const valueOf = (entry: IndexEntry) => batch.indexEntries.get(entryKey(entry))?.value ?? found.indexed?.get(entry)
  const taken = indexEntries.find(entry => valueOf(entry) !== entry.replaces)
  if (taken) return `a ${taken.kind} was indexed meanwhile`
  if (recent && (found.wasRecent || batch.recent.has(digestKey(recent.digest))))
    return 'the same content was recorded recently'
  const effectOf = (id: string) => (batch.effects.has(id) ? undefined : found.effects?.get(id))
  if (settles && !canEnd(effectOf(settles.effect), settles))
    return `the effect "${settles.effect}" has ended meanwhile, or another attempt has begun`
  for (const { event } of input.events) {
    for (const effect of event.cancels ?? []) {
      const row = effectOf(effect)
      if (row?.is_open !== 1) return `the effect "${effect}" has ended meanwhile`
      if (cancelsFrom?.includes(row.state) === false) return `the effect "${effect}" has begun meanwhile`
    }
  }
  for (const id of found.resolved?.values() ?? [])
    if (batch.effects.has(id)) return `the effect "${id}" has changed meanwhile`
  if (moves && !canMove(effectOf(moves.effect), moves)) return `the effect "${moves.effect}" has changed meanwhile`
  const person = destroys?.person
  if (person && (found.isSurveyOutdated || isPersonStaged(person, batch.events)))
    return 'an event of the person was recorded meanwhile'
  if (found.arePartsPresent === false || (destroys && !person && areDestroyed(destroys.parts, batch.destroyed)))
    return 'a part was destroyed meanwhile'
  if (concerns && cache.owners.get(concerns)?.isErased === 1) return 'the data subject was erased meanwhile'
  return undefined
}

/** Builds every event first, which may throw, and only then changes the batch and the cache, which does not. */
function stageEvents(
  context: AppendContext,
  input: Append,
  found: Found,
  streams: ReadonlyMap<string, StreamPlacement>,
  owners: ReadonlyMap<string, KnownOwner>,
): Appended {
  const { cache, batch } = context
  // The system clock may go back; the times of the log never do.
  let { at } = cache
  if (input.at > at) at = input.at
  const staged: StagedEvent[] = []
  // An answer ends its call with the first event of its decision, which has the parts of the answer as well.
  const answer = input.events.findLast(item => item.input?.nth === undefined)
  for (const item of input.events) {
    const place = streams.get(item.stream)
    if (!place) throw new TypeError(`Cannot append to "${item.stream}": it has no expectation`)
    if (place.key === 0) place.key = cache.nextStream()
    place.version += 1
    const position = cache.position + staged.length + 1
    const ending = item === answer ? input : undefined
    staged.push(toStagedEvent(context, input, item, { position, at, ...place }, ending, owners))
  }
  for (const [name, { before, key, version }] of streams) {
    if (version === (before?.version ?? 0)) continue
    batch.streams.set(name, { key, name, version, isNew: batch.streams.get(name)?.isNew ?? !before })
    cache.streams.set(name, { key, version })
  }
  for (const [name, owner] of owners) {
    if (!cache.owners.has(name)) batch.owners.push(owner)
    cache.owners.set(name, owner.isNew ? { ...owner, isNew: false } : owner)
  }
  for (const event of staged) {
    batch.events.push(event)
    for (const row of newRows(event.recorded, event.stream, input.at))
      batch.effects.set(`${event.recorded.id}/${row.n}`, row)
    cache.tree.add(event.leaf)
    cache.leaf = event.leaf
  }
  cache.position += staged.length
  if (staged.length > 0) cache.at = at
  const events = staged.map(event => event.recorded)
  const { position } = cache
  for (const entry of input.indexEntries ?? []) {
    const key = entryKey(entry)
    const before = batch.indexEntries.get(key)
    // What is in the log is compared with what the first one expects there.
    batch.indexEntries.set(key, before ? { ...before, value: entry.value } : entry)
  }
  if (input.recent && events.length > 0)
    batch.recent.set(digestKey(input.recent.digest), { ...input.recent, position, at: input.at })
  changeEffects(batch, input, found, events)
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

/** Stages how the events of an append end and move effects. */
function changeEffects(
  { effects }: Batch,
  { settles, moves, at }: Append,
  found: Found,
  events: readonly RecordedEvent[],
) {
  const end = (
    id: string | undefined,
    how: Pick<AttemptEnd, 'reason'> & { as: Settlement | 'cancelled' },
    position: number,
  ) => {
    const row = id === undefined ? undefined : found.effects?.get(id)
    if (id !== undefined && row) effects.set(id, endedRow(row, how, position))
  }
  const moved = moves && found.effects?.get(moves.effect)
  if (moved) effects.set(moves.effect, movedRow(moved, moves, at))
  if (settles) end(settles.effect, settles, events.find(event => event.settles)?.position ?? 0)
  for (const { stream, type, position, cancels, resolves } of events) {
    for (const id of cancels ?? []) end(id, { as: 'cancelled', reason: `cancelled by ${type}` }, position)
    if (!resolves) continue
    const isOwn = settles?.as === 'unknown' && isEffectOf(settles.effect, stream, resolves.effect, found)
    const id = isOwn ? settles.effect : found.resolved?.get(`${stream} ${resolves.effect}`)
    end(id, { as: resolves.as, reason: 'it was found out' }, position)
  }
}

function isEffectOf(id: string, stream: string, type: string, { effects }: Found): boolean {
  return effects?.get(id)?.type === type && parseEffectId(id)[0] === stream
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

/** Writes receipts of commands that have none yet. */
function writeReceipts(receipts: readonly Receipt[]): Steps<void> {
  return each(insertReceipt, receipts, ({ commandId, digest, code, detail, effect, position, stream }) => {
    return [commandId, digest, code, detail, effect, position, stream]
  })
}

const insertReceipt = `insert into receipt (command_id, digest, code, detail, effect, position, stream)
  values (?, ?, ?, ?, ?, ?, ?)`
