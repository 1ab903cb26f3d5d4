import { clocksDifferMaxMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type {
  EffectState,
  Instant,
  PendingEffect,
  RecordedEvent,
  Settlement,
} from '../../vocabulary/message.ts'
import { parseEffectId } from '../../vocabulary/names.ts'
import { type Connection, first, oneOf, rows, type Steps } from '../database/connection.ts'
import { endOfLog } from '../log/position-before.ts'
import type { Schemas } from '../log/upcasters.ts'
import {
  type EffectIdParts,
  type EffectRow,
  idOf,
  toPendingEffect,
  toPendingOrDamaged,
} from './effect-row.ts'
import { isOver, type Lease } from './leases.ts'

// The ledger of calls owed to the outside. An effect's id is `<stream>/<version>/<n>`.

/** Writes down an effect that an event owes, in the event's own transaction: takes a row of `effectRows`. */
export const insertEffect = `insert into effect (position, n, stream, type, state, is_open, due_at, given_at, attempts,
  reason) values (?, ?, ?, ?, 'owed', 1, ?, ?, 0, '')`
const effectOf = `effect.position = (select event.position from event join stream on stream.key = event.stream
  where stream.name = ? and event.version = ?) and effect.n = ?`
const selectEffect = `select effect.*, event.version, event.header, stream.name from effect
  join event on event.position = effect.position join stream on stream.key = event.stream where ${effectOf}`
const endOne = `update effect set state = ?, is_open = ?, reason = ?, settled_at = ?, given_at = null,
  lease_owner = null, lease_until = null where ${effectOf}`
const startOne = `update effect set state = 'started', attempts = ?, given_at = ?, lease_owner = ?, lease_until = ?
  where ${effectOf}`
const selectLease = `select lease_until as until from effect
  where ${effectOf} and state = 'started' and attempts = ? and lease_owner = ?`
const extendOne = `update effect set given_at = ?, lease_until = ?
  where ${effectOf} and state = 'started' and attempts = ? and lease_owner = ? returning n`
const deferOne = `update effect set state = 'deferred', due_at = ?, given_at = ?, reason = ?,
  lease_owner = null, lease_until = null where ${effectOf} and lease_owner = ?`
const moveOne = `update effect set state = ?, due_at = ?, given_at = ?, attempts = ?, reason = ?,
  lease_owner = null, lease_until = null where ${effectOf}`
const newestUnknown = `select effect.*, event.version, event.header, stream.name from effect
  join event on event.position = effect.position join stream on stream.key = event.stream
  where effect.stream = ? and effect.type = ? and effect.state = 'unknown' and effect.is_open = 1
  order by effect.settled_at desc limit 1`

// A literal in place of a parameter, so that the small index of open effects is used.
const selectOpen = `select event.version, stream.name, effect.n from effect
  join event on event.position = effect.position join stream on stream.key = event.stream where effect.is_open = 1`
const selectDue = `${selectOpen} and effect.state not in ('unknown', 'parked') and effect.due_at <= ?
  and (effect.lease_until is null or effect.lease_until <= ?)`
const selectGivenAhead = `${selectOpen} and effect.given_at > ?
  and ((effect.lease_until is null and effect.due_at > ?) or effect.lease_until > ?)`
const inDueOrder = 'order by effect.due_at, effect.position, effect.n'
const inGivenOrder = 'order by effect.given_at, effect.position, effect.n'

/**
 * The row of each effect that an event owes. What is owed stands in the event itself. What is done to keys keeps its
 * time, whatever clock gave it: a backup may hold them until then.
 */
export function effectRows({ position, effects }: RecordedEvent, stream: number, now: Instant): unknown[][] {
  return (effects ?? []).map(({ type, dueAt }, n) => {
    return [position, n, stream, type, dueAt ?? now, type.startsWith('keys.') ? null : now]
  })
}

/** Marks how an effect ended, with the position of the event that says so. */
export function* endEffect(
  { effect, as, reason }: { effect: string; as: Settlement; reason: string },
  position: number,
): Steps<void> {
  const isOpen = as === 'unknown' ? 1 : 0
  yield* rows({ sql: endOne, parameters: [as, isOpen, reason, position, ...parseEffectId(effect)] })
}

/** Ends an effect for good that nobody may perform any longer: whoever has it cannot end it differently. */
export function* cancelEffect(
  effect: string,
  { type, position }: Pick<RecordedEvent, 'type' | 'position'>,
): Steps<void> {
  const reason = `cancelled by ${type}`
  const parameters = ['cancelled', 0, reason, position, ...parseEffectId(effect)]
  yield* rows({ sql: endOne, parameters })
}

/** Ends the effect of a type that came into doubt last. */
export function* resolveEffect(
  stream: number,
  { effect, as }: NonNullable<RecordedEvent['resolves']>,
  position: number,
): Steps<void> {
  const newest = yield* first<EffectRow>({ sql: newestUnknown, parameters: [stream, effect] })
  if (newest) yield* endEffect({ effect: idOf(newest), as, reason: 'it was found out' }, position)
}

/** A step of an effect: held or released by an operator, put off, given up, or begun. */
export interface EffectMove {
  readonly effect: string
  readonly to: 'deferred' | 'parked' | 'owed' | 'started'
  /** The states that it must be in. */
  readonly from: readonly EffectState[]
  /** How often it must have been tried: another attempt may be another process's. */
  readonly attempts: number
  readonly dueAt: Instant
  readonly reason: string
  /** Who makes the attempt, and until when nobody else does. */
  readonly lease?: Lease
}

/** Parks an effect, puts it off, releases it with its attempts counted anew, or begins one more attempt. */
export function* moveEffect(
  { effect, to, dueAt, attempts, reason, lease }: EffectMove,
  now: Instant,
): Steps<void> {
  if (to === 'started') {
    const { owner, until } = lease ?? { owner: null, until: null }
    yield* rows({ sql: startOne, parameters: [attempts + 1, now, owner, until, ...parseEffectId(effect)] })
    return
  }
  const counted = to === 'owed' ? 0 : attempts
  const givenAt = to === 'parked' ? null : now
  yield* rows({ sql: moveOne, parameters: [to, dueAt, givenAt, counted, reason, ...parseEffectId(effect)] })
}

/** Reports whether an effect still stands where a move requires it to. */
export function* canMove({ effect, from, attempts, lease }: EffectMove): Steps<boolean> {
  const row = yield* first<EffectRow>({ sql: selectEffect, parameters: parseEffectId(effect) })
  if (!row || !from.includes(row.state) || row.attempts !== attempts) return false
  return lease === undefined || isFree(row, lease)
}

/**
 * What was begun was due once. What a clock gave its time, or its lease, that was ahead and has been put right since,
 * is due and free: it would wait for as long as that clock had been ahead.
 */
function isFree({ state, due_at, given_at, lease_until }: EffectRow, lease: Lease): boolean {
  const isDue = state === 'started' || due_at <= lease.now || (given_at ?? '') > aheadOf(lease)
  return isDue && isOver(lease_until, lease)
}

/** What bears a later time was written by a clock that was ahead. */
function aheadOf({ now }: Pick<Lease, 'now'>): Instant {
  return toInstant(fromInstant(now) + clocksDifferMaxMs)
}

/** Which due effects: of some types, and how many at most. */
export interface DueFilter {
  readonly types?: readonly string[]
  readonly limit?: number
}

/**
 * The effects that are due, the oldest first, as `isFree` says it: those that another process holds are left to it.
 * Last come those that a clock gave their time, or their lease, that was ahead; they are few, and found by an index of
 * their own.
 */
export function* dueEffects(
  { now, latest }: Pick<Lease, 'now' | 'latest'>,
  { types, limit }: DueFilter = {},
): Steps<string[]> {
  const ofTypes = types ? `and ${oneOf('effect.type', types)}` : ''
  const most = limit === undefined ? '' : 'limit ?'
  const given = [...(types ?? []), ...(limit === undefined ? [] : [limit])]
  const due = { sql: `${selectDue} ${ofTypes} ${inDueOrder} ${most}`, parameters: [now, now, ...given] }
  const ahead = {
    sql: `${selectGivenAhead} ${ofTypes} ${inGivenOrder} ${most}`,
    parameters: [aheadOf({ now }), now, latest, ...given],
  }
  return [...(yield* rows<EffectIdParts>(due)), ...(yield* rows<EffectIdParts>(ahead))]
    .slice(0, limit)
    .map(idOf)
}

/** An effect that may be taken for an attempt. */
export interface Claimable {
  /** With this attempt counted. */
  readonly pending: PendingEffect
  /** An earlier attempt never reported back. */
  readonly wasStarted: boolean
  /** Takes it, in the transaction of an event that says so. */
  readonly move: EffectMove
}

/** What taking an effect found. */
export interface ClaimedSince extends Omit<Claimable, 'move'> {
  /** The end of the log when it was taken: the answer does not know of later events. */
  readonly since: number
}

/**
 * Finds an effect that may be taken for one attempt; nothing when it has ended, is not due yet, or another holder's
 * lease still runs.
 */
export function* findClaimable(schemas: Schemas, id: string, lease: Lease): Steps<Claimable | undefined> {
  const row = yield* first<EffectRow>({ sql: selectEffect, parameters: parseEffectId(id) })
  if (!row?.is_open || row.state === 'unknown' || row.state === 'parked') return undefined
  if (!isFree(row, lease)) return undefined
  const { attempts, state, due_at: dueAt, reason } = row
  const move = { effect: id, to: 'started', from: [state], attempts, dueAt, reason, lease } as const
  const owed = { ...toPendingEffect(row, schemas), attempts: attempts + 1 }
  return { pending: owed, wasStarted: state === 'started', move }
}

/** Takes an effect for one attempt, without an event: written down before the request leaves. */
export function* claimEffect(schemas: Schemas, id: string, lease: Lease): Steps<ClaimedSince | undefined> {
  const found = yield* findClaimable(schemas, id, lease)
  if (!found) return undefined
  yield* moveEffect(found.move, lease.now)
  return { pending: found.pending, wasStarted: found.wasStarted, since: yield* endOfLog() }
}

/** An attempt: the effect, with the attempt counted. */
export type AttemptAt = Pick<PendingEffect, 'id' | 'attempts'>

/** Until when an attempt is its owner's, or was if nobody has taken the effect since; `undefined` otherwise. */
export function* heldUntil({ id, attempts }: AttemptAt, owner: string): Steps<Instant | undefined> {
  const parameters = [...parseEffectId(id), attempts, owner]
  return (yield* first<{ until: Instant }>({ sql: selectLease, parameters }))?.until
}

/** Keeps an attempt for longer. False when it is no longer its owner's. */
export function* extendEffect({ id, attempts }: AttemptAt, { owner, now, until }: Lease): Steps<boolean> {
  const parameters = [now, until, ...parseEffectId(id), attempts, owner]
  return (yield* first({ sql: extendOne, parameters })) !== undefined
}

/**
 * Puts an effect off until a known time: this attempt certainly did nothing. Without its lease it changes nothing:
 * another process may be at it now, or have ended it.
 */
export function* deferEffect(
  id: string,
  dueAt: Instant,
  reason: string,
  { owner, now }: Pick<Lease, 'owner' | 'now'>,
): Steps<void> {
  yield* rows({ sql: deferOne, parameters: [dueAt, now, reason, ...parseEffectId(id), owner] })
}

/** Reads one effect; one whose event is damaged is marked. */
export function* readEffect(schemas: Schemas, id: string): Steps<PendingEffect | undefined> {
  const row = yield* first<EffectRow>({ sql: selectEffect, parameters: parseEffectId(id) })
  return row && toPendingOrDamaged(row, schemas)
}

/** Reports whether an effect has neither been settled nor declined. */
export function* isOpen(id: string): Steps<boolean> {
  const row = yield* first<EffectRow>({ sql: selectEffect, parameters: parseEffectId(id) })
  return row?.is_open === 1
}

/** Which effects to list, and which part of the list. */
export interface EffectFilter {
  readonly stream?: string
  readonly states?: readonly EffectState[]
  /** Also those whose event cannot be read, marked as such. */
  readonly withDamaged?: boolean
  /** Only those after this one. */
  readonly after?: Pick<PendingEffect, 'id' | 'position'>
  readonly limit?: number
}

/** Lists effects, the oldest first: those that are open, unless a state asks for others. */
export function* listEffects(
  connection: Connection,
  schemas: Schemas,
  filter: EffectFilter,
): Steps<PendingEffect[]> {
  const { stream, states, withDamaged, after, limit } = filter
  if (states?.length === 0) return []
  const hasEnded = states?.some(state => endedStates.has(state)) ?? true
  let query = hasEnded ? allEffects(connection) : openEffects(connection)
  if (stream !== undefined) {
    query = query.where('effect.stream', '=', eb =>
      eb.selectFrom('stream as owner').select('owner.key').where('owner.name', '=', stream),
    )
  }
  if (states) query = query.where('effect.state', 'in', [...states])
  if (limit !== undefined) query = query.limit(limit)
  if (after) {
    const [, , n] = parseEffectId(after.id)
    const { position } = after
    query = query
      .where('effect.position', '>=', position)
      .where(eb => eb.or([eb('effect.position', '>', position), eb('effect.n', '>', n)]))
  }
  const found = yield* rows(query.orderBy('effect.position').orderBy('effect.n'))
  return found.map(row => (withDamaged ? toPendingOrDamaged(row, schemas) : toPendingEffect(row, schemas)))
}

const endedStates: ReadonlySet<EffectState> = new Set(['settled', 'declined', 'cancelled'])

function allEffects({ compiler }: Connection) {
  return compiler
    .selectFrom('effect')
    .innerJoin('event', 'event.position', 'effect.position')
    .innerJoin('stream', 'stream.key', 'event.stream')
    .selectAll('effect')
    .select(['event.version', 'event.header', 'stream.name'])
}

/** A literal in place of a parameter, so that the small index of open effects is used. */
function openEffects(connection: Connection) {
  return allEffects(connection).where('effect.is_open', '=', eb => eb.lit(1))
}

/** Calls to the outside that have not ended, of one type and state. */
export interface PendingCount {
  readonly type: string
  readonly state: EffectState
  readonly count: number
  /** When the first of them is due. */
  readonly dueAt: Instant
}

/** Counts the calls that have not ended. */
export function* countPending(): Steps<readonly PendingCount[]> {
  return yield* rows<PendingCount>({ sql: selectOwed, parameters: [] })
}

const selectOwed = `select type, state, count(*) as count, min(due_at) as "dueAt" from effect where is_open = 1
  group by type, state order by type, state`
