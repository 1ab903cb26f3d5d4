import type { Instant, Owed, Recorded, Settlement } from '../message.ts'
import { type Connection, first, rows, type Steps } from './connection.ts'

/** Writes down the effects that an event owes, in its own transaction. */
export function* oweEffects(connection: Connection, event: Recorded, stream: number): Steps<void> {
  for (const [n, effect] of (event.effects ?? []).entries()) {
    const opens = Object.entries(effect.opens ?? {}).map(([name, address]) => {
      return [name, address.startsWith('./') ? `${event.id}/${address.slice(2)}` : address]
    })
    yield* rows(
      connection.compiler.insertInto('effect').values({
        id: `${event.id}/${n}`,
        stream,
        position: event.position,
        type: effect.type,
        data: JSON.stringify(effect.data),
        opens: JSON.stringify(Object.fromEntries(opens)),
        state: 'owed',
        due_at: effect.dueAt ?? event.at,
        attempts: 0,
        because: '',
        settled_at: null,
        lease_owner: null,
        lease_until: null,
      }),
    )
  }
}

/** Marks how an effect ended, with the position of the event that says so. */
export function* endEffect(
  connection: Connection,
  { effect, as, because }: { effect: string; as: Settlement; because: string },
  position: number,
): Steps<void> {
  const ended = { state: as, because, settled_at: position, lease_owner: null, lease_until: null }
  yield* rows(connection.compiler.updateTable('effect').set(ended).where('id', '=', effect))
}

/** Ends the newest effect of a type whose outcome was unknown. */
export function* resolveEffect(
  connection: Connection,
  stream: number,
  { effect, as }: NonNullable<Recorded['resolves']>,
  position: number,
): Steps<void> {
  const db = connection.compiler
  const newest = yield* first(
    db
      .selectFrom('effect')
      .select('id')
      .where('stream', '=', stream)
      .where('type', '=', effect)
      .where('state', '=', 'unknown')
      .orderBy('position', 'desc')
      .limit(1),
  )
  if (newest) yield* endEffect(connection, { effect: newest.id, as, because: 'a reading told' }, position)
}

/** The effects that are due, the oldest first. Those that another process holds are left to it. */
export function* dueEffects(connection: Connection, now: Instant): Steps<string[]> {
  const query = connection.compiler
    .selectFrom('effect')
    .select('id')
    .where('state', 'in', ['owed', 'deferred', 'started'])
    .where('due_at', '<=', now)
    .where(eb => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<=', now)]))
    .orderBy('due_at')
    .orderBy('position')
  return (yield* rows(query)).map(row => row.id)
}

/** What taking an effect found. */
export interface Claimed {
  readonly owed: Owed
  /** An earlier attempt never reported back. */
  readonly wasStarted: boolean
  /** The end of the log when it was taken: the answer knows of nothing that is recorded after it. */
  readonly since: number
}

/**
 * Takes an effect for one attempt: written down before the request leaves. Nothing is returned when it has
 * ended, is not due yet, or when another holder's lease still runs.
 */
export function* claimEffect(
  connection: Connection,
  id: string,
  lease: { now: Instant; owner: string; until: Instant },
): Steps<Claimed | undefined> {
  const db = connection.compiler
  const owed = yield* readEffect(connection, id)
  if (!owed || (owed.state !== 'owed' && owed.state !== 'deferred' && owed.state !== 'started'))
    return undefined
  const held = yield* first(db.selectFrom('effect').select('lease_until').where('id', '=', id))
  if (owed.dueAt > lease.now || (held?.lease_until && held.lease_until > lease.now)) return undefined
  const attempts = owed.attempts + 1
  const started = { state: 'started' as const, attempts, lease_owner: lease.owner, lease_until: lease.until }
  yield* rows(db.updateTable('effect').set(started).where('id', '=', id))
  const head = yield* first(db.selectFrom('head').select('position'))
  return { owed: { ...owed, attempts }, wasStarted: owed.state === 'started', since: head?.position ?? 0 }
}

/** Puts an effect off until a known time: it is certainly not done. */
export function* deferEffect(
  connection: Connection,
  id: string,
  dueAt: Instant,
  because: string,
): Steps<void> {
  const deferred = {
    state: 'deferred' as const,
    due_at: dueAt,
    because,
    lease_owner: null,
    lease_until: null,
  }
  yield* rows(connection.compiler.updateTable('effect').set(deferred).where('id', '=', id))
}

/** Reads one effect. */
export function* readEffect(connection: Connection, id: string): Steps<Owed | undefined> {
  return (yield* listEffects(connection, { id }))[0]
}

/** Lists effects, the oldest first. */
export function* listEffects(
  connection: Connection,
  filter: { id?: string; stream?: string; states?: readonly Owed['state'][] },
): Steps<Owed[]> {
  let query = connection.compiler
    .selectFrom('effect')
    .innerJoin('stream', 'stream.key', 'effect.stream')
    .selectAll('effect')
    .select('stream.name')
    .orderBy('effect.position')
  if (filter.id !== undefined) query = query.where('effect.id', '=', filter.id)
  if (filter.stream !== undefined) query = query.where('stream.name', '=', filter.stream)
  if (filter.states) query = query.where('effect.state', 'in', [...filter.states])
  return (yield* rows(query)).map(row => ({
    id: row.id,
    type: row.type,
    stream: row.name,
    position: row.position,
    data: JSON.parse(row.data),
    opens: JSON.parse(row.opens),
    state: row.state,
    dueAt: row.due_at,
    attempts: row.attempts,
    because: row.because,
    ...(row.settled_at !== null && { settledAt: row.settled_at }),
  }))
}
