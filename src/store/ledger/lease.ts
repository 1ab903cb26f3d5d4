import { type Clock, systemClock } from '../../runtime/clock.ts'
import { clocksDifferMaxMs, fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { Connection } from '../database/connection.ts'

/** A process's claim on something, and until when no other process may take it. */
export interface Lease {
  readonly owner: string
  /** The time of the host, by which calls are due. */
  readonly at: Instant
  /** The time by which leases end: the host's, or that of the server of the database. */
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

/** When the clock of the host shows the end of a lease. */
export function hostTimeOf(until: Instant, { at, now }: Pick<Lease, 'at' | 'now'>): number {
  return fromInstant(until) - fromInstant(now) + fromInstant(at)
}

/** On one machine, where a process that stands still may be one whose machine sleeps. */
const fileLeaseMs = 60_000
/** Among machines, where the work of a dead process must go on soon. */
const serverLeaseMs = 10_000
const serverLagMs = 1_000

/**
 * Makes the leases of a process. Machines that share a server share its time, whatever their own clocks say. Where a
 * host has its own clock, as in a simulation, that is everybody's.
 */
export class Leasing {
  /** How long a lease lasts unless it is extended. */
  readonly ms: number
  /** How far behind the time of the server may be that this process counts on. */
  readonly lagMs: number
  readonly owner: string
  readonly #clock: Clock
  readonly #serverTime: (() => number) | undefined

  constructor(owner: string, clock: Clock, { serverTime }: Pick<Connection, 'serverTime'>) {
    this.owner = owner
    this.#clock = clock
    this.#serverTime = clock === systemClock ? serverTime : undefined
    this.ms = this.#serverTime ? serverLeaseMs : fileLeaseMs
    this.lagMs = this.#serverTime ? serverLagMs : 0
  }

  begin(at = this.#clock.now()): Lease {
    const now = this.#serverTime?.() ?? at
    const [until, latest] = [now + this.ms, now + this.ms + clocksDifferMaxMs]
    return { owner: this.owner, ...toInstants({ at, now, until, latest }) }
  }

  /** How far the host's clock is from the server's time, in words, if by more than some milliseconds. */
  clockFault(allowedMs: number): string | undefined {
    const aheadMs = this.#serverTime ? this.#clock.now() - this.#serverTime() : 0
    if (Math.abs(aheadMs) <= allowedMs) return undefined
    const seconds = Math.round(Math.abs(aheadMs) / 1_000)
    return `the clock of this machine is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of the log's server`
  }
}

function toInstants<K extends string>(times: Record<K, number>): Record<K, Instant> {
  const entries = Object.entries<number>(times).map(([name, ms]) => [name, toInstant(ms)])
  return Object.fromEntries(entries) as Record<K, Instant> // The same names.
}
