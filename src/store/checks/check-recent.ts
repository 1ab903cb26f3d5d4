import type { Faults } from '../../proof/faults.ts'
import { rows, type Steps } from '../database/connection.ts'
import type { Snapshot } from '../database/snapshot.ts'
import { parseHeader } from '../log/header.ts'

interface RecentRow {
  readonly position: number
  readonly at: string
  /** Null where there is no such event. */
  readonly header: string | null
  /** The header of the event before it. */
  readonly before: string | null
}

const pageRows = 500

/** Compares recent digests with their events. Whether a digest is right only the content could tell. */
export async function checkRecent(
  snapshot: Snapshot,
  faults: Faults,
  onPage: () => Promise<boolean>,
): Promise<void> {
  // A tampered position may be below zero.
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const page = snapshot.run(() => readRecent(after))
    for (const row of page)
      if (!isOfItsTime(row))
        faults.add(
          'index',
          `a recent digest stands for an event at ${row.position}, which is not there or of another time`,
        )
    const last = page.at(-1)
    if (!last || !(await onPage())) return
    after = last.position
  }
}

/** The time of the event, or an earlier one if the clock had gone back: the log then keeps its own time. */
function isOfItsTime({ at, header, before }: RecentRow): boolean {
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
  where recent.position > ? order by recent.position limit ${pageRows}`
