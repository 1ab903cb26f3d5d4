import { sql } from 'kysely'
import { hasCode } from '../../vocabulary/errors.ts'
import { type ForeignCode, foreignCodes } from '../../vocabulary/foreign-answer.ts'
import { fromInstant } from '../../vocabulary/instant.ts'
import {
  type EffectState,
  type Instant,
  openStates,
  type PendingEffect,
  type RecordedEvent,
} from '../../vocabulary/message.ts'
import { effectStream, parseEffectId, serviceOf } from '../../vocabulary/names.ts'
import { each, first, oneOf, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { DamagedEvent, damagedLogError, type HeaderReader, type StoredHeader } from '../log/header.ts'
import { endOfLog, readPage } from '../log/read.ts'
import { readStreamEnd } from '../log/streams.ts'
import type { Tags } from '../log/tags.ts'
import {
  canMove,
  type EffectMove,
  type EffectRow,
  isClaimable,
  latestPlausible,
  movedRow,
  writeEffects,
} from './effect-row.ts'
import { hostTimeOf, type Lease } from './lease.ts'

// The ledger of pending effects. An effect's id is `<stream>/<version>/<n>`. What appends and attempts run is text.

const effectOf = `effect.position = (select event.position from event join stream on stream.key = event.stream
  where stream.name = ? and event.version = ?) and effect.n = ?`
const selectEffect = `select effect.*, event.version, event.header, event.tag, stream.name from effect
  join event on event.position = effect.position join stream on stream.key = event.stream where ${effectOf}`
const selectLease = `select lease_until from effect
  where ${effectOf} and state = 'started' and attempts = ? and lease_owner = ?`
const extendOne = `update effect set given_at = ?, lease_until = ?
  where ${effectOf} and state = 'started' and attempts = ? and lease_owner = ?`
const newestUnknown = `select effect.*, event.version, event.header, event.tag, stream.name from effect
  join event on event.position = effect.position join stream on stream.key = event.stream
  where event.stream = (select key from stream where name = ?) and effect.type = ? and effect.state = 'unknown' and effect.is_open = 1
  order by effect.settled_at desc limit 1`

/** Reads the effect of a type that became `unknown` last in a stream. */
export function findNewestUnknown(stream: string, type: string): Steps<StoredEffect | undefined> {
  return first({ sql: newestUnknown, parameters: [stream, type] })
}

/** How the log is read where the ledger is not enough. */
export interface TaggedLog {
  readonly headers: HeaderReader
  readonly tags: Tags
}

export interface DueFilter {
  /** Also those of services that want no calls now. */
  readonly withUnwanted?: boolean
  readonly types?: readonly string[]
  readonly limit?: number
}

/**
 * Lists the ids of due effects without a running lease, the oldest first, by the condition of `isClaimable`. The few
 * effects whose time or lease was set by a clock that was ahead come last. They have their own index. A service that
 * wants no calls has none.
 */
export function* dueEffects(
  { at, now, latest }: Lease,
  { types, limit, withUnwanted = false }: DueFilter = {},
): Steps<string[]> {
  const wanted = withUnwanted ? 'true or' : ''
  const ofTypes = types ? `and ${oneOf('effect.type', types)}` : ''
  const upTo = limit === undefined ? '' : 'limit ?'
  const find = (condition: string, ...times: Instant[]) =>
    rows<EffectIdParts>({
      sql: `${selectOpenIds} ${ofTypes} and (${wanted} ${isWanted}) and ${condition}, effect.position, effect.n ${upTo}`,
      parameters: [...(types ?? []), now, latest, ...times, ...(limit === undefined ? [] : [limit])],
    })
  const due = yield* find(isDueNow, at, now)
  const ahead = yield* find(isSetAhead, latestPlausible({ at }), at, latest)
  return [...due, ...ahead].slice(0, limit).map(effectIdOf)
}

// Text, since each service looks after every commit. The literal lets the small index of open effects be used.
const selectOpenIds = `select event.version, stream.name, effect.n from effect
  join event on event.position = effect.position join stream on stream.key = event.stream where effect.is_open = 1`
const isWanted = `not exists (select 1 from rate
  where effect.type like service || '.%' and closed_until > ? and closed_until <= ?)`
// These states have no time. Who can write the file could give them one.
const isDueNow = `effect.state not in ('unknown', 'parked') and effect.due_at <= ?
  and (effect.lease_until is null or effect.lease_until <= ?) order by effect.due_at`
const isSetAhead = `effect.given_at > ? and ((effect.lease_until is null and effect.due_at > ?) or effect.lease_until > ?)
  order by effect.given_at`

/**
 * Finds when the next effect of these types becomes due, free of its lease, or wanted by its service again: by the
 * clock of the host, in ms, and infinity if not until then.
 */
export function* nextDueAt(types: readonly string[], lease: Lease, until: Instant): Steps<number> {
  const ofTypes = oneOf('type', types)
  const services = [...new Set(types.map(serviceOf))]
  const due = yield* first<{ at: Instant | null }>({
    sql: `select min(due_at) as at from effect where is_open = 1 and due_at > ? and due_at <= ? and ${ofTypes}`,
    parameters: [lease.at, until, ...types],
  })
  const free = yield* first<{ at: Instant | null }>({
    sql: `select min(lease_until) as at from effect where is_open = 1 and due_at <= ? and lease_until > ? and ${ofTypes}`,
    parameters: [lease.at, lease.now, ...types],
  })
  const wanted = yield* first<{ at: Instant | null }>({
    sql: `select min(closed_until) as at from rate where closed_until > ? and ${oneOf('service', services)}`,
    parameters: [lease.now, ...services],
  })
  return Math.min(
    due?.at ? fromInstant(due.at) : Number.POSITIVE_INFINITY,
    free?.at ? hostTimeOf(free.at, lease) : Number.POSITIVE_INFINITY,
    wanted?.at ? hostTimeOf(wanted.at, lease) : Number.POSITIVE_INFINITY,
  )
}

export interface ClaimCandidate {
  /** The effect, with this attempt counted. */
  readonly pending: PendingEffect
  /** An earlier attempt was started and never reported its result. */
  readonly wasStarted: boolean
  /** Claims it, in the transaction of an event that records the attempt. */
  readonly move: EffectMove
}

/** An effect that was claimed without an event. */
export interface LedgerClaim extends ClaimCandidate {
  /** The end of the log at the claim: the service's answer cannot reflect later events. */
  readonly since: number
}

/** Finds an effect that can be claimed; `undefined` when it has ended, is not due, or another lease still runs. */
export function* findClaimable(headers: HeaderReader, id: string, lease: Lease): Steps<ClaimCandidate | undefined> {
  const row = yield* findEffect(id)
  return row && toCandidate(headers, row, lease)
}

function toCandidate(headers: HeaderReader, row: StoredEffect, lease: Lease): ClaimCandidate | undefined {
  const { attempts, state, due_at: dueAt, reason } = row
  if (!row.is_open || dueAt === null || !isClaimable(row, lease)) return undefined
  const pending = { ...toPendingEffect(row, headers), attempts: attempts + 1 }
  const move = { effect: pending.id, to: 'started', from: [state], attempts, dueAt, reason, lease } as const
  return { pending, wasStarted: state === 'started', move }
}

/**
 * Claims an effect for one attempt without an event, before the request is sent, if its state then may be claimed so.
 */
export function* claimEffect(
  headers: HeaderReader,
  id: string,
  lease: Lease,
  mayClaim: (found: ClaimCandidate) => boolean = () => true,
): Steps<LedgerClaim | undefined> {
  const row = yield* findEffect(id)
  const found = row && toCandidate(headers, row, lease)
  if (!found || !mayClaim(found)) return undefined
  yield* writeEffects([movedRow(row, found.move, lease.at)])
  return { ...found, since: yield* endOfLog() }
}

/**
 * Checks that the log gives a call the same state: its row has no tag, and who can write the file could make a call due
 * again that has ended, is in doubt, or was on its way when a process died. Every attempt that gets an event is in it.
 *
 * @throws {DamagedEvent} when the log gives it another state, or is not complete
 */
export function* checkStateInLog(log: TaggedLog, row: StoredEffect): Steps<void> {
  const { position, name, version } = row
  const call = { id: effectIdOf(row), type: row.type, position }
  const later = yield* readGapless(log, name, version + 1)
  const ofCall = yield* readGapless(log, effectStream(call), 1)
  let state: EffectState = 'pending'
  for (const event of [...later, ...ofCall].sort((a, b) => a.position - b.position))
    state = stateAfter(event, call, state)
  if (state === row.state) return
  throw new DamagedEvent(`a call of its own is ${row.state} in the ledger, and ${state} in the log`, { position })
}

/** Reads the events of a stream from a version on: all up to its end. */
function* readGapless({ headers, tags }: TaggedLog, stream: string, from: number): Steps<RecordedEvent[]> {
  const events: RecordedEvent[] = []
  const { version = 0 } = (yield* readStreamEnd(tags, stream)) ?? {}
  while (from + events.length <= version) {
    const page = yield* readPage(headers, { stream, fromVersion: from + events.length })
    if (page.length === 0) throw damagedLogError(`The last events of "${stream}" are missing`)
    events.push(...page)
  }
  return events
}

function stateAfter(
  event: RecordedEvent,
  { id, type }: Pick<PendingEffect, 'id' | 'type'>,
  state: EffectState,
): EffectState {
  if (event.cancels?.includes(id)) return 'cancelled'
  if (event.settles?.effect === id) return event.settles.as
  if (event.moves?.effect === id) return event.moves.to
  return event.resolves?.effect === type && state === 'unknown' ? event.resolves.as : state
}

/** An attempt at an effect: `attempts` includes it. */
export type EffectAttempt = Pick<PendingEffect, 'id' | 'attempts'>

/** Reads the end of an attempt's lease; `undefined` when another attempt has begun or the effect has ended. */
export function* heldUntil({ id, attempts }: EffectAttempt, owner: string): Steps<Instant | undefined> {
  const parameters = [...parseEffectId(id), attempts, owner]
  return (yield* first<{ lease_until: Instant }>({ sql: selectLease, parameters }))?.lease_until
}

/** Extends the lease of an attempt. False when its owner no longer holds it. */
export function* extendEffect(attempt: EffectAttempt, lease: Lease): Steps<boolean> {
  return (yield* first({ sql: `${extendOne} returning n`, parameters: extension(attempt, lease) })) !== undefined
}

/** Extends the leases of attempts that their owner still holds. */
export function extendEffects(attempts: readonly EffectAttempt[], lease: Lease): Steps<void> {
  return each(extendOne, attempts, attempt => extension(attempt, lease))
}

function extension({ id, attempts }: EffectAttempt, { owner, at, until }: Lease) {
  return [at, until, ...parseEffectId(id), attempts, owner]
}

/** Defers an effect whose attempt certainly had no effect, unless another attempt has begun or the effect has ended. */
export function* deferEffect(
  { id, attempts }: EffectAttempt,
  dueAt: Instant,
  reason: string,
  { owner, at }: Lease,
): Steps<void> {
  const move = { effect: id, to: 'deferred', from: ['started'], attempts, owner, dueAt, reason } as const
  const row = yield* findEffect(id)
  if (row && canMove(row, move)) yield* writeEffects([movedRow(row, move, at)])
}

/** Reads one effect. One with a damaged event has `isDamaged`. */
export function* readEffect(headers: HeaderReader, id: string): Steps<PendingEffect | undefined> {
  const row = yield* findEffect(id)
  return row && toPendingOrDamaged(row, headers)
}

/** Reports whether an effect has not ended. */
export function* isEffectOpen(id: string): Steps<boolean> {
  return (yield* findEffect(id))?.is_open === 1
}

export interface EffectFilter {
  readonly stream?: string
  readonly states?: readonly EffectState[]
  readonly types?: readonly string[]
  /** Lists effects with a damaged event too, with `isDamaged`, instead of throwing. */
  readonly withDamaged?: boolean
  readonly after?: Pick<PendingEffect, 'id' | 'position'>
  readonly limit?: number
}

/** Lists effects: of any state unless the filter has states. The oldest first, but ended ones the newest first. */
export function* listEffects(headers: HeaderReader, filter: EffectFilter): Steps<PendingEffect[]> {
  const { stream, states, types, withDamaged, after, limit } = filter
  let query = db
    .selectFrom('effect')
    .innerJoin('event', 'event.position', 'effect.position')
    .innerJoin('stream', 'stream.key', 'event.stream')
    .selectAll('effect')
    .select(['event.version', 'event.header', 'event.tag', 'stream.name'])
  if (stream !== undefined) {
    // That of its event is the same, and has an index.
    query = query.where('event.stream', '=', eb =>
      eb.selectFrom('stream as owner').select('owner.key').where('owner.name', '=', stream),
    )
  }
  if (states) query = query.where('effect.state', 'in', states)
  if (types) query = query.where('effect.type', 'in', types)
  // With a literal instead of a parameter, so that the small index of open effects is used.
  if (states?.every(state => openStates.includes(state))) query = query.where('effect.is_open', '=', eb => eb.lit(1))
  if (limit !== undefined) query = query.limit(limit)
  const [order, beyond] =
    states && !states.some(state => openStates.includes(state)) ? (['desc', '<'] as const) : (['asc', '>'] as const)
  if (after) {
    const [, , n] = parseEffectId(after.id)
    const { position } = after
    query = query
      .where('effect.position', `${beyond}=`, position)
      .where(eb => eb.or([eb('effect.position', beyond, position), eb('effect.n', beyond, n)]))
  }
  const found = yield* rows(query.orderBy('effect.position', order).orderBy('effect.n', order))
  return found.map(row => (withDamaged ? toPendingOrDamaged(row, headers) : toPendingEffect(row, headers)))
}

/** The number of open effects of one type and state, and why the last answer was not the service's own. */
export interface PendingCount {
  readonly type: string
  readonly state: EffectState
  readonly count: number
  /** When the first is tried next; null when that is never without a person or a reading. */
  readonly dueAt: Instant | null
  readonly foreign: ForeignCode | null
}

/** The code with which a reason begins when somebody else answered. */
const foreignCode = sql<ForeignCode | null>`case ${sql.join(
  foreignCodes.map(code => sql`when reason like ${sql.lit(`${code}: %`)} then ${sql.lit(code)}`),
  sql` `,
)} end`

/** Counts the open effects by type, state and who answered last. */
export function* countPending(): Steps<readonly PendingCount[]> {
  const query = db
    .selectFrom('effect')
    .select(({ fn }) => ['type', 'state', fn.countAll<number>().as('count'), fn.min('due_at').as('dueAt')])
    .select(foreignCode.as('foreign'))
    .where('is_open', '=', eb => eb.lit(1))
  return yield* rows(query.groupBy(['type', 'state', 'foreign']).orderBy('type').orderBy('state'))
}

/** A row of the ledger with the header, version and stream of its event. */
export type StoredEffect = EffectRow &
  StoredHeader & {
    readonly version: number
    readonly name: string
  }

export function findEffect(id: string): Steps<StoredEffect | undefined> {
  return first({ sql: selectEffect, parameters: parseEffectId(id) })
}

type EffectIdParts = Pick<StoredEffect, 'name' | 'version' | 'n'>

/** The id of an effect: `<stream>/<version>/<n>`. */
export function effectIdOf({ name, version, n }: EffectIdParts): string {
  return `${name}/${version}/${n}`
}

/** Builds an effect from its row. When its event is damaged, it has only the columns of the ledger. */
function toPendingOrDamaged(row: StoredEffect, headers: HeaderReader): PendingEffect {
  try {
    return toPendingEffect(row, headers)
  } catch (error) {
    if (!hasCode(error, 'CORRUPT')) throw error
    return { ...ledgerFields(row), data: {}, isDamaged: true }
  }
}

/** Builds an effect from its row. Addresses that begin with `./` name parts of the effect's own event. */
function toPendingEffect(row: StoredEffect, headers: HeaderReader): PendingEffect {
  const event = headers.read(row)
  const { type, data = {}, opens = {} } = event.effects?.[row.n] ?? {}
  if (type !== row.type || event.id !== `${row.name}/${row.version}`)
    throw new DamagedEvent('a call in the ledger names it, and is not one of its own', { position: row.position })
  const addresses = Object.entries(opens).map(([name, address]) => {
    return [name, address.startsWith('./') ? `${event.id}/${address.slice(2)}` : address]
  })
  return { ...ledgerFields(row), data, opens: Object.fromEntries(addresses) }
}

function ledgerFields(row: StoredEffect): Omit<PendingEffect, 'data'> {
  return {
    id: effectIdOf(row),
    type: row.type,
    stream: row.name,
    position: row.position,
    state: row.state,
    ...(row.due_at !== null && { dueAt: row.due_at }),
    attempts: row.attempts,
    reason: row.reason,
    ...(row.settled_at !== null && { settledAt: row.settled_at }),
  }
}
