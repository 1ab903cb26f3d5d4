import { z } from 'zod'
import type { Clock } from '../../runtime/clock.ts'
import { brasiliaDay, parseIso } from '../../vocabulary/brasilia.ts'
import { dayMs, fromInstant, hourMs, isWaitOver } from '../../vocabulary/instant.ts'
import { parseJson } from '../../vocabulary/json.ts'
import type { AttemptOutcome } from '../../vocabulary/message.ts'
import type { HttpAnswer } from '../http/exchange.ts'
import { readProblem } from '../http/problem.ts'
import type { SharedText } from './shared-text.ts'

type DeferredOutcome = Extract<AttemptOutcome, { status: 'deferred' }>

const closed = z.object({ until: z.number(), reason: z.string() })

/** What is known: the stop of the night, and the blocks by operation, with how many there were on a day. */
const known = z.object({
  stop: closed.optional(),
  blocks: z.record(z.string(), closed.extend({ day: z.string(), count: z.number() })),
})

type ClosedWindow = z.infer<typeof closed>
type KnownWindows = z.infer<typeof known>

/** Neither clock is exact, and coming too early costs another hour. */
const marginMs = 60_000
/** Blocks by how often there was one on a day, and the stop of the night: none lasts longer. */
const hoursMax = 3
const closedMaxMs = hoursMax * hourMs + marginMs

/** More calls than the portal allows within an hour. */
const blockCode = 'PUCX-ER1001'
/** The nightly stop. */
const stopCodes: ReadonlySet<string> = new Set(['PUCX-ER0401', 'PUCX-ER0014'])

/**
 * The times in which the portal, as is publicly known, answers nothing: none of this is in its contract. It says so by
 * a code, under any status. Until such a time is over nothing is sent: any call meanwhile lengthens a block.
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
  readonly #share: SharedText

  constructor(clock: Clock, share: SharedText) {
    this.#clock = clock
    this.#share = share
  }

  /** Why an operation must not be sent now; `undefined` when it may be. */
  async before(operation: string): Promise<DeferredOutcome | undefined> {
    const now = this.#clock.now()
    const { stop, blocks } = knownIn(await this.#share.find())
    const closed = [stop, blocks[operation]].find(each => each && !isWaitOver(each.until, now, closedMaxMs))
    return closed && this.#deferred(closed)
  }

  /** What an answer says about these times; `undefined` when it is about something else. */
  async after(operation: string, { status, text }: HttpAnswer): Promise<DeferredOutcome | undefined> {
    if (!text.includes('PUCX-ER')) return undefined
    const { code } = readProblem(status, text)
    const now = this.#clock.now()
    const day = brasiliaDay(now)
    if (code === blockCode) {
      let closed: ClosedWindow = { until: now, reason: '' }
      await this.#change(({ stop, blocks }) => {
        const last = blocks[operation]
        const count = last?.day === day ? last.count + 1 : 1
        const hours = Math.min(count, hoursMax)
        // The hours of Brasilia begin together with those of UTC.
        const until = Math.min((Math.floor(now / hourMs) + hours) * hourMs, midnightAfter(now)) + marginMs
        const reason = `the portal has blocked this function for having been called too often (${code})`
        const block = { until, reason, day, count }
        closed = block
        return { stop, blocks: { ...blocks, [operation]: block } }
      })
      return this.#deferred(closed)
    }
    if (code === undefined || !stopCodes.has(code)) return undefined
    const end = fromInstant(parseIso(`${day}T03:00:00`) ?? '')
    const reason = `the portal stops at night (${code})`
    // At any other time of the day nobody knows how long it lasts: it is tried again like anything else.
    if (!(now < end)) return { status: 'deferred', reason }
    const stop = { until: end + marginMs, reason }
    await this.#change(times => ({ ...times, stop }))
    return this.#deferred(stop)
  }

  #change(make: (times: KnownWindows) => KnownWindows): Promise<unknown> {
    return this.#share.change(async text => JSON.stringify(make(knownIn(text))))
  }

  #deferred({ until, reason }: ClosedWindow): DeferredOutcome {
    return { status: 'deferred', reason, afterMs: until - this.#clock.now() }
  }
}

function knownIn(text: string | undefined): KnownWindows {
  const kept = known.safeParse(parseJson(text ?? ''))
  return kept.success ? kept.data : { blocks: {} }
}

function midnightAfter(now: number): number {
  const tomorrow = brasiliaDay(fromInstant(parseIso(`${brasiliaDay(now)}T12:00:00`) ?? '') + dayMs)
  return fromInstant(parseIso(`${tomorrow}T00:00:00`) ?? '')
}
