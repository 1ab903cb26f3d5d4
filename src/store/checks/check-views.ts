import type { Faults } from '../../proof/faults.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import { rows, type Steps, together } from '../database/connection.ts'
import type { Reading } from '../database/reading.ts'
import type { HeaderReader } from '../log/header.ts'
import { readPage } from '../log/read.ts'
import { compareRows, RowDifferences } from '../views/compare-rows.ts'
import { readProgressOf } from '../views/projector.ts'
import { createViewTable, foldOne, type ViewRow, ViewTable } from '../views/view-table.ts'
import type { OnPage } from './check-log.ts'

/** How many rows are held before they are written, which bounds the memory of a check. */
const rowsMax = 20_000

interface BuiltView {
  readonly view: View
  readonly table: ViewTable
  readonly changed: Map<string, ViewRow | undefined>
  /** The position of the event that it fails at. That is a fault of the view, not of the log. */
  failsAt?: number
}

/** Folds the whole log into every running view again, in one pass, and compares the rows. */
export async function checkViews(
  reading: Reading,
  views: readonly View[],
  headers: HeaderReader,
  faults: Faults,
  onPage: OnPage,
): Promise<void> {
  const built: BuiltView[] = []
  for (const view of views) {
    const found = await reading.read(() => readProgressOf(view))
    // A view of another version is rebuilt when the log is opened.
    if (found?.isRunning) built.push(await reading.read(() => createCheckTable(view, reading.dialect)))
    else if (found) faults.add('views', `${view.name} is stopped: ${found.reason}`)
  }
  let position = 0
  for (;;) {
    const from = position
    position = await reading.read(() => foldPage(built, headers, from))
    if (position === from) break
    if (!(await onPage(position))) return
  }
  for (const { view, table, changed, failsAt } of built) {
    if (failsAt !== undefined) {
      faults.add('views', `${view.name} cannot be built: it fails at ${failsAt}`)
      continue
    }
    await reading.read(() => table.write(changed.values()))
    const differences = new RowDifferences()
    while (differences.after !== undefined) {
      await reading.read(() => compareRows(view, table, differences))
      if (!(await onPage(position))) return
    }
    const { count, examples } = differences
    if (count > 0) faults.add('views', `${view.name} differs from the log in ${count} rows: ${examples.join(', ')}`)
  }
}

function* createCheckTable(view: View, dialect: Reading['dialect']): Steps<BuiltView> {
  const name = `${view.name}_check`
  yield* rows({ sql: createViewTable(view, name, dialect, 'temp'), parameters: [] })
  return { view, table: new ViewTable(view, name), changed: new Map() }
}

function* foldPage(built: readonly BuiltView[], headers: HeaderReader, from: number): Steps<number> {
  const page = yield* readPage(headers, { after: from })
  const sound = built.filter(each => each.failsAt === undefined)
  yield* together(sound.map(each => readTouched(each, page)))
  for (const each of sound) yield* foldIntoBuilt(each, page)
  return page.at(-1)?.position ?? from
}

/** Reads the rows that a page of events changes, unless they are held: one request for all. */
function* readTouched({ view, table, changed }: BuiltView, page: readonly RecordedEvent[]): Steps<void> {
  const keys = [...new Set(page.flatMap(event => keyOf(view, event) ?? []))].filter(key => !changed.has(key))
  const found = yield* together(keys.map(key => table.find(key)))
  for (const [i, key] of keys.entries()) changed.set(key, found[i])
}

/** The key of an event's row. A view that fails at the event is found to when the event is folded. */
function keyOf(view: View, event: RecordedEvent): string | undefined {
  try {
    return view.key(event)
  } catch {
    return undefined
  }
}

function* foldIntoBuilt(built: BuiltView, page: readonly RecordedEvent[]): Steps<void> {
  const { view, table, changed } = built
  let at = 0
  try {
    for (const event of page) {
      at = event.position
      const key = view.key(event)
      if (key === undefined) continue
      changed.set(key, foldOne(view, key, changed.get(key), event))
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
