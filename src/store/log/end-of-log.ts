import { first, type Steps } from '../database/connection.ts'

/** The position of the newest event: how many there are. */
export function* endOfLog(): Steps<number> {
  return (yield* first<{ position: number }>({ sql: selectEnd, parameters: [] }))?.position ?? 0
}

const selectEnd = 'select coalesce(max(position), 0) as position from event'
