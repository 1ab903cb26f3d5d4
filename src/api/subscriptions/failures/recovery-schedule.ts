import { randomUpTo } from '../../../runtime/entropy.ts'
import { brasiliaDay, parseIso } from '../../../vocabulary/brasilia.ts'
import { dayMs, fromInstant, toInstant } from '../../../vocabulary/instant.ts'
import { portalStream } from '../../../vocabulary/names.ts'
import type { ApiContext } from '../../api-context.ts'
import type { DueItem } from '../../module.ts'
import { addressData } from '../portal-address.ts'
import { daysBetween, pendingDays } from './failures.ts'

/** After the portal's nightly stop, and not in the same minute in every process. */
const recoveryAt = '03:30:00'
const spreadMs = 3_600_000

/** Reads the portal's failure records and its list once a day. Of several processes only one gets something to do. */
export class RecoverySchedule {
  readonly #context: ApiContext
  readonly #spreadMs: number
  #recoveredDay = ''

  constructor(context: ApiContext) {
    this.#context = context
    this.#spreadMs = randomUpTo(context.entropy, spreadMs)
  }

  /**
   * When a process begins to run, there may have been no receiver since the log ended: the failures of every day since
   * then are read. Of processes that begin one after the other only the first gets to do it.
   */
  async begin(): Promise<void> {
    const { options, store, clock, engine } = this.#context
    const last = await store.readLast()
    // A log that has only begun has missed nothing.
    if (!options.receiver || !last || last.position === 1) return
    const now = toInstant(clock.now())
    const data = { reason: 'downtime', days: daysBetween(last.at, now), now }
    await engine.record(async () => {
      const message = { type: 'portal.recoverSoon', data: { ...data, waiting: await pendingDays(store) } }
      return { targets: [{ stream: portalStream, message }] }
    })
  }

  /**
   * Asks for the failures of every day that was not asked for since it ended, and for the list with its last successes.
   */
  async look(): Promise<void> {
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

  /** When the portal is next asked for its failures and its list. */
  next(): DueItem[] {
    const { options, clock } = this.#context
    const { portal, schedules = true } = options
    if (!portal || !schedules) return []
    const now = clock.now()
    const today = this.#recoveryOf(brasiliaDay(now))
    const at = toInstant(today > now ? today : this.#recoveryOf(brasiliaDay(now + dayMs)))
    return [{ what: 'recovery', at, id: portalStream }]
  }

  #recoveryOf(day: string): number {
    return fromInstant(parseIso(`${day}T${recoveryAt}`) ?? '') + this.#spreadMs
  }
}
