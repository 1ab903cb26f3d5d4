import { randomUpTo } from '../../../runtime/entropy.ts'
import { brasiliaDay, parseIso } from '../../../vocabulary/brasilia.ts'
import { dayMs, fromInstant, toInstant } from '../../../vocabulary/instant.ts'
import { portalStream } from '../../../vocabulary/names.ts'
import type { ApiContext } from '../../api-context.ts'
import type { DueItem } from '../../module.ts'
import { addressData } from '../portal-address.ts'
import { daysBetween, hastenRecovery } from './failures.ts'

/** After the portal's nightly stop; spread, so that processes do not start in the same minute. */
const recoveryAt = '03:30:00'
const spreadMs = 3_600_000

/** Requests the portal's failure records and its list once a day, in one of several processes. */
export class RecoverySchedule {
  readonly #context: ApiContext
  readonly #spreadMs: number
  #recoveredDay = ''

  constructor(context: ApiContext) {
    this.#context = context
    this.#spreadMs = randomUpTo(context.entropy, spreadMs)
  }

  /**
   * Requests the failures of every day since the last event: there may have been no receiver since then. Of several
   * starting processes only the first requests them.
   */
  async begin(): Promise<void> {
    const { options, store, clock, engine } = this.#context
    const last = await store.readLast()
    // A new log has missed nothing.
    if (!options.receiver || !last || last.position === 1) return
    const now = toInstant(clock.now())
    const asked = { reason: 'downtime', days: daysBetween(last.at, now), now } as const
    await engine.record(async () => ({ targets: [await hastenRecovery(store, asked)] }))
  }

  /** Requests the failures of every day not requested since it ended, and the list with the last successes. */
  async runDue(): Promise<void> {
    const { clock, engine, store, options } = this.#context
    const now = clock.now()
    const today = brasiliaDay(now)
    const day = this.#recoveryOf(today) <= now ? today : brasiliaDay(now - dayMs)
    if (day === this.#recoveredDay) return
    const began = await store.readAt(1)
    const since = brasiliaDay(began ? fromInstant(began.at) : now)
    const message = { type: 'portal.recover', data: { day, today, since, ...addressData(options.portal) } }
    await engine.record(async () => ({ targets: [{ stream: portalStream, message }] }))
    this.#recoveredDay = day
  }

  next(): DueItem[] {
    const { portal, schedules = true } = this.#context.options
    if (!portal || !schedules) return []
    return [{ what: 'recovery', at: toInstant(this.nextAt()), id: portalStream }]
  }

  nextAt(): number {
    const now = this.#context.clock.now()
    const today = this.#recoveryOf(brasiliaDay(now))
    return today > now ? today : this.#recoveryOf(brasiliaDay(now + dayMs))
  }

  #recoveryOf(day: string): number {
    return fromInstant(parseIso(`${day}T${recoveryAt}`) ?? '') + this.#spreadMs
  }
}
