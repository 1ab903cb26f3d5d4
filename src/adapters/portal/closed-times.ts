import { z } from 'zod'
import type { Clock } from '../../runtime/clock.ts'
import { addDays, brasiliaDay, parseIso, startOfDay } from '../../vocabulary/brasilia.ts'
import { fromInstant, hourMs, isWaitOver } from '../../vocabulary/instant.ts'
import { parseJson } from '../../vocabulary/json.ts'
import type { DeferredOutcome } from '../../vocabulary/message.ts'
import { readProblem } from '../http/answer-body.ts'
import type { HttpAnswer } from '../http/exchange.ts'
import type { SharedText } from './shared-text.ts'

const windowSchema = z.object({ until: z.number(), reason: z.string() })

/** What is known: the nightly stop, and the blocks by operation, with how many there were on a day. */
const windowsSchema = z.object({
  stop: windowSchema.optional(),
  blocks: z.record(z.string(), windowSchema.extend({ day: z.string(), count: z.number() })),
})

type ClosedWindow = z.infer<typeof windowSchema>
type KnownWindows = z.infer<typeof windowsSchema>

/** Added to each end: neither clock is exact, and a call too early costs another hour. */
const marginMs = 60_000
/** The longest block and the nightly stop, in hours: a longer wait is not believed. */
const hoursMax = 3
const closedMaxMs = hoursMax * hourMs + marginMs

/** Too many calls within an hour. */
const blockCode = 'PUCX-ER1001'
const stopCodes: ReadonlySet<string> = new Set(['PUCX-ER0401', 'PUCX-ER0014'])

/**
 * Times when the portal answers no calls: publicly known, not in its contract. The portal reports them by a code, under
 * any status. Nothing is sent meanwhile, also after a restart: any call extends a block.
 *
 * - A function that is called too often is blocked for the rest of the hour, the second time on a day for one more
 *   hour, from the third time on for two more. Midnight in Brasilia ends all blocks.
 * - Every night the portal stops from 1 to 3 in Brasilia.
 */
export function createClosedTimes(clock: Clock, share: SharedText) {
  const defer = ({ until, reason }: ClosedWindow): DeferredOutcome => {
    return { status: 'deferred', reason, afterMs: until - clock.now() }
  }
  const change = (make: (times: KnownWindows) => KnownWindows) =>
    share.change(async text => JSON.stringify(make(readWindows(text))))

  /** Why an operation must not be sent now; `undefined` when it may be. */
  async function findClosed(operation: string): Promise<DeferredOutcome | undefined> {
    const now = clock.now()
    const { stop, blocks } = readWindows(await share.find())
    const closed = [stop, blocks[operation]].find(each => each && !isWaitOver(each.until, now, closedMaxMs))
    return closed && defer(closed)
  }

  /** Records the closed time that an answer reports, and defers the call; `undefined` when it reports none. */
  async function recordClosed(operation: string, { status, text }: HttpAnswer): Promise<DeferredOutcome | undefined> {
    if (!text.includes('PUCX-ER')) return undefined
    const { code } = readProblem(status, text)
    const now = clock.now()
    const day = brasiliaDay(now)
    if (code === blockCode) {
      let closed: ClosedWindow = { until: now, reason: '' }
      await change(({ stop, blocks }) => {
        const last = blocks[operation]
        const count = last?.day === day ? last.count + 1 : 1
        const hours = Math.min(count, hoursMax)
        const midnight = fromInstant(startOfDay(addDays(day, 1)) ?? '')
        // The hours of Brasilia begin at the same moments as those of UTC.
        const until = Math.min((Math.floor(now / hourMs) + hours) * hourMs, midnight) + marginMs
        const reason = `the portal has blocked this function for having been called too often (${code})`
        const block = { until, reason, day, count }
        closed = block
        return { stop, blocks: { ...blocks, [operation]: block } }
      })
      return defer(closed)
    }
    if (code === undefined || !stopCodes.has(code)) return undefined
    const end = fromInstant(parseIso(`${day}T03:00:00`) ?? '')
    const reason = `the portal stops at night (${code})`
    // At other times of the day the end is unknown: retry as after any failure.
    if (!(now < end)) return { status: 'deferred', reason }
    const stop = { until: end + marginMs, reason }
    await change(times => ({ ...times, stop }))
    return defer(stop)
  }

  return { findClosed, recordClosed }
}

export type ClosedTimes = ReturnType<typeof createClosedTimes>

function readWindows(text: string | undefined): KnownWindows {
  const kept = windowsSchema.safeParse(parseJson(text ?? ''))
  return kept.success ? kept.data : { blocks: {} }
}
