import { type Clock, monotonicClock } from '../../runtime/clock.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Steps } from '../database/connection.ts'
import { transactWhenFree } from '../database/table-in-use.ts'
import { endOfLog } from '../log/read.ts'
import type { StoreOptions } from '../store-options.ts'
import { compareRows, RowDifferences } from './compare-rows.ts'
import {
  type CatchUpParts,
  Folding,
  isFailureOfOneView,
  largeStepPages,
  recordStopReason,
  stepPages,
} from './folding.ts'
import { joinHead } from './projector.ts'
import { SideTable, sweepDiscardedTables } from './side-table.ts'
import { noSuchView } from './view-table.ts'

/** Options of a rebuild. */
export interface RebuildAll {
  /** The views to rebuild; all when absent. */
  readonly views?: readonly string[]
  /** Called after each page with the view, the position reached and the end of the log at the start. */
  readonly onProgress?: (view: string, position: number, end: number) => void
  /** Stops the rebuild between two pages. What was built is kept, and the next rebuild continues from there. */
  readonly signal?: AbortSignal
  /** Whether to count the rows that differ from the serving ones; true when absent. */
  readonly compare?: boolean
}

/** The result of rebuilding one view. */
export interface RebuildResult {
  readonly view: string
  readonly rows: number
  /** How many rows differed from the serving ones; 0 when equal or not compared. */
  readonly differences: number
  /** Keys of some rows that differed: internal ids, never personal data. */
  readonly examples: readonly string[]
}

const heldRowsMax = 100_000
/** How many rows one transaction writes: more would block the event loop and other writers. */
const writeRows = 1_000
/** A crash loses at most this much work. */
const saveEveryMs = 30_000

export interface RebuildParts extends CatchUpParts {
  readonly clock: Clock
  /** How many rows are held before they are written, which bounds memory: 100,000 when absent. */
  readonly rowsMax?: number
  readonly onTrouble: NonNullable<StoreOptions['onTrouble']>
}

/**
 * Rebuilds views one after the other. When the signal aborts, it returns those that are finished.
 *
 * @throws {AverbaError} `INVALID_INPUT` for an unknown view, and as `buildView`
 */
export async function rebuildAll(
  parts: RebuildParts,
  views: readonly View[],
  { views: names, ...options }: RebuildAll,
): Promise<RebuildResult[]> {
  const unknown = names?.find(name => !views.some(view => view.name === name))
  if (unknown !== undefined) throw noSuchView(`Cannot rebuild "${unknown}"`, views)
  const rebuilt: RebuildResult[] = []
  for (const view of views.filter(each => names?.includes(each.name) ?? true)) {
    await sweepDiscardedTables(parts, options.signal)
    const done = await buildView(parts, view, options)
    if (!done) break
    rebuilt.push(done)
  }
  await sweepDiscardedTables(parts, options.signal)
  return rebuilt
}

interface ViewBuild extends RebuildParts {
  readonly view: View
  readonly side: SideTable
  readonly folding: Folding
  readonly signal: AbortSignal | undefined
  readonly onPage: () => void
}

/**
 * Builds one view from the beginning, or from where an interrupted build left off, in a table beside the serving one.
 * Compares it with the serving rows and replaces them. It uses short transactions, so appends continue meanwhile. The
 * last one folds the few newest events and renames the tables: the old one is left to a sweep.
 *
 * @returns `undefined` when the signal stopped it
 * @throws {AverbaError} `STORE_BUSY` when another process began to build the same view meanwhile
 */
export async function buildView(
  parts: RebuildParts,
  view: View,
  { onProgress, signal, compare: isCompared = true }: RebuildAll = {},
): Promise<RebuildResult | undefined> {
  const { connection, clock, headers } = parts
  const side = await connection.transact(() => SideTable.begin(connection, view))
  const end = await connection.read(endOfLog)
  const folding = new Folding(headers, view, side.table, side.mark.position)
  const onPage = () => onProgress?.(view.name, folding.position, Math.max(folding.position, end))
  const building: ViewBuild = { ...parts, view, side, folding, signal, onPage }
  try {
    if (!(await finishWriting(building)) || !(await foldToEnd(building, end))) return undefined
    const found = await compare(building, isCompared)
    if (!found) return undefined
    while (!(await transactWhenFree(connection, clock, () => swap(building)))) {
      await writeIfMany(building)
      await yieldToEventLoop()
    }
    return { view: view.name, rows: found.rows, differences: found.count, examples: found.examples }
  } catch (error) {
    // The original error is thrown, whether or not the reason can be recorded.
    if (isFailureOfOneView(error))
      await connection.transact(() => recordStopReason(view, error, folding.failingPosition)).catch(() => undefined)
    throw error
  }
}

/** Folds an interrupted rebuild up to where it was saving its rows, and writes those that were not saved. */
async function finishWriting(building: ViewBuild): Promise<boolean> {
  const { connection, side, folding, signal, onPage } = building
  const { written, until } = side.mark
  if (written === 0) return true
  folding.skipKeys(written)
  while (folding.position < until) {
    if (signal?.aborted) return false
    await connection.read(() => foldExclusively(side, folding.foldPage(until)))
    onPage()
    await yieldToEventLoop()
  }
  await writeHeld(building)
  folding.skipKeys(0)
  return true
}

/** Folds the log to its end. When the signal aborts, it saves the rows so far. */
async function foldToEnd(building: ViewBuild, end: number): Promise<boolean> {
  const { connection, clock, rowsMax = heldRowsMax, side, folding, signal, onPage } = building
  const elapsedMs = monotonicClock(clock)
  let savedAt = elapsedMs()
  while (!signal?.aborted) {
    const from = folding.position
    const pages = folding.foldPages(from < end ? stepPages : largeStepPages)
    await connection.read(() => foldExclusively(side, pages))
    if (folding.position > from) onPage()
    await yieldToEventLoop()
    if (folding.isAtEnd) {
      await writeIfMany(building)
      return true
    }
    if (folding.held.size < rowsMax && elapsedMs() - savedAt < saveEveryMs) continue
    await writeHeld(building)
    savedAt = elapsedMs()
  }
  await writeHeld(building)
  return false
}

/** Compares rows with the serving ones, in pages. All appends are folded in first: they cause no differences. */
async function compare(building: ViewBuild, isCompared: boolean): Promise<RowDifferences | undefined> {
  const { connection, view, side, folding, signal } = building
  const differences = new RowDifferences()
  while (differences.after !== undefined) {
    if (signal?.aborted) {
      await writeHeld(building)
      return undefined
    }
    await connection.read(function* () {
      yield* foldExclusively(side, folding.foldPages(largeStepPages))
      if (folding.isAtEnd) yield* compareRows(view, side.table, differences, folding.held, isCompared)
    })
    await yieldToEventLoop()
    await writeIfMany(building)
  }
  return differences
}

async function writeIfMany(building: ViewBuild): Promise<void> {
  if (building.folding.held.size > writeRows) await writeHeld(building)
}

async function writeHeld({ connection, side, folding }: ViewBuild): Promise<void> {
  const { held, position } = folding
  const before = side.mark.written
  const changed = [...held.values()]
  for (let from = 0; from === 0 || from < changed.length; from += writeRows) {
    const some = changed.slice(from, from + writeRows)
    const until = from + some.length
    const written = until < changed.length ? before + until : undefined
    await connection.transact(() => side.write(some, position, written))
    await yieldToEventLoop()
  }
  held.clear()
}

/** Folds the newest events, unless there are many, and swaps the tables. The view is running then. */
function* swap({ side, folding, view, onRejoined }: ViewBuild): Steps<boolean> {
  yield* foldExclusively(side, folding.foldPages(largeStepPages))
  if (!folding.isAtEnd) return false
  yield* side.swap(folding.held.values())
  yield* joinHead(view, onRejoined)
  return true
}

function* foldExclusively(side: SideTable, pages: Steps<void>): Steps<void> {
  yield* side.checkNotTakenOver()
  yield* pages
}
