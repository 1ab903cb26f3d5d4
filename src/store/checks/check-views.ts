import type { Faults } from '../../proof/faults.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import { rows, type Steps } from '../database/connection.ts'
import type { Snapshot } from '../database/snapshot.ts'
import type { HeaderReader } from '../log/header.ts'
import { readPage } from '../log/read.ts'
import { compareRows, RowDifferences } from '../views/compare-rows.ts'
import { readProgressOf } from '../views/projector.ts'
import { createViewTable, foldOne, type ViewRow, ViewTable } from '../views/view-table.ts'
import type { OnPage } from './check-log.ts'

/** How many rows are held before they are written, which bounds the memory of a check. */
const rowsMax = 20_000

/** A view that is built again in a temporary table. */
interface BuiltView {
  readonly view: View
  readonly table: ViewTable
  readonly changed: Map<string, ViewRow | undefined>
  /** The position of the event that it fails at. That is a fault of the view, not of the log. */
  failsAt?: number
}

/** Folds the whole log into every running view again, in one pass, and compares the rows. */
export async function checkViews(
  snapshot: Snapshot,
  views: readonly View[],
  headers: HeaderReader,
  faults: Faults,
  onPage: OnPage,
): Promise<void> {
  const built: BuiltView[] = []
  for (const view of views) {
    const found = snapshot.run(() => readProgressOf(view))
    // A view of another version is rebuilt when the log is opened.
    if (found?.isRunning) built.push(snapshot.run(() => createCheckTable(view)))
    else if (found) faults.add('views', `${view.name} is stopped: ${found.reason}`)
  }
  let position = 0
  for (;;) {
    const from = position
    position = snapshot.run(() => foldPage(built, headers, from))
    if (position === from) break
    if (!(await onPage(position))) return
  }
  for (const { view, table, changed, failsAt } of built) {
    if (failsAt !== undefined) {
      faults.add('views', `${view.name} cannot be built: it fails at ${failsAt}`)
      continue
    }
    snapshot.run(() => table.write(changed.values()))
    const differences = new RowDifferences()
    while (differences.after !== undefined) {
      snapshot.run(() => compareRows(view, table, differences))
      if (!(await onPage(position))) return
    }
    const { count, examples } = differences
    if (count > 0) faults.add('views', `${view.name} differs from the log in ${count} rows: ${examples.join(', ')}`)
  }
}

function* createCheckTable(view: View): Steps<BuiltView> {
  const name = `temp.${view.name}_check`
  yield* rows({ sql: createViewTable(view, name, 'sqlite'), parameters: [] })
  return { view, table: new ViewTable(view, name), changed: new Map() }
}

function* foldPage(built: readonly BuiltView[], headers: HeaderReader, from: number): Steps<number> {
  const page = yield* readPage(headers, { after: from })
  for (const each of built) if (each.failsAt === undefined) yield* foldIntoBuilt(each, page)
  return page.at(-1)?.position ?? from
}

function* foldIntoBuilt(built: BuiltView, page: readonly RecordedEvent[]): Steps<void> {
  const { view, table, changed } = built
  let at = 0
  try {
    for (const event of page) {
      at = event.position
      const key = view.key(event)
      if (key === undefined) continue
      const before = changed.has(key) ? changed.get(key) : yield* table.find(key)
      changed.set(key, foldOne(view, key, before, event))
    }
  } catch (error) {
    // The file itself may be unreadable.
    if (error instanceof AverbaError) throw error
    built.failsAt = at
    return
  }
  if (changed.size < rowsMax) return
  yield* table.write(changed.values())
  changed.clear()
}
