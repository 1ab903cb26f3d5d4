import { type Clock, monotonicClock } from '../../runtime/clock.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { hasCode } from '../../vocabulary/errors.ts'
import type { View } from '../../vocabulary/view.ts'
import { type Steps, together } from '../database/connection.ts'
import { transactWhenFree } from '../database/table-in-use.ts'
import { endOfLog } from '../log/read.ts'
import type { StoreOptions } from '../store-options.ts'
import { compareRows, RowDifferences } from './compare-rows.ts'
import {
  type CatchUpParts,
  Folding,
  foldPage,
  foldPages,
  foldPagesOf,
  isFailureOfOneView,
  largeStepPages,
  positionOf,
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
  /** Called after each page with `views`, the position reached and the end of the log at the start. */
  readonly onProgress?: (what: 'views', position: number, end: number) => void
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
 * Rebuilds views, in one pass over the log. When the signal aborts, it returns those that are finished.
 *
 * @throws {AverbaError} `INVALID_INPUT` for an unknown view, and as `buildViews`
 * @throws what a view throws that cannot be built, once the others are
 */
export async function rebuildAll(
  parts: RebuildParts,
  views: readonly View[],
  { views: names, ...options }: RebuildAll,
): Promise<RebuildResult[]> {
  const unknown = names?.find(name => !views.some(view => view.name === name))
  if (unknown !== undefined) throw noSuchView(`Cannot rebuild "${unknown}"`, views)
  const asked = views.filter(each => names?.includes(each.name) ?? true)
  const sweep = () => sweepDiscardedTables(parts, options.signal)
  await sweep()
  const { rebuilt, failed } = await buildViews({ ...parts, afterSwap: sweep }, asked, options)
  if (failed[0]) throw failed[0].error
  return rebuilt
}

interface BuildParts extends RebuildParts {
  /** Called when a view is replaced, and its former table is left to a sweep. */
  readonly afterSwap?: () => Promise<void>
}

interface Build extends BuildParts, Pick<RebuildAll, 'signal' | 'compare'> {
  /** The end of the log at the start. */
  readonly end: number
  readonly onPage: (position: number) => void
}

interface ViewBuild {
  readonly view: View
  readonly side: SideTable
  readonly folding: Folding
}

interface FailedView {
  readonly view: string
  readonly error: unknown
}

interface Built {
  readonly rebuilt: RebuildResult[]
  /** The views that throw, need a damaged event, have a damaged table, or are built by another process. */
  readonly failed: FailedView[]
}

/**
 * Builds views from the beginning, or from where an interrupted build left off, in tables beside the serving ones. Each
 * event is read once for all. Then each view is compared with its serving rows and replaces them. The transactions are
 * short, so appends continue meanwhile. The last one of a view folds the few newest events and renames the tables: the
 * old one is left to a sweep. A view that fails, or is taken over by another process, does not hold up the others.
 */
export async function buildViews(
  parts: BuildParts,
  views: readonly View[],
  { onProgress, ...options }: RebuildAll = {},
): Promise<Built> {
  const end = await parts.connection.read(endOfLog)
  const onPage = (position: number) => onProgress?.('views', position, Math.max(position, end))
  return new ViewsBuild({ ...parts, ...options, end, onPage }).run(views)
}

class ViewsBuild {
  readonly #build: Build
  readonly #left = new Set<ViewBuild>()
  readonly #rebuilt: RebuildResult[] = []
  readonly #failed: FailedView[] = []

  constructor(build: Build) {
    this.#build = build
  }

  /** Builds the views. When the signal aborts, it saves the rows so far of those that are left. */
  async run(views: readonly View[]): Promise<Built> {
    const build = this.#build
    for (const view of views) await this.#begin(view)
    await this.#forEachLeft(one => finishWriting(build, one))
    if (!build.signal?.aborted) {
      await this.#foldToEnd()
      await this.#forEachLeft(async one => {
        const done = await replace(build, one)
        if (!done) return writeHeld(build, one)
        this.#rebuilt.push(done)
        this.#left.delete(one)
        await build.afterSwap?.()
      })
    }
    return { rebuilt: this.#rebuilt, failed: this.#failed }
  }

  async #begin(view: View): Promise<void> {
    const { connection } = this.#build
    try {
      const side = await connection.transact(() => SideTable.begin(connection, view))
      this.#left.add({ view, side, folding: new Folding(view, side.table, side.mark.position) })
    } catch (error) {
      // The file has it in another version, or its table is in use.
      if (!hasCode(error, 'STORE_BUSY')) throw error
      this.#failed.push({ view: view.name, error })
    }
  }

  async #foldToEnd(): Promise<void> {
    const build = this.#build
    const { clock, rowsMax = heldRowsMax, signal, end, onPage } = build
    const elapsedMs = monotonicClock(clock)
    let savedAt = elapsedMs()
    while (this.#left.size > 0 && !signal?.aborted) {
      const foldings = [...this.#left].map(({ folding }) => folding)
      const from = positionOf(foldings)
      await this.#fold(from < end ? stepPages : largeStepPages)
      const position = positionOf(foldings)
      if (position > from) onPage(position)
      await yieldToEventLoop()
      if (foldings.every(({ isAtEnd }) => isAtEnd)) return this.#forEachLeft(one => writeIfMany(build, one))
      const heldRows = foldings.reduce((sum, { held }) => sum + held.size, 0)
      if (heldRows < rowsMax && elapsedMs() - savedAt < saveEveryMs) continue
      await this.#forEachLeft(one => writeHeld(build, one))
      savedAt = elapsedMs()
    }
  }

  /** Folds some pages for the views that no other process has taken over. */
  async #fold(pages: number): Promise<void> {
    const { connection, headers } = this.#build
    const left = [...this.#left]
    const takeovers = await connection.read(function* () {
      const found = yield* together(left.map(({ side }) => side.findTakeover()))
      const own = left.flatMap(({ folding }, i) => (found[i] ? [] : folding))
      yield* foldPages(headers, own, pages)
      return found
    })
    for (const [i, one] of left.entries()) {
      const error = takeovers[i] ?? one.folding.failure?.error
      if (error) await this.#drop(one, error)
    }
  }

  async #forEachLeft(work: (one: ViewBuild) => Promise<void>): Promise<void> {
    for (const one of this.#left) await work(one).catch(error => this.#drop(one, error))
  }

  /** Drops a view that failed. Its error is reported, whether or not the reason can be recorded. */
  async #drop(one: ViewBuild, error: unknown): Promise<void> {
    const isOwn = isFailureOfOneView(error)
    // Another process has it, or its serving table is damaged.
    if (!isOwn && !hasCode(error, 'STORE_BUSY', 'CORRUPT')) throw error
    const { view, folding } = one
    this.#left.delete(one)
    this.#failed.push({ view: view.name, error })
    if (!isOwn) return
    const record = () => recordStopReason(view, error, folding.failure?.position)
    await this.#build.connection.transact(record).catch(() => undefined)
  }
}

/** Folds an interrupted rebuild up to where it was saving its rows, and writes those that were not saved. */
async function finishWriting(build: Build, one: ViewBuild): Promise<void> {
  const { connection, headers, signal } = build
  const { side, folding } = one
  const { written, until } = side.mark
  if (written === 0) return
  folding.skipKeys(written)
  while (folding.position < until) {
    if (signal?.aborted) return
    await connection.read(() => foldExclusively(side, foldPage(headers, [folding], until)))
    if (folding.failure) throw folding.failure.error
    await yieldToEventLoop()
  }
  await writeHeld(build, one)
  folding.skipKeys(0)
}

/** Puts a view that was folded in the place of the serving one, unless the signal aborts. */
async function replace(build: Build, one: ViewBuild): Promise<RebuildResult | undefined> {
  const { connection, clock } = build
  const found = await compare(build, one)
  if (!found) return undefined
  while (!(await transactWhenFree(connection, clock, () => swap(build, one)))) {
    await writeIfMany(build, one)
    await yieldToEventLoop()
  }
  return { view: one.view.name, rows: found.rows, differences: found.count, examples: found.examples }
}

/** Compares rows with the serving ones, in pages. All appends are folded in first: they cause no differences. */
async function compare(build: Build, one: ViewBuild): Promise<RowDifferences | undefined> {
  const { connection, headers, signal, compare: isCompared = true } = build
  const { view, side, folding } = one
  const differences = new RowDifferences()
  while (differences.after !== undefined) {
    if (signal?.aborted) return undefined
    await connection.read(function* () {
      yield* foldExclusively(side, foldPagesOf(headers, folding, largeStepPages))
      if (folding.isAtEnd) yield* compareRows(view, side.table, differences, folding.held, isCompared)
    })
    await yieldToEventLoop()
    await writeIfMany(build, one)
  }
  return differences
}

async function writeIfMany(build: Build, one: ViewBuild): Promise<void> {
  if (one.folding.held.size > writeRows) await writeHeld(build, one)
}

async function writeHeld({ connection }: Build, { side, folding }: ViewBuild): Promise<void> {
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
function* swap({ headers, onRejoined }: Build, one: ViewBuild): Steps<boolean> {
  const { view, side, folding } = one
  yield* foldExclusively(side, foldPagesOf(headers, folding, largeStepPages))
  if (!folding.isAtEnd) return false
  yield* side.swap(folding.held.values())
  yield* joinHead(view, onRejoined)
  return true
}

function* foldExclusively(side: SideTable, pages: Steps<void>): Steps<void> {
  yield* side.checkNotTakenOver()
  yield* pages
}
