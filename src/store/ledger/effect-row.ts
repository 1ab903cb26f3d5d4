import { clocksDifferMaxMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { EffectState, Instant, RecordedEvent, Settlement } from '../../vocabulary/message.ts'
import { each, type Steps } from '../database/connection.ts'
import type { Schema } from '../database/schema.ts'
import { isLeaseOver, type Lease } from './lease.ts'

/** A pending call, as the ledger has it. The functions below say how it may change, and make the changed row. */
export type EffectRow = Readonly<Schema['effect']>

/** A change of an effect's state that does not end it: defer, park, release, or begin an attempt. */
export interface EffectMove {
  readonly effect: string
  readonly to: 'deferred' | 'parked' | 'pending' | 'started'
  readonly from: readonly EffectState[]
  /** The attempts that it must have: a higher count means that another process has tried it. */
  readonly attempts: number
  /** The process whose attempt it ends; absent when none is under way. */
  readonly owner?: string
  /** When it is tried next. A parked one has none. */
  readonly dueAt?: Instant
  readonly reason: string
  readonly lease?: Lease
}

/** How an attempt of a process at an effect ended. `attempts` counts the attempts up to it. */
export interface AttemptEnd {
  readonly effect: string
  readonly attempts: number
  /** The process that made it; absent when none was made. */
  readonly owner?: string
  readonly as: Settlement
  readonly reason: string
}

/**
 * Makes a row for each effect of an event. Effects on keys have no `given_at`, so they never run before `dueAt`, even
 * when that came from a clock that was ahead: a backup may need the keys until then.
 */
export function newRows({ position, effects = [] }: RecordedEvent, stream: number, now: Instant): EffectRow[] {
  return effects.map(({ type, dueAt, reason = '' }, n) => ({
    ...{ position, n, stream, type, state: 'pending', is_open: 1, due_at: dueAt ?? now },
    ...{ given_at: type.startsWith('keys.') ? null : now, attempts: 0, reason },
    ...{ settled_at: null, lease_owner: null, lease_until: null },
  }))
}

/** The row of an effect that ended, with the position of the event that records it. */
export function endedRow(
  row: EffectRow,
  { as, reason }: { as: Settlement | 'cancelled'; reason: string },
  position: number,
): EffectRow {
  const ended = { state: as, is_open: as === 'unknown' ? 1 : 0, reason, settled_at: position } as const
  return { ...row, ...ended, due_at: null, given_at: null, lease_owner: null, lease_until: null }
}

/** The row of an effect that was parked or deferred, released with its attempts reset, or begun once more. */
export function movedRow(row: EffectRow, { to, dueAt, attempts, reason, lease }: EffectMove, now: Instant): EffectRow {
  const counted = to === 'started' ? attempts + 1 : to === 'pending' ? 0 : attempts
  const moved = { state: to, due_at: dueAt ?? null, given_at: dueAt ? now : null, attempts: counted, reason }
  return { ...row, ...moved, lease_owner: lease?.owner ?? null, lease_until: lease?.until ?? null }
}

/** Reports whether an attempt can end an effect: its process still holds it, or it is `unknown` what became of it. */
export function canEnd(row: EffectRow | undefined, { attempts, owner }: AttemptEnd): boolean {
  if (row?.is_open !== 1) return false
  // The number alone may be that of another attempt: an operator who releases a call lets them be counted anew.
  return row.state === 'unknown' || (row.attempts === attempts && row.lease_owner === (owner ?? null))
}

/** Reports whether an effect still is in the state that a move requires. */
export function canMove(row: EffectRow | undefined, { from, attempts, owner, lease }: EffectMove): boolean {
  if (!row || !from.includes(row.state) || row.attempts !== attempts) return false
  return lease ? isClaimable(row, lease) : row.lease_owner === (owner ?? null)
}

/**
 * Reports whether an effect is due and its lease is over. A started effect was due before. A time or lease set by a
 * clock that was ahead and has been corrected since does not count: it would last as long as that clock was ahead.
 */
export function isClaimable({ state, due_at, given_at, lease_until }: EffectRow, lease: Lease): boolean {
  if (due_at === null || state === 'unknown' || state === 'parked') return false
  const isDue = state === 'started' || due_at <= lease.at || (given_at ?? '') > latestPlausible(lease)
  return isDue && isLeaseOver(lease_until, lease)
}

/** A `given_at` later than this was written by a clock that was ahead. */
export function latestPlausible({ at }: Pick<Lease, 'at'>): Instant {
  return toInstant(fromInstant(at) + clocksDifferMaxMs)
}

export function writeEffects(changed: readonly EffectRow[]): Steps<void> {
  return each(upsert, changed, row => columns.map(column => row[column]))
}

const columns = [
  ...['position', 'n', 'stream', 'type', 'state', 'is_open', 'due_at', 'given_at', 'attempts', 'reason'],
  ...['settled_at', 'lease_owner', 'lease_until'],
] as (keyof EffectRow)[] // They are.
const upsert = `insert into effect (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})
  on conflict (position, n) do update set ${columns
    .slice(4)
    .map(column => `${column} = excluded.${column}`)
    .join(', ')}`
