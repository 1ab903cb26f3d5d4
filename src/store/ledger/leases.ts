import type { Instant } from '../../vocabulary/message.ts'
import { type Connection, first, rows, type Steps } from '../database/connection.ts'

/** A process's claim on something, and until when no other process may take it. */
export interface Lease {
  readonly owner: string
  readonly now: Instant
  readonly until: Instant
  /** The latest end of a valid lease, given how far the clocks of processes that share a store may differ. */
  readonly latest: Instant
}

/**
 * Reports whether a lease is over. An end that lies too far in the future was set by a clock that was ahead and has
 * been corrected since: it counts as over, because it would last as long as that clock was ahead.
 */
export function isLeaseOver(until: Instant | null, { now, latest }: Pick<Lease, 'now' | 'latest'>): boolean {
  return until === null || until <= now || until > latest
}

/** Named leases for work that only one process of a file may do at a time, such as a login. */
export class Leases {
  readonly #connection: Connection
  readonly #lease: () => Lease

  /** `lease` makes a lease of this process that begins now. */
  constructor(connection: Connection, lease: () => Lease) {
    this.#connection = connection
    this.#lease = lease
  }

  /** Takes a lease, or extends it. False while another process holds it. */
  take(name: string): Promise<boolean> {
    const { owner, now, until, latest } = this.#lease()
    return this.#connection.transact(function* (): Steps<boolean> {
      const parameters = [name, owner, until, now, latest]
      return (yield* first({ sql: takeOne, parameters })) !== undefined
    })
  }

  /**
   * Tests whether the store is writable: inserts and deletes a row in one durable transaction.
   *
   * @throws {AverbaError} `STORE_UNSAFE`, `STORE_BUSY`, `CLOSED` when it is not
   */
  tryWriting(): Promise<void> {
    const { owner, until } = this.#lease()
    const name = `trial-${owner}`
    return this.#connection.transact(function* (): Steps<void> {
      yield* rows({ sql: takeOne, parameters: [name, owner, until, until, until] })
      yield* rows({ sql: releaseOne, parameters: [name, owner] })
    })
  }

  release(name: string): Promise<void> {
    const { owner } = this.#lease()
    return this.#connection.transact(function* (): Steps<void> {
      yield* rows({ sql: releaseOne, parameters: [name, owner] })
    })
  }
}

/** The same condition as `isLeaseOver`. */
const takeOne = `insert into lease (name, owner, until) values (?, ?, ?)
  on conflict (name) do update set owner = excluded.owner, until = excluded.until
  where lease.owner = excluded.owner or lease.until <= ? or lease.until > ?
  returning name`
const releaseOne = 'delete from lease where name = ? and owner = ?'
