import { first, type Steps, together } from '../database/connection.ts'
import { canMove, type EffectRow } from '../ledger/effect-row.ts'
import { checkStateInLog, effectIdOf, findEffect, findNewestUnknown, type TaggedLog } from '../ledger/ledger.ts'
import type { HeaderReader } from '../log/header.ts'
import { lookUp } from '../log/keyed-index.ts'
import type { Tags } from '../log/tags.ts'
import { findPresent } from '../parts/parts.ts'
import type { Append, ExpectedStream, IndexEntry, Receipt } from './append.ts'
import { type Destruction, isSurveyOutdated } from './destruction.ts'
import type { RecentDigest, RecentDigests, WriterCache } from './writer-cache.ts'

/** What an append needs to know of the log besides what the writer's cache holds. Absent is what it does not need. */
export interface Found {
  readonly receipt?: Receipt
  /** The present value of each of its index entries; absent without one. */
  readonly indexed?: ReadonlyMap<IndexEntry, string | undefined>
  readonly wasRecent?: boolean
  /** The effects that it ends, cancels, moves or resolves, by id. */
  readonly effects?: ReadonlyMap<string, EffectRow>
  /** The ids of the effects that it resolves, by stream and type. */
  readonly resolved?: ReadonlyMap<string, string>
  readonly arePartsPresent?: boolean
  /** Whether the log has events of the person whose data it destroys that the survey did not see. */
  readonly isSurveyOutdated?: boolean
}

/** An append with what was found for it, or why that could not be read: then only this append fails. */
export type Finding = { readonly input: Append } & ({ readonly found: Found } | { readonly error: unknown })

type Finder = TaggedLog & {
  readonly cache: WriterCache
  readonly recents: RecentDigests
  /** Looks for nothing that would fail the transaction if it were there: a receipt, a stream, an owner, a digest. */
  readonly isTrusting: boolean
}

/** Reads what the appends of a transaction need, side by side: streams and owners into the cache. */
export function* findAll(finder: Finder, inputs: readonly Append[]): Steps<readonly Finding[]> {
  if (inputs.some(({ recent }) => recent)) yield* finder.recents.catchUp()
  const findings: Finding[] = inputs.map(input => ({ input, found: nothing }))
  const readings: Steps<void>[] = []
  for (const [i, input] of inputs.entries()) {
    const reads = readsFor(finder, input)
    // Most appends need nothing that is not in the cache.
    if (reads.length > 0) readings.push(find(input, reads, finding => (findings[i] = finding)))
  }
  if (readings.length > 0) yield* together(readings)
  return findings
}

const nothing: Found = {}

function* find(input: Append, reads: readonly Steps<Found>[], onFound: (finding: Finding) => void): Steps<void> {
  try {
    onFound({ input, found: Object.assign({}, ...(yield* together(reads))) })
  } catch (error) {
    onFound({ input, error })
  }
}

function readsFor(finder: Finder, input: Append): Steps<Found>[] {
  const { tags, headers, cache, isTrusting } = finder
  const { receipt, recent, destroys, settles, moves, events, indexEntries = [] } = input
  const reads: Steps<Found>[] = []
  if (receipt && !isTrusting) reads.push(findKnown(receipt.commandId))
  const written = new Set(events.map(each => each.stream))
  // One that gets no event is not inserted, and nothing would refuse it.
  const isNewStream = ({ stream, isNew, expect }: ExpectedStream) =>
    isNew === true || (isTrusting && expect === 'none' && written.has(stream))
  for (const stream of input.streams)
    if (!isNewStream(stream) && !cache.streams.has(stream.stream))
      reads.push(into(cache.readStream(tags, stream.stream)))
  // The data of a stream that is new has no key yet.
  const newOwners = new Set(isTrusting ? input.streams.filter(isNewStream).map(each => each.stream) : [])
  const isNewOwner = (owner: string) => newOwners.has(owner)
  for (const owner of ownersOf(input))
    if (!cache.owners.has(owner) && !isNewOwner(owner)) reads.push(into(cache.readOwner(headers, owner)))
  // The digests of an erased person are not inserted.
  const mayBeErased = ownersOf(input).some(owner => !isNewOwner(owner) && cache.owners.get(owner)?.isErased !== 0)
  const isInserted = ({ replaces }: IndexEntry) => isTrusting && !mayBeErased && replaces === undefined
  const entries = indexEntries.filter(entry => !isInserted(entry))
  if (entries.length > 0) reads.push(findIndexed(tags, entries))
  if (recent) reads.push(findRecent(finder.recents, recent))
  if (destroys) reads.push(findDestroyed(headers, destroys))
  const changesEffects = settles || moves || events.some(({ event }) => event.cancels ?? event.resolves)
  if (changesEffects) reads.push(findEffects(finder, input))
  return reads
}

/** Reads into the writer's cache. */
function* into(reading: Steps<unknown>): Steps<Found> {
  yield* reading
  return {}
}

/** The owners whose keys an append needs. */
function ownersOf({ events, concerns, destroys }: Append): string[] {
  const owners: string[] = []
  for (const { parts } of events) for (const part in parts) owners.push(parts[part]?.owner ?? '')
  if (concerns !== undefined) owners.push(concerns)
  if (destroys?.person) owners.push(destroys.person.owner)
  return owners
}

function* findKnown(commandId: string): Steps<Found> {
  const receipt = yield* findReceipt(commandId)
  return receipt ? { receipt } : {}
}

function* findIndexed(tags: Tags, entries: readonly IndexEntry[]): Steps<Found> {
  const indexed = new Map<IndexEntry, string | undefined>()
  for (const [kind, ofKind] of Map.groupBy(entries, each => each.kind)) {
    const digests = ofKind.map(each => each.digest)
    const values = yield* lookUp(tags, kind, digests)
    for (const [i, entry] of ofKind.entries()) indexed.set(entry, values[i])
  }
  return { indexed }
}

function* findRecent(recents: RecentDigests, recent: RecentDigest): Steps<Found> {
  return { wasRecent: (yield* recents.find(recent)) !== undefined }
}

/** An erasure destroys the key of the parts instead, so it does not matter which of them exist. */
function* findDestroyed(headers: HeaderReader, { parts, person }: Destruction): Steps<Found> {
  if (person) return { isSurveyOutdated: yield* isSurveyOutdated(headers, person) }
  return { arePartsPresent: (yield* findPresent(parts)).length === parts.length }
}

function* findEffects(log: TaggedLog, { settles, moves, events }: Append): Steps<Found> {
  const effects = new Map<string, EffectRow>()
  const resolved = new Map<string, string>()
  if (moves) {
    const row = yield* findEffect(moves.effect)
    if (row) effects.set(moves.effect, row)
    if (row && canMove(row, moves) && moves.to === 'started') yield* checkStateInLog(log, row)
  }
  const others = events.flatMap(({ event }) => event.cancels ?? [])
  for (const id of settles ? [settles.effect, ...others] : others) {
    const row = yield* findEffect(id)
    if (row) effects.set(id, row)
  }
  for (const { stream, event } of events) {
    const row = event.resolves && (yield* findNewestUnknown(stream, event.resolves.effect))
    if (!row) continue
    effects.set(effectIdOf(row), row)
    resolved.set(`${stream} ${row.type}`, effectIdOf(row))
  }
  return { effects, resolved }
}

export function findReceipt(commandId: string): Steps<Receipt | undefined> {
  return first({ sql: selectReceipt, parameters: [commandId] })
}

const selectReceipt = `select command_id as "commandId", digest, code, detail, effect, position, stream
  from receipt where command_id = ?`
