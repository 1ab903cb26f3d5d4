import { type Clock, fromInstant } from '../../clock.ts'
import type { Outcome } from '../../message.ts'
import { brasiliaDay, readIso } from '../brasilia.ts'
import type { Answer } from '../exchange.ts'
import { readProblem } from '../problem.ts'

type Deferred = Extract<Outcome, { status: 'deferred' }>

interface Closed {
  readonly until: number
  readonly because: string
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Neither clock is exact, and to come too early costs another hour. */
const marginMs = 60_000

/** Over the number of calls that the portal allows within an hour. */
const blockCode = 'PUCX-ER1001'
/** The stop of every night. */
const stopCodes: ReadonlySet<string> = new Set(['PUCX-ER0401', 'PUCX-ER0014'])

/**
 * The times in which the portal is publicly known to answer nothing: none of this is in its contract. It says so by a
 * code, under any status. Until such a time is over nothing is sent: what comes meanwhile lengthens a block.
 *
 * - Over its number of calls a function is blocked for the rest of the hour; the second time on a day for an hour
 *   more, from the third on for two; midnight in Brasilia ends all blocks.
 * - Every night the portal stops from 1 to 3 in Brasilia.
 *
 * What is known is kept in memory: after a restart the portal says it once more.
 */
export class ClosedTimes {
  readonly #clock: Clock
  readonly #blocks = new Map<string, Closed & { readonly day: string; readonly count: number }>()
  #stop: Closed | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Why an operation is not to be sent now; `undefined` when it may. */
  before(operation: string): Deferred | undefined {
    const now = this.#clock.now()
    const closed = [this.#stop, this.#blocks.get(operation)].find(each => each && each.until > now)
    return closed && this.#deferred(closed)
  }

  /** What an answer says about the times; `undefined` when it is about something else. */
  after(operation: string, { status, text }: Answer): Deferred | undefined {
    if (!text.includes('PUCX-ER')) return undefined
    const { code } = readProblem(status, text)
    const now = this.#clock.now()
    const day = brasiliaDay(now)
    if (code === blockCode) {
      const known = this.#blocks.get(operation)
      const count = known?.day === day ? known.count + 1 : 1
      const hours = Math.min(count, 3)
      // The hours of Brasilia begin with those of UTC.
      const until = Math.min((Math.floor(now / hourMs) + hours) * hourMs, midnightAfter(now)) + marginMs
      const because = `the portal has blocked this function for having been called too often (${code})`
      const closed = { until, because, day, count }
      this.#blocks.set(operation, closed)
      return this.#deferred(closed)
    }
    if (code === undefined || !stopCodes.has(code)) return undefined
    const end = fromInstant(readIso(`${day}T03:00:00`) ?? '')
    const because = `the portal stops at night (${code})`
    // At another time of the day nobody knows how long it lasts: then it is tried again as anything else.
    if (!(now < end)) return { status: 'deferred', because }
    this.#stop = { until: end + marginMs, because }
    return this.#deferred(this.#stop)
  }

  #deferred({ until, because }: Closed): Deferred {
    return { status: 'deferred', because, afterMs: until - this.#clock.now() }
  }
}

function midnightAfter(now: number): number {
  const tomorrow = brasiliaDay(fromInstant(readIso(`${brasiliaDay(now)}T12:00:00`) ?? '') + dayMs)
  return fromInstant(readIso(`${tomorrow}T00:00:00`) ?? '')
}
