import { positionBefore } from '../store/log/position-before.ts'
import type { Store } from '../store/store.ts'
import type { ViewBound } from '../store/views/rebuilder.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { fromInstant, nearNowMs, toInstant } from '../vocabulary/instant.ts'
import type { Instant } from '../vocabulary/message.ts'
import type { ApiContext } from './api-context.ts'
import { checkInstant, checkPosition } from './arguments.ts'

/** Up to which position of the log what is recorded counts as known, and the instant that it stands for. */
export interface KnownUntil {
  readonly position: number
  readonly at: Instant
}

type Log = Pick<ApiContext, 'store' | 'clock'>

/**
 * Finds up to where the log was known. An instant that has passed is looked for in the log's own times; one still to
 * come means the log's end. So does one of about now where the log's times are ahead, as they stay after a clock was.
 *
 * @throws {AverbaError} `INVALID_INPUT` when it is neither an instant nor a position, or has not come yet
 */
export async function knownUntil({ store, clock }: Log, knownAt: Instant | number): Promise<KnownUntil> {
  const end = await store.readLast()
  const last = { position: end?.position ?? 0, at: end?.at ?? toInstant(clock.now()) }
  if (typeof knownAt === 'number') {
    checkPosition(knownAt, 'knownAt')
    if (knownAt > last.position) throw notCome('knownAt', `The log ends at ${last.position}`)
    return knownAt < last.position ? timed(store, knownAt, last.at) : last
  }
  await checkCome({ store, clock }, knownAt, 'knownAt')
  const [asked, now] = [fromInstant(knownAt), clock.now()]
  const isAhead = fromInstant(last.at) > now
  const isNow = asked >= now || (isAhead && asked >= now - nearNowMs)
  if (isNow) return { position: last.position, at: knownAt }
  return { position: await store.reader.read(() => positionBefore(toInstant(asked + 1))), at: knownAt }
}

/**
 * Checks an instant that is asked about: it must have come, by our clock or by the log.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export async function checkCome({ store, clock }: Log, at: Instant, what: string): Promise<void> {
  checkInstant(at, what)
  if (fromInstant(at) <= clock.now() + nearNowMs) return
  const end = await store.readLast()
  if (end && at <= end.at) return
  throw notCome(
    what,
    'By our clock it is in the future, of which nothing is known. Give an instant that has passed',
  )
}

/**
 * Checks what part of the log a view is asked of: a position or an instant, or both, that have come.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export async function checkAsOf(log: Log, { position, at }: ViewBound): Promise<void> {
  if (position === undefined && at === undefined) {
    throw new AverbaError('INVALID_INPUT', 'Cannot show a view: neither a position nor an instant is given', {
      hint: 'Give { position } or { at }; views has the rows of now',
    })
  }
  if (position !== undefined) {
    checkPosition(position, 'position')
    const end = (await log.store.readLast())?.position ?? 0
    if (position > end) throw notCome('position', `The log ends at ${end}`)
  }
  if (at !== undefined) await checkCome(log, at, 'at')
}

function notCome(what: string, hint: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot use "${what}": it has not come yet`, { hint })
}

/** Before the first event the log has no time of its own. */
async function timed(store: Store, position: number, otherwise: Instant): Promise<KnownUntil> {
  return { position, at: (await store.readAt(position))?.at ?? otherwise }
}
