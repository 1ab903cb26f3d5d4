import type { ExpressionBuilder } from 'kysely'
import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { followerName } from '../../vocabulary/names.ts'
import { type Connection, first, rows, type Steps, together } from '../database/connection.ts'
import { db, raiseFence, type Schema } from '../database/schema.ts'
import { type PositionWindow, searchLog } from '../log/read.ts'
import { checkNotMoved } from '../log/tail.ts'
import { hostTimeOf, isLeaseOver, type Lease, type Leasing } from './lease.ts'

/** How far a follower of the log has come, and how its last attempts went. */
export interface Follower {
  readonly name: string
  /** The sorted types of events that it follows; null until it has run. */
  readonly types: readonly string[] | null
  /** Its handler has processed all events of its types up to here. */
  readonly position: number
  /** Its handler failed too often, and an operator has to resume it. */
  readonly isParked: boolean
  /** How often the next event was tried. `dueAt` is the time of the next attempt. */
  readonly attempts: number
  readonly dueAt: Instant | null
  /** Until when another process has it, by the clock of this host. */
  readonly takenUntil: Instant | null
  /** When a process last had it, by the clock of this host; null when none did. */
  readonly lastTakenAt: Instant | null
  /** Why the last attempt failed: the name of the error, never its message. */
  readonly reason: string
}

type FollowerRow = Schema['follower']

/** The table of followers: how far each has come, and which process runs it. */
export class FollowerTable {
  readonly #connection: Connection
  readonly #leasing: Leasing

  constructor(connection: Connection, leasing: Leasing) {
    this.#connection = connection
    this.#leasing = leasing
  }

  /** Takes the lease of a follower, or extends it; `undefined` while another process holds it. */
  take(name: string): Promise<Follower | undefined> {
    return this.#connection.transact(() => takeFollower(name, this.#leasing.begin()), 'rows')
  }

  /** Reports whether this process still holds a follower at its position. Takes the lease again if it is free. */
  async holds({ name, position }: Follower): Promise<boolean> {
    const lease = this.#leasing.begin()
    const row = await this.#connection.read(() => readRow(name))
    const isOurs = row?.lease_owner === lease.owner && !isLeaseOver(row.lease_until, lease)
    const found = isOurs ? toFollower(row, lease) : await this.take(name)
    return found?.position === position && !found.isParked
  }

  /** Moves a follower forward and extends its lease. False when the lease was lost or the follower was moved. */
  move({ name, position }: Follower, to: number): Promise<boolean> {
    const { owner, until } = this.#leasing.begin()
    const moved = { position: to, lease_until: until, attempts: 0, due_at: null, reason: '' }
    const update = updateHeld(name, owner).where('position', '=', position).where('is_parked', '=', 0)
    return this.#change(update.set(moved))
  }

  /**
   * Stores the sorted types of a follower. Types may be dropped. A type may be added only when none of its events lie
   * before the follower's position: they would be skipped silently.
   *
   * @throws {AverbaError} `INVALID_INPUT` when an added type has earlier events
   */
  async keepTypes(follower: Follower, types: readonly string[]): Promise<void> {
    if (followsTypes(follower, types)) return
    const { name, position, types: before } = follower
    const added = types.filter(type => !before?.includes(type))
    const first = added.length > 0 && position > 0 ? await this.next(0, added) : undefined
    if (first !== undefined && first <= position) {
      const cannot = `Cannot follow as "${name}": it would skip earlier events of the added types: ${added.join(', ')}`
      throw new AverbaError('INVALID_INPUT', cannot, {
        hint: 'Follow these types under a new name, which starts at the beginning of the log',
      })
    }
    const update = updateHeld(name, this.#leasing.owner).where('position', '=', position)
    await this.#change(update.set({ types: JSON.stringify(types) }))
  }

  /** Records the event at which the handler failed and the time of the retry; `null` parks it. False as for `move`. */
  fail(follower: Follower, at: number, dueAt: Instant | null, reason: string): Promise<boolean> {
    const { name, position, attempts } = follower
    const is_parked = dueAt === null ? 1 : 0
    const update = updateHeld(name, this.#leasing.owner).where('position', '=', position)
    return this.#change(update.set({ position: at - 1, attempts: attempts + 1, due_at: dueAt, reason, is_parked }))
  }

  /** Frees a follower for other processes. The end of its lease stays: it tells when a process last had it. */
  async release(name: string): Promise<void> {
    const { owner, now } = this.#leasing.begin()
    await this.#change(updateHeld(name, owner).set({ lease_owner: null, lease_until: now }))
  }

  /** Finds the position of the next event, of any type or of some, without reading the event: it may be damaged. */
  async next(after: number, types?: readonly string[]): Promise<number | undefined> {
    const readWindow = ({ above, upTo }: PositionWindow) => {
      const inWindow = db.selectFrom('event').select('position').where('position', '>', above)
      const query = inWindow.where('position', '<=', upTo).orderBy('position').limit(1)
      return rows(types ? query.where('type', 'in', types) : query)
    }
    return (await searchLog(this.#connection, { after, limit: 1 }, readWindow)).found[0]?.position
  }

  list(): Promise<Follower[]> {
    const lease = this.#leasing.begin()
    return this.#connection.read(function* (): Steps<Follower[]> {
      const all = yield* rows(db.selectFrom('follower').selectAll().orderBy('name'))
      return all.map(row => toFollower(row, lease))
    })
  }

  /** Finds a follower; `undefined` when the name was never used. */
  find(name: string): Promise<Follower | undefined> {
    const lease = this.#leasing.begin()
    return this.#connection.read(function* (): Steps<Follower | undefined> {
      const row = yield* readRow(name)
      return row && toFollower(row, lease)
    })
  }

  /** Resumes a follower parked at this position, at the failed event or past it. False when it is not parked there. */
  resume({ name, position }: Follower, how: 'again' | 'past'): Promise<boolean> {
    const update = db.updateTable('follower').where('name', '=', name).where('position', '=', position)
    const to = how === 'past' ? position + 1 : position
    const resumed = update
      .where('is_parked', '=', 1)
      .set({ position: to, is_parked: 0, attempts: 0, due_at: null, reason: '' })
    return this.#connection.transact(function* (): Steps<boolean> {
      if ((yield* first(resumed.returning('name'))) === undefined) return false
      // Its process may have looked before this commit, and would look again after the next event.
      yield* rows({ sql: raiseFence, parameters: [] })
      return true
    }, 'rows')
  }

  /** Forgets a follower. False when a process has it, or it was moved. */
  remove({ name, position }: Follower): Promise<boolean> {
    const lease = this.#leasing.begin()
    const row = db.deleteFrom('follower').where('name', '=', name).where('position', '=', position)
    return this.#connection.transact(function* (): Steps<boolean> {
      return (yield* first(row.where(isFree(lease)).returning('name'))) !== undefined
    }, 'rows')
  }

  /** Throws `MOVED` when the log goes on elsewhere, with its followers. */
  #change(update: ReturnType<typeof updateHeld>): Promise<boolean> {
    return this.#connection.transact(function* (): Steps<boolean> {
      const [changed] = yield* together<unknown>([first(update.returning('name')), checkNotMoved()])
      return changed !== undefined
    }, 'rows')
  }
}

/** The condition of `isLeaseOver`, for one whose lease is not this process's. */
function isFree({ owner, now, latest }: Lease) {
  return (eb: ExpressionBuilder<Schema, 'follower'>) =>
    eb.or([
      ...[eb('lease_owner', '=', owner), eb('lease_owner', 'is', null)],
      ...[eb('lease_until', '<=', now), eb('lease_until', '>', latest)],
    ])
}

/** Takes a follower whose lease is over. A new one starts at the log's beginning. */
function* takeFollower(name: string, lease: Lease): Steps<Follower | undefined> {
  const { owner, until } = lease
  const insert = db.insertInto('follower').values({ name, position: 0, is_parked: 0, attempts: 0, reason: '' })
  yield* together<unknown>([rows(insert.onConflict(on => on.doNothing())), checkNotMoved()])
  const update = db.updateTable('follower').set({ lease_owner: owner, lease_until: until }).where('name', '=', name)
  const row = yield* first(update.where(isFree(lease)).returningAll())
  return row && toFollower(row, lease)
}

function readRow(name: string): Steps<FollowerRow | undefined> {
  return first(db.selectFrom('follower').selectAll().where('name', '=', name))
}

/** An update of a follower if this process still holds its lease. */
function updateHeld(name: string, owner: string) {
  return db.updateTable('follower').where('name', '=', name).where('lease_owner', '=', owner)
}

function toFollower(row: FollowerRow, lease: Lease): Follower {
  const { name, position, attempts, reason } = row
  const types: string[] | null = row.types === null ? null : JSON.parse(row.types) // As `keepTypes` wrote it.
  const isTaken = row.lease_owner !== null && row.lease_owner !== lease.owner && !isLeaseOver(row.lease_until, lease)
  const { lease_until: until } = row
  // Not one that a clock which was ahead has set.
  const end = until === null || until > lease.latest ? null : toInstant(hostTimeOf(until, lease))
  const lastTakenAt = end !== null && end > lease.at ? lease.at : end
  const states = { isParked: row.is_parked === 1, attempts, dueAt: row.due_at, takenUntil: isTaken ? end : null }
  return { name, types, position, ...states, lastTakenAt, reason }
}

/** Reports whether a handler of an `evento`, in any process, has not passed the position yet. */
export function hasPendingHandler(
  followers: readonly Pick<Follower, 'name' | 'position'>[],
  evento: string,
  position: number,
): boolean {
  const prefix = followerName({ evento, name: '' })
  const isHandler = (name: string) => name.startsWith(prefix) && !name.includes('/', prefix.length)
  return followers.some(each => isHandler(each.name) && each.position < position)
}

/** Reports whether a follower follows exactly these sorted types. */
export function followsTypes({ types }: Pick<Follower, 'types'>, others: readonly string[]): boolean {
  return types?.length === others.length && types.every((each, at) => each === others[at])
}
