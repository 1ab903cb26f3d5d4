import type { Actor, Basis, Event, Instant, PartMark, Parts, Recorded, Settlement } from '../message.ts'
import type { OwnerKey, Vault } from '../vault/vault.ts'
import { type Connection, first, rows, type Steps } from './connection.ts'
import { writeHeader } from './header.ts'
import { endEffect, oweEffects, resolveEffect } from './ledger.ts'

/** What a stream must look like: not there, there, at a version, or anything. */
export type Expectation = 'none' | 'exists' | 'any' | number

/** An event to append, with the parts that go with it. */
export interface NewEvent {
  readonly event: Event
  readonly because: string
  readonly machine: { readonly name: string; readonly version: number }
  readonly parts?: Parts
}

/** One indivisible append. */
export interface Append {
  readonly at: Instant
  readonly streams: readonly { readonly stream: string; readonly expect: Expectation }[]
  readonly events: readonly (NewEvent & { readonly stream: string })[]
  readonly about?: { commandId?: string; correlationId?: string; actor?: Actor; basis?: Basis }
  /** What to remember of the command: asked for again, it gives the same answer. */
  readonly receipt?: NewReceipt
  /** The effect that the last event ends. It must still be open. */
  readonly settles?: { readonly effect: string; readonly as: Settlement; readonly because: string }
  /** Keyed digests that come to stand for a value. Each must stand for what is expected, or nothing. */
  readonly claims?: readonly Claim[]
}

/** A keyed digest that comes to stand for a value; `replaces` is what it stands for until then. */
export interface Claim {
  readonly kind: string
  readonly digest: Uint8Array
  readonly value: string
  readonly replaces?: string
}

/** What is remembered of a command. */
export interface NewReceipt {
  readonly commandId: string
  readonly digest: Uint8Array
  readonly code: 'accepted' | 'refused'
  /** Why it was refused. */
  readonly detail: string
}

/** A receipt as it was kept. `effect` is empty when the command owed none. */
export interface Receipt extends NewReceipt {
  readonly effect: string
  readonly position: number
}

/** What became of an append: done, or why nothing at all was written. */
export type Appended =
  | { readonly status: 'appended'; readonly position: number; readonly events: readonly Recorded[] }
  | { readonly status: 'conflict'; readonly because: string }
  | { readonly status: 'known'; readonly receipt: Receipt }

/** Checks everything first and writes afterwards, so that a conflict leaves no trace. */
export function* append(
  connection: Connection,
  vault: Vault,
  input: Append,
  project: (events: readonly Recorded[], position: number) => Steps<void>,
): Steps<Appended> {
  const known = input.receipt && (yield* findReceipt(connection, input.receipt.commandId))
  if (known) return { status: 'known', receipt: known }
  const streams = new Map<string, { key: number; version: number }>()
  for (const { stream, expect } of input.streams) {
    const found = yield* findStream(connection, stream)
    if (!isExpected(expect, found?.version)) {
      const because = `"${stream}" is at ${found?.version ?? 'none'} instead of ${expect}`
      return { status: 'conflict', because }
    }
    streams.set(stream, found ?? { key: 0, version: 0 })
  }
  for (const claim of input.claims ?? []) {
    const value = yield* lookUp(connection, claim.kind, claim.digest)
    if (value !== claim.replaces)
      return { status: 'conflict', because: `a ${claim.kind} was claimed meanwhile` }
  }
  if (input.settles && !(yield* isOpen(connection, input.settles.effect))) {
    return { status: 'conflict', because: `the effect "${input.settles.effect}" has ended meanwhile` }
  }
  return { status: 'appended', ...(yield* write(connection, vault, input, streams, project)) }
}

function* write(
  connection: Connection,
  vault: Vault,
  input: Append,
  streams: Map<string, { key: number; version: number }>,
  project: (events: readonly Recorded[], position: number) => Steps<void>,
): Steps<{ position: number; events: readonly Recorded[] }> {
  const db = connection.compiler
  const head = yield* first(db.selectFrom('head').select(['position', 'at']))
  let position = head?.position ?? 0
  // The clock of the machine may go back; the log does not.
  const at = input.at > (head?.at ?? '') ? input.at : (head?.at ?? input.at)
  const recorded: Recorded[] = []
  for (const item of input.events) {
    const stream = streams.get(item.stream)
    if (!stream) throw new TypeError(`Cannot append to "${item.stream}": it has no expectation`)
    if (stream.key === 0) stream.key = yield* createStream(connection, item.stream)
    position += 1
    stream.version += 1
    const isLast = item === input.events.at(-1)
    const place = { position, at, stream: item.stream, version: stream.version }
    recorded.push(yield* writeEvent(connection, vault, input, item, place, stream.key, isLast))
  }
  for (const { key, version } of streams.values()) {
    if (key > 0) yield* rows(db.updateTable('stream').set({ version }).where('key', '=', key))
  }
  for (const claim of input.claims ?? []) yield* writeClaim(connection, claim)
  if (input.settles) yield* endEffect(connection, input.settles, position)
  if (input.receipt) {
    const effect = yield* first(
      db
        .selectFrom('effect')
        .select('id')
        .where('position', '>', head?.position ?? 0)
        .orderBy('id')
        .limit(1),
    )
    const { commandId, ...receipt } = input.receipt
    yield* rows(
      db
        .insertInto('receipt')
        .values({ command_id: commandId, ...receipt, effect: effect?.id ?? '', position }),
    )
  }
  if (recorded.length === 0) return { position, events: recorded }
  yield* project(recorded, position)
  yield* rows(db.updateTable('head').set({ position, at }))
  return { position, events: recorded }
}

function* writeEvent(
  connection: Connection,
  vault: Vault,
  input: Append,
  item: NewEvent,
  place: { position: number; at: Instant; stream: string; version: number },
  streamKey: number,
  isLast: boolean,
): Steps<Recorded> {
  const { event, because, machine } = item
  const id = `${place.stream}/${place.version}`
  const sealed: { mark: PartMark; owner: number; bytes: Uint8Array }[] = []
  for (const [name, part] of Object.entries(item.parts ?? {})) {
    const owner = yield* ownerKey(connection, vault, part.owner)
    const { sealed: bytes, hash } = vault.seal(owner, `${id}/${name}`, part.value)
    sealed.push({ mark: { name, owner: part.owner, hash, bytes: bytes.length }, owner: owner.key, bytes })
  }
  const settles = isLast && input.settles ? { effect: input.settles.effect, as: input.settles.as } : undefined
  const recorded: Recorded = {
    ...place,
    ...event,
    id,
    because,
    machine,
    ...input.about,
    ...(settles && { settles }),
    ...(sealed.length > 0 && { parts: sealed.map(part => part.mark) }),
  }
  const db = connection.compiler
  const { position, version } = place
  const header = writeHeader(recorded)
  yield* rows(
    db.insertInto('event').values({ position, stream: streamKey, version, type: event.type, header }),
  )
  for (const { mark, owner, bytes } of sealed) {
    yield* rows(db.insertInto('part').values({ position, name: mark.name, owner, sealed: bytes }))
  }
  yield* oweEffects(connection, recorded, streamKey)
  if (event.resolves) yield* resolveEffect(connection, streamKey, event.resolves, position)
  return recorded
}

function isExpected(expect: Expectation, version: number | undefined): boolean {
  if (expect === 'any') return true
  if (expect === 'none') return version === undefined
  if (expect === 'exists') return version !== undefined
  return (version ?? 0) === expect
}

function* findStream(
  connection: Connection,
  name: string,
): Steps<{ key: number; version: number } | undefined> {
  const query = connection.compiler.selectFrom('stream').select(['key', 'version']).where('name', '=', name)
  return yield* first(query)
}

function* createStream(connection: Connection, name: string): Steps<number> {
  const query = connection.compiler
    .insertInto('stream')
    .values({ name, version: 0 } as never)
    .returning('key') // The key counts itself.
  return (yield* first(query))?.key ?? 0
}

function* ownerKey(connection: Connection, vault: Vault, owner: string): Steps<OwnerKey & { key: number }> {
  const db = connection.compiler
  const known = yield* first(db.selectFrom('owner_key').selectAll().where('owner', '=', owner))
  if (known) return known
  const made = vault.createOwnerKey(owner)
  const row = yield* first(
    db
      .insertInto('owner_key')
      .values(made as never)
      .returning('key'),
  ) // The key counts itself.
  return { ...made, key: row?.key ?? 0 }
}

/** Finds what a keyed digest stands for. */
export function* lookUp(connection: Connection, kind: string, digest: Uint8Array): Steps<string | undefined> {
  const query = connection.compiler.selectFrom('keyed_index').select('value')
  return (yield* first(query.where('kind', '=', kind).where('digest', '=', digest)))?.value
}

function* writeClaim(connection: Connection, { kind, digest, value }: Claim): Steps<void> {
  const query = connection.compiler.insertInto('keyed_index').values({ kind, digest, value })
  yield* rows(query.onConflict(on => on.columns(['kind', 'digest']).doUpdateSet({ value })))
}

/** Finds what is remembered of a command. */
export function* findReceipt(connection: Connection, commandId: string): Steps<Receipt | undefined> {
  const query = connection.compiler.selectFrom('receipt').selectAll().where('command_id', '=', commandId)
  const row = yield* first(query)
  if (!row) return undefined
  const { command_id, code, ...rest } = row
  return { ...rest, commandId: command_id, code: code === 'refused' ? 'refused' : 'accepted' }
}

/** Reports whether an effect has neither been settled nor declined. */
export function* isOpen(connection: Connection, effect: string): Steps<boolean> {
  const query = connection.compiler.selectFrom('effect').select('state').where('id', '=', effect)
  const state = (yield* first(query))?.state
  return state !== undefined && state !== 'settled' && state !== 'declined'
}
