import type { Instant, Settlement } from '../../vocabulary/message.ts'
import { first, type Steps } from '../database/connection.ts'
import { cancelEffect, type EffectMove, endEffect, insertEffect, moveEffect, resolveEffect } from '../ledger/ledger.ts'
import type { Tile } from '../log/tree.ts'
import type { IndexEntry, Receipt, StagedEvent } from './append.ts'
import { type Destruction, destroyData } from './destruction.ts'
import type { NewRecentDigest, RecentDigests } from './recent-digests.ts'
import type { KnownOwner } from './writer-cache.ts'

/** The staged appends of one transaction: each is checked when it is staged, and all are written together. */
export class Batch {
  readonly streams: { readonly key: number; readonly name: string }[] = []
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

  /** Writes everything but the views and their checkpoints. Empty inserts are skipped: most batches have many. */
  *write(tiles: readonly Tile[], recents: RecentDigests): Steps<void> {
    if (this.streams.length > 0) yield { sql: insertStream, forEach: this.streams.map(({ key, name }) => [key, name]) }
    if (this.owners.length > 0) yield { sql: insertOwner, forEach: this.owners.map(ownerRow) }
    if (this.events.length > 0) yield { sql: insertEvent, forEach: this.events.map(eventRow) }
    const parts = this.events.flatMap(partRows)
    if (parts.length > 0) yield { sql: insertPart, forEach: parts }
    if (this.effects.length > 0) yield { sql: insertEffect, forEach: this.effects }
    if (this.indexEntries.size > 0)
      yield { sql: upsertEntry, forEach: Array.from(this.indexEntries.values(), entryRow) }
    yield* recents.add(this.recent)
    for (const { move, now } of this.moved.values()) yield* moveEffect(move, now)
    for (const [effect, { position, ...how }] of this.ended) yield* endEffect({ effect, ...how }, position)
    for (const { recorded, stream } of this.events) {
      if (recorded.resolves) yield* resolveEffect(stream, recorded.resolves, recorded.position)
      for (const effect of recorded.cancels ?? []) yield* cancelEffect(effect, recorded)
    }
    if (this.receipts.size > 0) yield { sql: insertReceipt, forEach: Array.from(this.receipts.values(), receiptRow) }
    if (tiles.length > 0) yield { sql: upsertTile, forEach: tiles.map(tileRow) }
    for (const destruction of this.destroyed) yield* destroyData(destruction)
  }
}

function ownerRow({ key, owner, epoch, wrapped, commitment }: KnownOwner): unknown[] {
  return [key, owner, epoch, wrapped, commitment]
}

function entryRow({ kind, digest, value }: IndexEntry): unknown[] {
  return [kind, digest, value]
}

function tileRow({ level, number, hashes }: Tile): unknown[] {
  return [level, number, hashes]
}

function eventRow({ recorded, stream, header, leaf }: StagedEvent): unknown[] {
  const { position, version, type } = recorded
  return [position, stream, version, type, header, leaf]
}

function partRows({ recorded, parts }: StagedEvent): unknown[][] {
  return parts.map(({ name, owner, sealed }) => [recorded.position, name, owner, sealed])
}

function receiptRow({ commandId, digest, code, detail, effect, position, stream }: Receipt): unknown[] {
  return [commandId, digest, code, detail, effect, position, stream]
}

/** Finds the value stored under a keyed digest. */
export function* lookUp(kind: string, digest: Uint8Array): Steps<string | undefined> {
  return (yield* first<{ value: string }>({ sql: selectEntry, parameters: [kind, digest] }))?.value
}

/** Finds the stored receipt of a command. */
export function* findReceipt(commandId: string): Steps<Receipt | undefined> {
  return yield* first<Receipt>({ sql: selectReceipt, parameters: [commandId] })
}

const insertStream = 'insert into stream (key, name) values (?, ?)'
const insertOwner = 'insert into owner_key (key, owner, epoch, wrapped, commitment) values (?, ?, ?, ?, ?)'
const insertEvent = 'insert into event (position, stream, version, type, header, leaf) values (?, ?, ?, ?, ?, ?)'
const insertPart = 'insert into part (position, name, owner, sealed) values (?, ?, ?, ?)'
const insertReceipt = `insert into receipt (command_id, digest, code, detail, effect, position, stream)
  values (?, ?, ?, ?, ?, ?, ?)`
const selectReceipt = `select command_id as "commandId", digest, code, detail, effect, position, stream
  from receipt where command_id = ?`
const upsertEntry = `insert into keyed_index (kind, digest, value) values (?, ?, ?)
  on conflict (kind, digest) do update set value = excluded.value`
const selectEntry = 'select value from keyed_index where kind = ? and digest = ?'
const upsertTile = `insert into tile (level, number, hashes) values (?, ?, ?)
  on conflict (level, number) do update set hashes = excluded.hashes`
