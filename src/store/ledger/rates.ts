import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { type Connection, first, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { hostTimeOf, type Lease, type Leasing } from './lease.ts'

/** Turns of a rate. They may be used once the wait is over. */
export interface Granted {
  readonly turns: number
  readonly waitMs: number
}

/** How fast calls to each service begin, and until when none may: one budget for all processes of the log. */
export class Rates {
  readonly #connection: Connection
  readonly #leasing: Leasing

  constructor(connection: Connection, leasing: Leasing) {
    this.#connection = connection
    this.#leasing = leasing
  }

  /** Takes up to so many turns of a service. What was left of a second may be taken at once. */
  take(service: string, wanted: number, perSecond: number): Promise<Granted> {
    return this.#connection.transact(() => takeTurns(service, { wanted, perSecond }, this.#leasing.begin()), 'rows')
  }

  /** Keeps all processes from calling a service for some time, unless they wait longer already by a clock like ours. */
  async close(service: string, ms: number): Promise<void> {
    const { now, latest } = this.#leasing.begin()
    const closed_until = toInstant(fromInstant(now) + ms)
    const insert = db.insertInto('rate').values({ service, spent_until: 0, closed_until })
    const upsert = insert.onConflict(on =>
      on
        .column('service')
        .doUpdateSet({ closed_until })
        .where(eb => eb.or([eb('rate.closed_until', '<', closed_until), eb('rate.closed_until', '>', latest)])),
    )
    await this.#connection.transact(() => rows(upsert), 'rows')
  }

  /** The services that want no calls, and until when by the host's clock. */
  async pauses(): Promise<ReadonlyMap<string, Instant>> {
    const lease = this.#leasing.begin()
    const closed = db.selectFrom('rate').select(['service', 'closed_until'])
    const now = closed.where('closed_until', '>', lease.now).where('closed_until', '<=', lease.latest)
    const found = await this.#connection.read(() => rows(now))
    return new Map(found.map(each => [each.service, toInstant(hostTimeOf(each.closed_until, lease))]))
  }
}

/** Takes what the time since the last turns allows, or else reserves the next one: processes come in order. */
function* takeTurns(
  service: string,
  { wanted, perSecond }: { wanted: number; perSecond: number },
  lease: Lease,
): Steps<Granted> {
  // Locks the row until the end of the transaction.
  const insert = db.insertInto('rate').values({ service, spent_until: 0, closed_until: '' })
  const locked = insert.onConflict(on => on.column('service').doUpdateSet({ service })).returning('spent_until')
  const { spent_until = 0 } = (yield* first(locked)) ?? {}
  const now = fromInstant(lease.now) * 1_000
  const turn = 1_000_000 / perSecond
  const since = Math.min(now - spent_until, Math.max(1, perSecond) * turn)
  // No fleet reserves so many turns: a clock was ahead.
  const left = since < -reservedMax * turn - 1_000_000 ? 0 : since
  const turns = Math.min(wanted, Math.max(1, Math.floor(left / turn + roundingError)))
  const update = db.updateTable('rate').set({ spent_until: Math.round(now - left + turns * turn) })
  yield* rows(update.where('service', '=', service))
  return { turns, waitMs: Math.max(0, Math.ceil((turn - left) / 1_000 - roundingError)) }
}

const reservedMax = 64
const roundingError = 1e-6
