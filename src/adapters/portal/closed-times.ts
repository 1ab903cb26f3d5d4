import { z } from 'zod'
import { type Clock, fromInstant } from '../../clock.ts'
import type { Outcome } from '../../message.ts'
import { brasiliaDay, readIso } from '../brasilia.ts'
import type { Answer } from '../exchange.ts'
import { parseJson } from '../json.ts'
import { readProblem } from '../problem.ts'
import type { SessionShare } from './shared-session.ts'

type Deferred = Extract<Outcome, { status: 'deferred' }>

const closed = z.object({ until: z.number(), because: z.string() })

/** What is known: the stop of the night, and the blocks by operation, with how many there were on a day. */
const known = z.object({
  stop: closed.optional(),
  blocks: z.record(z.string(), closed.extend({ day: z.string(), count: z.number() })),
})

type Closed = z.infer<typeof closed>
type Known = z.infer<typeof known>

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Neither clock is exact, and to come too early costs another hour. */
const marginMs = 60_000

/** Over the number of calls that the portal allows within an hour. */
const blockCode = 'PUCX-ER1001'
/** The stop of every night. */
const stopCodes: ReadonlySet<string> = new Set(['PUCX-ER0401', 'PUCX-ER0014'])

/** Where it is kept what is known. */
type Share = Pick<SessionShare, 'find' | 'keep'>

/**
 * The times in which the portal is publicly known to answer nothing: none of this is in its contract. It says so by a
 * code, under any status. Until such a time is over nothing is sent: what comes meanwhile lengthens a block.
 *
 * - Over its number of calls a function is blocked for the rest of the hour; the second time on a day for an hour
 *   more, from the third on for two; midnight in Brasilia ends all blocks.
 * - Every night the portal stops from 1 to 3 in Brasilia.
 *
 * What is known is shared, with the processes of a store and with those that come after a restart: to ask once more
 * would lengthen a block.
 */
export class ClosedTimes {
  readonly #clock: Clock
  readonly #share: Share

  constructor(clock: Clock, share: Share) {
    this.#clock = clock
    this.#share = share
  }

  /** Why an operation is not to be sent now; `undefined` when it may. */
  async before(operation: string): Promise<Deferred | undefined> {
    const now = this.#clock.now()
    const { stop, blocks } = await this.#known()
    const closed = [stop, blocks[operation]].find(each => each && each.until > now)
    return closed && this.#deferred(closed)
  }

  /** What an answer says about the times; `undefined` when it is about something else. */
  async after(operation: string, { status, text }: Answer): Promise<Deferred | undefined> {
    if (!text.includes('PUCX-ER')) return undefined
    const { code } = readProblem(status, text)
    const now = this.#clock.now()
    const day = brasiliaDay(now)
    if (code === blockCode) {
      const { stop, blocks } = await this.#known()
      const last = blocks[operation]
      const count = last?.day === day ? last.count + 1 : 1
      const hours = Math.min(count, 3)
      // The hours of Brasilia begin with those of UTC.
      const until = Math.min((Math.floor(now / hourMs) + hours) * hourMs, midnightAfter(now)) + marginMs
      const because = `the portal has blocked this function for having been called too often (${code})`
      const closed = { until, because, day, count }
      await this.#keep({ stop, blocks: { ...blocks, [operation]: closed } })
      return this.#deferred(closed)
    }
    if (code === undefined || !stopCodes.has(code)) return undefined
    const end = fromInstant(readIso(`${day}T03:00:00`) ?? '')
    const because = `the portal stops at night (${code})`
    // At another time of the day nobody knows how long it lasts: then it is tried again as anything else.
    if (!(now < end)) return { status: 'deferred', because }
    const stop = { until: end + marginMs, because }
    await this.#keep({ ...(await this.#known()), stop })
    return this.#deferred(stop)
  }

  async #known(): Promise<Known> {
    const kept = known.safeParse(parseJson((await this.#share.find()) ?? ''))
    return kept.success ? kept.data : { blocks: {} }
  }

  #keep(times: Known): Promise<void> {
    return this.#share.keep(JSON.stringify(times))
  }

  #deferred({ until, because }: Closed): Deferred {
    return { status: 'deferred', because, afterMs: until - this.#clock.now() }
  }
}

function midnightAfter(now: number): number {
  const tomorrow = brasiliaDay(fromInstant(readIso(`${brasiliaDay(now)}T12:00:00`) ?? '') + dayMs)
  return fromInstant(readIso(`${tomorrow}T00:00:00`) ?? '')
}
