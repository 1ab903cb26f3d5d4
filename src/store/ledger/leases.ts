import type { Instant } from '../../vocabulary/message.ts'
import { type Connection, first, rows, type Steps } from '../database/connection.ts'

/** Who wants something for itself, and until when nobody else may have it. */
export interface Lease {
  readonly owner: string
  readonly now: Instant
  readonly until: Instant
  /** No lease ends later than this, however much the clocks of processes that share a store differ. */
  readonly latest: Instant
}

/**
 * Whether a lease no longer keeps others off: its end has come, or lies so far ahead that it came from a clock that was
 * ahead and has been put right since. Otherwise it would last for as long as that clock was ahead.
 */
export function isOver(until: Instant | null, { now, latest }: Pick<Lease, 'now' | 'latest'>): boolean {
  return until === null || until <= now || until > latest
}

/** What only one process of a file does at a time, such as logging in somewhere. Disposable. */
export class Leases {
  readonly #connection: Connection
  readonly #lease: () => Lease

  /** `lease` tells who this process is, and the time. */
  constructor(connection: Connection, lease: () => Lease) {
    this.#connection = connection
    this.#lease = lease
  }

  /** Takes a lease, or keeps it for longer. False while another process has it. */
  take(name: string): Promise<boolean> {
    const { owner, now, until, latest } = this.#lease()
    return this.#connection.transact(function* (): Steps<boolean> {
      const parameters = [name, owner, until, now, latest]
      return (yield* first({ sql: takeOne, parameters })) !== undefined
    })
  }

  /**
   * Writes a row and takes it away again, in one durable transaction.
   *
   * @throws {AverbaError} `STORE_UNSAFE`, `STORE_BUSY`, `CLOSED` when nothing can be written
   */
  tryWriting(): Promise<void> {
    const { owner, until } = this.#lease()
    const name = `trial-${owner}`
    return this.#connection.transact(function* (): Steps<void> {
      yield* rows({ sql: takeOne, parameters: [name, owner, until, until, until] })
      yield* rows({ sql: releaseOne, parameters: [name, owner] })
    })
  }

  /** Lets another process take it. */
  release(name: string): Promise<void> {
    const { owner } = this.#lease()
    return this.#connection.transact(function* (): Steps<void> {
      yield* rows({ sql: releaseOne, parameters: [name, owner] })
    })
  }
}

/** As `isOver` says it. */
const takeOne = `insert into lease (name, owner, until) values (?, ?, ?)
  on conflict (name) do update set owner = excluded.owner, until = excluded.until
  where lease.owner = excluded.owner or lease.until <= ? or lease.until > ?
  returning name`
const releaseOne = 'delete from lease where name = ? and owner = ?'
