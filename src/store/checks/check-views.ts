import type { Faults } from '../../proof/faults.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { View } from '../../vocabulary/view.ts'
import { rows, type Steps } from '../database/connection.ts'
import type { Reading } from '../database/reading.ts'
import type { HeaderReader } from '../log/header.ts'
import { compareRows, RowDifferences } from '../views/compare-rows.ts'
import { Folding, foldPages, largeStepPages, positionOf } from '../views/folding.ts'
import { readProgressOf } from '../views/projector.ts'
import { createViewTable, ViewTable } from '../views/view-table.ts'
import type { OnPage } from './check-log.ts'

/** How many rows are held before they are written, which bounds the memory of a check. */
const rowsMax = 20_000

interface BuiltView {
  readonly view: View
  readonly table: ViewTable
  readonly folding: Folding
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
  const sound = await foldToEnd(reading, built, headers, faults, onPage)
  for (const { view, table, folding } of sound) {
    await reading.read(() => table.write(folding.held.values()))
    const differences = new RowDifferences()
    while (differences.after !== undefined) {
      await reading.read(() => compareRows(view, table, differences))
      if (!(await onPage(folding.position))) return
    }
    const { count, examples } = differences
    if (count > 0) faults.add('views', `${view.name} differs from the log in ${count} rows: ${examples.join(', ')}`)
  }
}

function* createCheckTable(view: View, dialect: Reading['dialect']): Steps<BuiltView> {
  const name = `${view.name}_check`
  yield* rows({ sql: createViewTable(view, name, dialect, 'temp'), parameters: [] })
  const table = new ViewTable(view, name, true)
  return { view, table, folding: new Folding(view, table, 0) }
}

/** Returns the views that can be built; none after an abort. */
async function foldToEnd(
  reading: Reading,
  built: readonly BuiltView[],
  headers: HeaderReader,
  faults: Faults,
  onPage: OnPage,
): Promise<readonly BuiltView[]> {
  let sound = built
  while (!sound.every(({ folding }) => folding.isAtEnd)) {
    const foldings = sound.map(({ folding }) => folding)
    await reading.read(() => foldPages(headers, foldings, largeStepPages))
    for (const { view, folding } of sound) {
      if (!folding.failure) continue
      const { error, position } = folding.failure
      // A damaged event is no fault of the view.
      if (error instanceof AverbaError) throw error
      faults.add('views', `${view.name} cannot be built: it fails at ${position}`)
    }
    sound = sound.filter(({ folding }) => !folding.failure)
    if (!(await onPage(positionOf(foldings)))) return []
    for (const { table, folding } of sound) {
      if (folding.held.size < rowsMax) continue
      await reading.read(() => table.write(folding.held.values()))
      folding.held.clear()
    }
  }
  return sound
}
