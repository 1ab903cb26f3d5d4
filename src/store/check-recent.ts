import type { Faults } from '../proof/faults.ts'
import { rows, type Steps } from './connection.ts'
import { parseHeader } from './header.ts'
import type { Snapshot } from './snapshot.ts'

interface RecentRow {
  readonly position: number
  readonly at: string
  /** Absent where there is no such event. */
  readonly header: string | null
  /** The one before it. */
  readonly before: string | null
}

const pageRows = 500

/** Compares what was recorded a short while ago with its events. Which digest it has only its content could tell. */
export async function checkRecent(
  snapshot: Snapshot,
  faults: Faults,
  onPage: () => Promise<boolean>,
): Promise<void> {
  // A position that was tampered with may be below zero.
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

/** The time of the event, or an earlier one by a clock that had gone back: the log then stays at the time it had. */
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
