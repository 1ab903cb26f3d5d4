import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { followerOf } from '../../vocabulary/names.ts'
import { type Connection, column, first, oneOf, rows, type Steps } from '../database/connection.ts'
import { type PositionWindow, search } from '../log/search.ts'
import { isOver, type Lease } from './leases.ts'

/** Where a follower of the log stands. */
export interface Follower {
  readonly name: string
  /** The types of events that it follows, sorted; null for a handler of notifications, whose name tells its event. */
  readonly types: readonly string[] | null
  /** Its handler has done all events of its types up to here. */
  readonly position: number
  /** Parked: its handler failed too often, and it waits for a person. */
  readonly isParked: boolean
  /** How often the next event was tried, and when it is tried again. */
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

/** Where every follower of the log stands, and which process has it. */
export class FollowerTable {
  readonly #connection: Connection
  readonly #lease: () => Lease

  /** `lease` tells who this process is, and the time. */
  constructor(connection: Connection, lease: () => Lease) {
    this.#connection = connection
    this.#lease = lease
  }

  /** Takes a follower for this process, or keeps it for longer; `undefined` while another one has it. */
  take(name: string): Promise<Follower | undefined> {
    return this.#connection.transact(() => take(name, this.#lease()))
  }

  /** Keeps a follower for longer. False once another process has had it: what it made of it is not known here. */
  keep(name: string): Promise<boolean> {
    const { owner, until } = this.#lease()
    return this.#change({ sql: keepOne, parameters: [until, name, owner] })
  }

  /** Reports whether a follower is still this process's, and where it was; takes it again if it is free. */
  async holds({ name, position }: Follower): Promise<boolean> {
    const lease = this.#lease()
    const row = await this.#connection.read(() =>
      first<FollowerRow>({ sql: selectFollower, parameters: [name] }),
    )
    const isOurs = row?.lease_owner === lease.owner && !isOver(row.lease_until, lease)
    const found = isOurs ? toFollower(row) : await this.take(name)
    return found?.position === position && !found.isParked
  }

  /** Moves a follower on, and keeps it for longer. False when it is no longer ours, or was moved meanwhile. */
  move({ name, position }: Follower, to: number): Promise<boolean> {
    const { owner, until } = this.#lease()
    return this.#change({ sql: moveOne, parameters: [to, until, name, owner, position] })
  }

  /**
   * Keeps the types of a follower, sorted, beside its place, which says what it has done of those alone. Types may be
   * dropped; events of an added type that lie before its place would be passed over in silence.
   *
   * @throws {AverbaError} `INVALID_INPUT` when it is past events of a type that it did not follow
   */
  async keepTypes(follower: Follower, types: readonly string[]): Promise<void> {
    if (hasTypes(follower, types)) return
    const { name, position, types: before } = follower
    const more = types.filter(type => !before?.includes(type))
    const first = more.length > 0 && position > 0 ? await this.next(0, more) : undefined
    if (first !== undefined && first <= position) {
      const cannot = `Cannot follow as "${name}": it is past events of types that it did not follow: ${more.join(', ')}`
      throw new AverbaError('INVALID_INPUT', cannot, {
        hint: 'Follow them under a name of their own, which begins with the log',
      })
    }
    const parameters = [JSON.stringify(types), name, this.#lease().owner, position]
    await this.#change({ sql: setTypes, parameters })
  }

  /**
   * Records at which event the handler failed, and when it is tried again; `null` parks it right before that event.
   * False as for `move`.
   */
  fail(follower: Follower, at: number, dueAt: Instant | null, reason: string): Promise<boolean> {
    const { name, position, attempts } = follower
    const isParked = dueAt === null ? 1 : 0
    const parameters = [at - 1, attempts + 1, dueAt, reason, isParked, name, this.#lease().owner, position]
    return this.#change({ sql: failOne, parameters })
  }

  /** Lets another process take a follower. */
  async release(name: string): Promise<void> {
    await this.#change({ sql: releaseOne, parameters: [name, this.#lease().owner] })
  }

  /** Finds the next event of some types, or of any, without reading it: it may be damaged. */
  async next(after: number, types?: readonly string[]): Promise<number | undefined> {
    const ofTypes = types ? `and ${oneOf('type', types)}` : ''
    const sql = `select position from event where position > ? and position <= ? ${ofTypes} order by position limit 1`
    const look = ({ above, upTo }: PositionWindow) =>
      column<number>({ sql, parameters: [above, upTo, ...(types ?? [])] })
    return (await search(this.#connection, { after, limit: 1 }, look)).found[0]
  }

  /** Lists every follower that ever existed, by name. */
  list(): Promise<Follower[]> {
    return this.#connection.read(function* (): Steps<Follower[]> {
      return (yield* rows<FollowerRow>({ sql: selectAll, parameters: [] })).map(toFollower)
    })
  }

  /** Finds a follower; `undefined` when nothing ever followed under the name. */
  find(name: string): Promise<Follower | undefined> {
    return this.#connection.read(function* (): Steps<Follower | undefined> {
      const row = yield* first<FollowerRow>({ sql: selectFollower, parameters: [name] })
      return row && toFollower(row)
    })
  }

  /** Lets a follower that is parked here go on: with the event that it failed at, or past it. False when it is not. */
  resume({ name, position }: Follower, how: 'again' | 'past'): Promise<boolean> {
    return this.#change({ sql: resumeOne, parameters: [how === 'past' ? 1 : 0, name, position] })
  }

  /** Reports whether there was something to change. */
  #change(statement: { sql: string; parameters: readonly unknown[] }): Promise<boolean> {
    return this.#connection.transact(function* (): Steps<boolean> {
      return (yield* first(statement)) !== undefined
    })
  }
}

/** A new one begins with the log. */
function* take(name: string, lease: Lease): Steps<Follower | undefined> {
  yield* rows({ sql: addFollower, parameters: [name] })
  const row = yield* first<FollowerRow>({ sql: selectFollower, parameters: [name] })
  if (!row || (row.lease_owner !== lease.owner && !isOver(row.lease_until, lease))) return undefined
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

/**
 * Reports whether some handler of an event has not passed the position yet; it may belong to another process, or to one
 * that is down.
 */
export function isAwaited(
  followers: readonly Pick<Follower, 'name' | 'position'>[],
  evento: string,
  position: number,
): boolean {
  const ofEvento = followerOf({ evento, name: '' })
  const isOf = (name: string) => name.startsWith(ofEvento) && !name.includes('/', ofEvento.length)
  return followers.some(each => isOf(each.name) && each.position < position)
}

/** Reports whether a follower follows these very types, which are sorted. */
export function hasTypes({ types }: Pick<Follower, 'types'>, others: readonly string[]): boolean {
  return types?.length === others.length && types.every((each, at) => each === others[at])
}
