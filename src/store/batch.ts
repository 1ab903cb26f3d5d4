import type { Recorded, Settlement } from '../message.ts'
import type { Claim, Receipt } from './append.ts'
import { each, first, type Steps } from './connection.ts'
import type { KnownOwner } from './known.ts'
import { effectRows, endEffect, oweEffects, resolveEffect } from './ledger.ts'
import type { Tile } from './tree.ts'

/** An event with everything that goes into the tables with it. */
export interface StagedEvent {
  readonly recorded: Recorded
  readonly stream: number
  readonly header: string
  readonly leaf: string
  readonly parts: readonly { readonly name: string; readonly owner: number; readonly sealed: Uint8Array }[]
}

/** The appends of one transaction: each is checked first, and all that passed are written together. */
export class Batch {
  readonly streams: { readonly key: number; readonly name: string }[] = []
  readonly owners: KnownOwner[] = []
  readonly events: StagedEvent[] = []
  readonly receipts = new Map<string, Receipt>()
  readonly claims = new Map<string, Claim>()
  readonly ended = new Map<string, { as: Settlement; because: string; position: number }>()

  /** Reports whether every append of it was turned away. */
  get isEmpty(): boolean {
    return this.events.length + this.receipts.size + this.claims.size + this.ended.size === 0
  }

  /** Writes everything but the views, and the checkpoints that move with them. */
  *write(tiles: readonly Tile[]): Steps<void> {
    yield* each(
      insertStream,
      this.streams.map(({ key, name }) => [key, name]),
    )
    yield* each(
      insertOwner,
      this.owners.map(({ key, owner, epoch, wrapped }) => [key, owner, epoch, wrapped]),
    )
    yield* each(insertEvent, this.events.map(eventRow))
    yield* each(insertPart, this.events.flatMap(partRows))
    yield* oweEffects(this.events.flatMap(({ recorded, stream }) => effectRows(recorded, stream)))
    yield* each(
      upsertClaim,
      [...this.claims.values()].map(({ kind, digest, value }) => [kind, digest, value]),
    )
    for (const [effect, { position, ...how }] of this.ended) yield* endEffect({ effect, ...how }, position)
    for (const { recorded, stream } of this.events) {
      if (recorded.resolves) yield* resolveEffect(stream, recorded.resolves, recorded.position)
    }
    yield* each(insertReceipt, [...this.receipts.values()].map(receiptRow))
    yield* each(
      upsertTile,
      tiles.map(({ level, number, hashes }) => [level, number, hashes]),
    )
  }
}

function eventRow({ recorded, stream, header, leaf }: StagedEvent): unknown[] {
  const { position, version, type } = recorded
  return [position, stream, version, type, header, Buffer.from(leaf, 'hex')]
}

function partRows({ recorded, parts }: StagedEvent): unknown[][] {
  return parts.map(({ name, owner, sealed }) => [recorded.position, name, owner, sealed])
}

function receiptRow({ commandId, digest, code, detail, effect, position }: Receipt): unknown[] {
  return [commandId, digest, code, detail, effect, position]
}

/** Finds what a keyed digest stands for. */
export function* lookUp(kind: string, digest: Uint8Array): Steps<string | undefined> {
  return (yield* first<{ value: string }>({ sql: selectClaim, parameters: [kind, digest] }))?.value
}

/** Finds what is remembered of a command. */
export function* findReceipt(commandId: string): Steps<Receipt | undefined> {
  return yield* first<Receipt>({ sql: selectReceipt, parameters: [commandId] })
}

const insertStream = 'insert into stream (key, name) values (?, ?)'
const insertOwner = 'insert into owner_key (key, owner, epoch, wrapped) values (?, ?, ?, ?)'
const insertEvent =
  'insert into event (position, stream, version, type, header, leaf) values (?, ?, ?, ?, ?, ?)'
const insertPart = 'insert into part (position, name, owner, sealed) values (?, ?, ?, ?)'
const insertReceipt = `insert into receipt (command_id, digest, code, detail, effect, position)
  values (?, ?, ?, ?, ?, ?)`
const selectReceipt = `select command_id as "commandId", digest, code, detail, effect, position
  from receipt where command_id = ?`
const upsertClaim = `insert into keyed_index (kind, digest, value) values (?, ?, ?)
  on conflict (kind, digest) do update set value = excluded.value`
const selectClaim = 'select value from keyed_index where kind = ? and digest = ?'
const upsertTile = `insert into tile (level, number, hashes) values (?, ?, ?)
  on conflict (level, number) do update set hashes = excluded.hashes`
