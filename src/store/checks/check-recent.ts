import type { Faults } from '../../proof/faults.ts'
import { rows, type Steps } from '../database/connection.ts'
import type { Snapshot } from '../database/snapshot.ts'
import { parseHeader } from '../log/header.ts'

interface RecentRow {
  readonly position: number
  readonly at: string
  readonly header: string | null
  readonly before: string | null
}

const digestsPerPage = 500

/** Compares recent digests with the times of their events. The content of the digests cannot be checked. */
export async function checkRecent(snapshot: Snapshot, faults: Faults, onPage: () => Promise<boolean>): Promise<void> {
  // A tampered position may be negative.
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const page = snapshot.run(() => readRecent(after))
    for (const row of page)
      if (!hasTimeOfEvent(row))
        faults.add(
          'index',
          `a recent digest names the event at ${row.position}, which does not exist or has another time`,
        )
    const last = page.at(-1)
    if (!last || !(await onPage())) return
    after = last.position
  }
}

/** Whether the time is the event's, or earlier because the clock was set back: the log's time never goes back. */
function hasTimeOfEvent({ at, header, before }: RecentRow): boolean {
  if (header === null) return false
  const event = parseHeader(header)
  if (event.at === at) return true
  return at < event.at && before !== null && parseHeader(before).at === event.at
}

function* readRecent(after: number): Steps<readonly RecentRow[]> {
  return yield* rows({ sql: selectRecent, parameters: [after] })
}

const selectRecent = `select recent.position, recent.at, event.header, earlier.header as before
  from recent_digest as recent left join event on event.position = recent.position
  left join event as earlier on earlier.position = recent.position - 1
  where recent.position > ? order by recent.position limit ${digestsPerPage}`
