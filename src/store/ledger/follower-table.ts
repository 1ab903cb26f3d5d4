import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { followerName } from '../../vocabulary/names.ts'
import { type Connection, column, first, oneOf, rows, type Steps } from '../database/connection.ts'
import { type PositionWindow, searchLog } from '../log/search.ts'
import { isLeaseOver, type Lease } from './leases.ts'

/** How far a follower of the log has come, and how its last attempts went. */
export interface Follower {
  readonly name: string
  /** The sorted types of events that it follows; null for a handler of notifications, whose name has its `evento`. */
  readonly types: readonly string[] | null
  /** Its handler has processed all events of its types up to here. */
  readonly position: number
  /** Its handler failed too often, and an operator has to resume it. */
  readonly isParked: boolean
  /** How often the next event was tried. `dueAt` is the time of the next attempt. */
  readonly attempts: number
  readonly dueAt: Instant | null
  /** Why the last attempt failed: the name of the error, never its message. */
  readonly reason: string
}

interface FollowerRow {
  readonly name: string
  readonly types: string | null
  readonly position: number
  readonly is_parked: number
  readonly attempts: number
  readonly due_at: Instant | null
  readonly reason: string
  readonly lease_owner: string | null
  readonly lease_until: Instant | null
}

/** The table of followers: how far each has come, and which process runs it. */
export class FollowerTable {
  readonly #connection: Connection
  readonly #lease: () => Lease

  /** `lease` makes a lease of this process that begins now. */
  constructor(connection: Connection, lease: () => Lease) {
    this.#connection = connection
    this.#lease = lease
  }

  /** Takes the lease of a follower, or extends it; `undefined` while another process holds it. */
  take(name: string): Promise<Follower | undefined> {
    return this.#connection.transact(() => takeFollower(name, this.#lease()))
  }

  /** Extends the lease of a follower. False when another process has taken it, and may have moved it. */
  keep(name: string): Promise<boolean> {
    const { owner, until } = this.#lease()
    return this.#update({ sql: keepOne, parameters: [until, name, owner] })
  }

  /** Reports whether this process still holds a follower at its position. Takes the lease again if it is free. */
  async holds({ name, position }: Follower): Promise<boolean> {
    const lease = this.#lease()
    const row = await this.#connection.read(() => first<FollowerRow>({ sql: selectFollower, parameters: [name] }))
    const isOurs = row?.lease_owner === lease.owner && !isLeaseOver(row.lease_until, lease)
    const found = isOurs ? toFollower(row) : await this.take(name)
    return found?.position === position && !found.isParked
  }

  /** Moves a follower forward and extends its lease. False when the lease was lost or the follower was moved. */
  move({ name, position }: Follower, to: number): Promise<boolean> {
    const { owner, until } = this.#lease()
    return this.#update({ sql: moveOne, parameters: [to, until, name, owner, position] })
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
    const parameters = [JSON.stringify(types), name, this.#lease().owner, position]
    await this.#update({ sql: setTypes, parameters })
  }

  /** Records the event at which the handler failed and the time of the retry; `null` parks it. False as for `move`. */
  fail(follower: Follower, at: number, dueAt: Instant | null, reason: string): Promise<boolean> {
    const { name, position, attempts } = follower
    const isParked = dueAt === null ? 1 : 0
    const parameters = [at - 1, attempts + 1, dueAt, reason, isParked, name, this.#lease().owner, position]
    return this.#update({ sql: failOne, parameters })
  }

  /** Releases the lease of a follower. */
  async release(name: string): Promise<void> {
    await this.#update({ sql: releaseOne, parameters: [name, this.#lease().owner] })
  }

  /** Finds the position of the next event, of any type or of some, without reading the event: it may be damaged. */
  async next(after: number, types?: readonly string[]): Promise<number | undefined> {
    const ofTypes = types ? `and ${oneOf('type', types)}` : ''
    const sql = `select position from event where position > ? and position <= ? ${ofTypes} order by position limit 1`
    const readWindow = ({ above, upTo }: PositionWindow) =>
      column<number>({ sql, parameters: [above, upTo, ...(types ?? [])] })
    return (await searchLog(this.#connection, { after, limit: 1 }, readWindow)).found[0]
  }

  list(): Promise<Follower[]> {
    return this.#connection.read(function* (): Steps<Follower[]> {
      return (yield* rows<FollowerRow>({ sql: selectAll, parameters: [] })).map(toFollower)
    })
  }

  /** Finds a follower; `undefined` when the name was never used. */
  find(name: string): Promise<Follower | undefined> {
    return this.#connection.read(function* (): Steps<Follower | undefined> {
      const row = yield* first<FollowerRow>({ sql: selectFollower, parameters: [name] })
      return row && toFollower(row)
    })
  }

  /** Resumes a follower parked at this position, at the failed event or past it. False when it is not parked there. */
  resume({ name, position }: Follower, how: 'again' | 'past'): Promise<boolean> {
    return this.#update({ sql: resumeOne, parameters: [how === 'past' ? 1 : 0, name, position] })
  }

  /** Reports whether a row was changed. */
  #update(statement: { sql: string; parameters: readonly unknown[] }): Promise<boolean> {
    return this.#connection.transact(function* (): Steps<boolean> {
      return (yield* first(statement)) !== undefined
    })
  }
}

/** A new follower starts at the beginning of the log. */
function* takeFollower(name: string, lease: Lease): Steps<Follower | undefined> {
  yield* rows({ sql: addFollower, parameters: [name] })
  const row = yield* first<FollowerRow>({ sql: selectFollower, parameters: [name] })
  if (!row || (row.lease_owner !== lease.owner && !isLeaseOver(row.lease_until, lease))) return undefined
  yield* rows({ sql: leaseFollower, parameters: [lease.owner, lease.until, name] })
  return toFollower(row)
}

function toFollower({ name, types, position, is_parked, attempts, due_at, reason }: FollowerRow): Follower {
  const followed = types === null ? null : (JSON.parse(types) as string[]) // As `setTypes` wrote it.
  return { name, types: followed, position, isParked: is_parked === 1, attempts, dueAt: due_at, reason }
}

const addFollower = `insert into follower (name, position, is_parked, attempts, reason) values (?, 0, 0, 0, '')
  on conflict (name) do nothing`
const selectAll = 'select * from follower order by name'
const selectFollower = 'select * from follower where name = ?'
const leaseFollower = 'update follower set lease_owner = ?, lease_until = ? where name = ?'
const keepOne = 'update follower set lease_until = ? where name = ? and lease_owner = ? returning name'
const moveOne = `update follower set position = ?, lease_until = ?, attempts = 0, due_at = null, reason = ''
  where name = ? and lease_owner = ? and position = ? and is_parked = 0 returning name`
const setTypes = `update follower set types = ? where name = ? and lease_owner = ? and position = ? returning name`
const failOne = `update follower set position = ?, attempts = ?, due_at = ?, reason = ?, is_parked = ?
  where name = ? and lease_owner = ? and position = ? returning name`
const releaseOne = `update follower set lease_owner = null, lease_until = null where name = ? and lease_owner = ?
  returning name`
const resumeOne = `update follower set position = position + ?, is_parked = 0, attempts = 0, due_at = null,
  reason = '' where name = ? and is_parked = 1 and position = ? returning name`

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
