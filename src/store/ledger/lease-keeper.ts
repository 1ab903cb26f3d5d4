import { type Clock, cancelReason, monotonicClock } from '../../runtime/clock.ts'
import { type Connection, each, rows, type Steps } from '../database/connection.ts'
import type { Leasing } from './lease.ts'
import { type EffectAttempt, extendEffects } from './ledger.ts'

/** What a lease is on: an attempt at an effect, a follower, or a named lease. */
export type Held = { readonly effect: EffectAttempt } | { readonly follower: string } | { readonly lease: string }

/** A call that takes longer hangs: another process may take it over. A handler may take as long as it needs. */
const attemptMaxMs = 5 * 60_000

/** Extends the leases of what this process works on until each is done: those of calls need the lock of the log. */
export class LeaseKeeper {
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #leasing: Leasing
  readonly #elapsedMs: () => number
  readonly #held = new Map<Held, number>()
  #idle: AbortController | undefined
  #isClosed = false

  constructor(connection: Connection, clock: Clock, leasing: Leasing) {
    this.#connection = connection
    this.#clock = clock
    this.#elapsedMs = monotonicClock(clock)
    this.#leasing = leasing
  }

  /** Keeps a lease that this process has taken until the work ends. If it is lost, what the work records is refused. */
  async keep<T>(held: Held, work: () => Promise<T>): Promise<T> {
    this.#held.set(held, this.#elapsedMs())
    if (!this.#idle && !this.#isClosed) {
      this.#idle = new AbortController()
      // Apart: what waits for the lock of the log holds up no other.
      void this.#extendAll(this.#idle.signal, 'calls')
      void this.#extendAll(this.#idle.signal, 'others')
    }
    try {
      return await work()
    } finally {
      this.#held.delete(held)
      if (this.#held.size === 0) this.#stop()
    }
  }

  /** Extends nothing any more: what is not done by now may be taken over. */
  close(): void {
    this.#isClosed = true
    this.#stop()
  }

  #stop(): void {
    this.#idle?.abort(cancelReason)
    this.#idle = undefined
  }

  async #extendAll(idle: AbortSignal, kind: 'calls' | 'others'): Promise<void> {
    const extend = () =>
      kind === 'calls'
        ? this.#connection.transact(() => this.#extendCalls())
        : this.#connection.transact(() => this.#extendOthers(), 'rows')
    for (;;) {
      await this.#clock.sleep(this.#leasing.ms / 3, idle, 'the renewal of leases')
      if (idle.aborted) return
      const isHeld = [...this.#held.keys()].some(held => 'effect' in held === (kind === 'calls'))
      if (isHeld) await extend().catch(() => undefined)
    }
  }

  *#extendCalls(): Steps<void> {
    yield* awaitAnswer()
    const now = this.#elapsedMs()
    const isKept = ([held, since]: [Held, number]) => 'effect' in held && now - since < attemptMaxMs
    const calls = [...this.#held].filter(isKept).flatMap(([held]) => ('effect' in held ? [held.effect] : []))
    yield* extendEffects(calls, this.#leasing.begin())
  }

  *#extendOthers(): Steps<void> {
    yield* awaitAnswer()
    const { owner, until } = this.#leasing.begin()
    const all = [...this.#held.keys()]
    const followers = all.flatMap(held => ('follower' in held ? [held.follower] : []))
    yield* each(extendFollower, followers, name => [until, name, owner])
    const leases = all.flatMap(held => ('lease' in held ? [held.lease] : []))
    yield* each(extendLease, leases, name => [until, name, owner])
  }
}

/** What follows late, after the connection was lost, finds a transaction that the server has ended. */
function* awaitAnswer(): Steps<void> {
  yield* rows({ sql: 'select 1', parameters: [] })
}

const extendLease = 'update lease set until = ? where name = ? and owner = ?'
const extendFollower = 'update follower set lease_until = ? where name = ? and lease_owner = ?'
