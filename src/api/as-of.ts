import { positionBefore } from '../store/log/read.ts'
import type { ViewBound } from '../store/views/view-reader.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { fromInstant, nearNowMs, toInstant } from '../vocabulary/instant.ts'
import type { Instant } from '../vocabulary/message.ts'
import type { ApiContext } from './api-context.ts'
import { checkInstant, checkPosition } from './arguments.ts'

type AsOfContext = Pick<ApiContext, 'store' | 'clock'>

/**
 * Finds the last position that was known at an instant, and its own instant. A past instant is looked up by the events'
 * times. An instant of about now means the end of the log, also when the log's times are ahead because the clock was.
 * Throws `INVALID_INPUT` when it is neither an instant nor a position, or lies in the future.
 */
export async function resolveKnownAt({ store, clock }: AsOfContext, knownAt: Instant | number) {
  const end = await store.readLast()
  const last = { position: end?.position ?? 0, at: end?.at ?? toInstant(clock.now()) }
  if (typeof knownAt === 'number') {
    checkPosition(knownAt, 'knownAt')
    if (knownAt > last.position) throw futureError('knownAt', `The log ends at ${last.position}`)
    // Position 0 has no event and so no time.
    return { position: knownAt, at: (await store.readAt(knownAt))?.at ?? last.at }
  }
  await checkNotFuture({ store, clock }, knownAt, 'knownAt')
  const [atMs, now] = [fromInstant(knownAt), clock.now()]
  const isAhead = fromInstant(last.at) > now
  const isNow = atMs >= now || (isAhead && atMs >= now - nearNowMs)
  if (isNow) return { position: last.position, at: knownAt }
  return { position: await store.database.read(() => positionBefore(store.headers, toInstant(atMs + 1))), at: knownAt }
}

/** Checks that an instant is not in the future, by our clock or by the log's last event. Throws `INVALID_INPUT`. */
export async function checkNotFuture({ store, clock }: AsOfContext, at: Instant, what: string): Promise<void> {
  checkInstant(at, what)
  if (fromInstant(at) <= clock.now() + nearNowMs) return
  const end = await store.readLast()
  if (end && at <= end.at) return
  throw futureError(what, 'Give an instant in the past: by our clock this one is in the future')
}

/** Checks the bound of a view: a position, an instant or both, within the log. Throws `INVALID_INPUT`. */
export async function checkAsOf(log: AsOfContext, { position, at }: ViewBound): Promise<void> {
  if (position === undefined && at === undefined)
    throw new AverbaError('INVALID_INPUT', 'Cannot show a view: neither a position nor an instant is given', {
      hint: 'Give { position } or { at }; for the current rows use views',
    })
  if (position !== undefined) {
    checkPosition(position, 'position')
    const end = (await log.store.readLast())?.position ?? 0
    if (position > end) throw futureError('position', `The log ends at ${end}`)
  }
  if (at !== undefined) await checkNotFuture(log, at, 'at')
}

function futureError(what: string, hint: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot use "${what}": it is in the future`, { hint })
}
