import type { Instant } from '../message.ts'
import { first, rows, type Steps } from './connection.ts'

/** Where a follower of the log stands. */
export interface Follower {
  readonly name: string
  /** Up to here its handler has done all events of its types. */
  readonly position: number
  /** Parked: its handler failed too often, and it waits for a person. */
  readonly isParked: boolean
  /** How often the next event was tried, and when it is tried again. */
  readonly attempts: number
  readonly dueAt: Instant | null
  /** Why the last attempt failed: the name of the error, never its message. */
  readonly because: string
}

/** Who follows, and until when nobody else may. */
export interface FollowerLease {
  readonly owner: string
  readonly now: Instant
  readonly until: Instant
}

interface Row {
  readonly name: string
  readonly position: number
  readonly is_parked: number
  readonly attempts: number
  readonly due_at: Instant | null
  readonly because: string
  readonly lease_owner: string | null
  readonly lease_until: Instant | null
}

/** Takes a follower for this process; `undefined` while another one has it. A new one begins with the log. */
export function* takeFollower(name: string, lease: FollowerLease): Steps<Follower | undefined> {
  yield* rows({ sql: addFollower, parameters: [name] })
  const row = yield* first<Row>({ sql: selectFollower, parameters: [name] })
  const isOthers = row?.lease_owner !== lease.owner && (row?.lease_until ?? '') > lease.now
  if (!row || isOthers) return undefined
  yield* rows({ sql: leaseFollower, parameters: [lease.owner, lease.until, name] })
  return toFollower(row)
}

/** Moves a follower on, and keeps it for longer. False when it is no longer ours, or was moved meanwhile. */
export function* moveFollower(
  { name, position }: Follower,
  to: number,
  { owner, until }: FollowerLease,
): Steps<boolean> {
  const parameters = [to, until, name, owner, position]
  return (yield* first({ sql: moveOne, parameters })) !== undefined
}

/** Says at which event the handler failed, and when it is tried again; `null` parks it, right before that event. */
export function* failFollower(
  { name, position, attempts }: Follower,
  at: number,
  dueAt: Instant | null,
  because: string,
  owner: string,
): Steps<void> {
  const isParked = dueAt === null ? 1 : 0
  const parameters = [at - 1, attempts + 1, dueAt, because, isParked, name, owner, position]
  yield* rows({ sql: failOne, parameters })
}

/** Lets another process take a follower. */
export function* releaseFollower(name: string, owner: string): Steps<void> {
  yield* rows({ sql: releaseOne, parameters: [name, owner] })
}

/** Lists every follower that there ever was, by name. */
export function* listFollowers(): Steps<Follower[]> {
  return (yield* rows<Row>({ sql: 'select * from follower order by name', parameters: [] })).map(toFollower)
}

/** Lets a follower go on: with the event that it failed at, or past it. False when it is not parked. */
export function* resumeFollower(name: string, how: 'again' | 'past'): Steps<boolean> {
  return (yield* first({ sql: resumeOne, parameters: [how === 'past' ? 1 : 0, name] })) !== undefined
}

function toFollower({ name, position, is_parked, attempts, due_at, because }: Row): Follower {
  return { name, position, isParked: is_parked === 1, attempts, dueAt: due_at, because }
}

const addFollower = `insert into follower (name, position, is_parked, attempts, because) values (?, 0, 0, 0, '')
  on conflict (name) do nothing`
const selectFollower = 'select * from follower where name = ?'
const leaseFollower = 'update follower set lease_owner = ?, lease_until = ? where name = ?'
const moveOne = `update follower set position = ?, lease_until = ?, attempts = 0, due_at = null, because = ''
  where name = ? and lease_owner = ? and position = ? returning name`
const failOne = `update follower set position = ?, attempts = ?, due_at = ?, because = ?, is_parked = ?
  where name = ? and lease_owner = ? and position = ?`
const releaseOne =
  'update follower set lease_owner = null, lease_until = null where name = ? and lease_owner = ?'
const resumeOne = `update follower set position = position + ?, is_parked = 0, attempts = 0, due_at = null,
  because = '' where name = ? and is_parked = 1 returning name`
