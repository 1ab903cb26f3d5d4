import type { Instant } from '../../vocabulary/message.ts'
import { first, type Steps } from '../database/connection.ts'
import { parseHeader } from './header.ts'

/**
 * Finds the position of the last event recorded before an instant; 0 without such an event. Uses a binary search,
 * because times never decrease along the log.
 */
export function* positionBefore(instant: Instant): Steps<number> {
  let [low, high] = [0, yield* endOfLog()]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((yield* timeAt(middle)) < instant) low = middle
    else high = middle - 1
  }
  return low
}

/** Reads the time of an event; empty when there is no event at the position. */
export function* timeAt(position: number): Steps<Instant> {
  const event = yield* first<{ header: string }>({ sql: selectHeader, parameters: [position] })
  return event ? parseHeader(event.header).at : ''
}

const selectHeader = 'select header from event where position = ?'

/** Reads the position of the newest event, which is the number of events. */
export function* endOfLog(): Steps<number> {
  return (yield* first<{ position: number }>({ sql: selectEnd, parameters: [] }))?.position ?? 0
}
const selectEnd = 'select coalesce(max(position), 0) as position from event'
