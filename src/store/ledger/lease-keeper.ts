import { type Clock, cancelReason } from '../../runtime/clock.ts'
import { type Connection, each, type Steps } from '../database/connection.ts'
import type { Leasing } from './lease.ts'
import { type EffectAttempt, extendEffects } from './ledger.ts'

/** What a lease is on: an attempt at an effect, or a follower by name. */
export type Held = { readonly effect: EffectAttempt } | { readonly follower: string }

/** A call that takes longer hangs: another process may take it over. A handler may take as long as it needs. */
const attemptMaxMs = 5 * 60_000

/** Extends the leases of what this process works on, all in one transaction, until each is done. */
export class LeaseKeeper {
  readonly #connection: Connection
  readonly #clock: Clock
  readonly #leasing: Leasing
  /** Since when each is held. */
  readonly #held = new Map<Held, number>()
  #idle = new AbortController()
  #isClosed = false

  constructor(connection: Connection, clock: Clock, leasing: Leasing) {
    this.#connection = connection
    this.#clock = clock
    this.#leasing = leasing
  }

  /** Keeps a lease that this process has taken until the work ends. If it is lost, what the work records is refused. */
  async keep<T>(held: Held, work: () => Promise<T>): Promise<T> {
    this.#held.set(held, this.#clock.now())
    if (this.#held.size === 1 && !this.#isClosed) {
      this.#idle = new AbortController()
      void this.#extendAll(this.#idle.signal)
    }
    try {
      return await work()
    } finally {
      this.#held.delete(held)
      if (this.#held.size === 0) this.#idle.abort(cancelReason)
    }
  }

  /** Extends nothing any more: what is not done by now may be taken over. */
  close(): void {
    this.#isClosed = true
    this.#idle.abort(cancelReason)
  }

  async #extendAll(idle: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(this.#leasing.ms / 3, idle, 'the renewal of leases')
      if (idle.aborted) return
      await this.#connection.transact(() => this.#extend()).catch(() => undefined)
    }
  }

  *#extend(): Steps<void> {
    const lease = this.#leasing.begin()
    const now = this.#clock.now()
    const all = [...this.#held].flatMap(([held, since]) =>
      'follower' in held || now - since < attemptMaxMs ? [held] : [],
    )
    yield* extendEffects(
      all.flatMap(held => ('effect' in held ? [held.effect] : [])),
      lease,
    )
    const followers = all.flatMap(held => ('follower' in held ? [held.follower] : []))
    yield* each(extendFollower, followers, name => [lease.until, name, lease.owner])
  }
}

const extendFollower = 'update follower set lease_until = ? where name = ? and lease_owner = ?'
