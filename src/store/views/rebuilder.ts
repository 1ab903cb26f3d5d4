import { type Clock, monotonicClock } from '../../runtime/clock.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Connection, Steps } from '../database/connection.ts'
import type { Schemas } from '../log/header.ts'
import { endOfLog } from '../log/read.ts'
import type { StoreOptions } from '../store-options.ts'
import { compareRows, RowDifferences } from './compare-rows.ts'
import { Folding, isFailureOfOneView, recordStopReason, rejoinHead } from './folding.ts'
import { SideTable, sweepDiscardedTables } from './side-table.ts'
import { noSuchView, ViewTable } from './view-table.ts'

/** Options of a rebuild of several views. */
export interface RebuildAll extends Pick<RebuildOptions, 'signal' | 'compare'> {
  readonly views?: readonly string[]
  /** Called after each page with the view, the position reached and the end of the log. */
  readonly onProgress?: (view: string, position: number, end: number) => void
}

/**
 * Rebuilds views one after the other. When the signal aborts, it returns those that are finished.
 *
 * @throws {AverbaError} `INVALID_INPUT` for an unknown view, and as `Rebuilder.rebuild`
 */
export async function rebuildAll(
  rebuilder: Rebuilder,
  views: readonly View[],
  { views: names, onProgress, ...others }: RebuildAll,
): Promise<RebuildResult[]> {
  const unknown = names?.find(name => !views.some(view => view.name === name))
  if (unknown !== undefined) throw noSuchView(`Cannot rebuild "${unknown}"`, views)
  const rebuilt: RebuildResult[] = []
  for (const view of views.filter(each => names?.includes(each.name) ?? true)) {
    const done = await rebuilder.rebuild(view, {
      ...others,
      ...(onProgress && { onProgress: (position, end) => onProgress(view.name, position, end) }),
    })
    if (!done) break
    rebuilt.push(done)
  }
  return rebuilt
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

/** Options of a rebuild. */
export interface RebuildOptions {
  /** Called after each page with the position reached and the end of the log at the start. */
  readonly onProgress?: (position: number, end: number) => void
  /** Stops the rebuild between two pages. What was built is kept, and the next rebuild continues from there. */
  readonly signal?: AbortSignal
  /** Whether to count the rows that differ from the serving ones; true when absent. */
  readonly compare?: boolean
}

const heldRowsMax = 100_000
/** How many rows one transaction writes: more would block the event loop and other writers. */
const writeRows = 1_000
/** A crash loses at most this much work. */
const saveEveryMs = 30_000

/** What a rebuilder works with. */
export interface RebuilderParts {
  readonly connection: Connection
  readonly schemas: Schemas
  readonly clock: Clock
  /** How many rows are held before they are written, which bounds memory: 100,000 when absent. */
  readonly rowsMax?: number
  /** Called in the transaction in which the view rejoins the head, before its commit. */
  readonly onRejoined: () => void
  readonly onTrouble?: StoreOptions['onTrouble']
}

interface ViewBuild {
  readonly view: View
  readonly side: SideTable
  readonly folding: Folding
  readonly signal: AbortSignal | undefined
  readonly onPage: () => void
}

/** Rebuilds views from the log in a side table, and then replaces the serving table at once. */
export class Rebuilder {
  readonly #parts: RebuilderParts
  readonly #connection: Connection

  constructor(parts: RebuilderParts) {
    this.#parts = parts
    this.#connection = parts.connection
  }

  /**
   * Rebuilds one view from the beginning, or from where an interrupted rebuild left off, compares it with the serving
   * rows and replaces them. It uses short transactions, so appends continue meanwhile. The last one folds the few
   * newest events and renames the tables.
   *
   * @returns `undefined` when the signal stopped it
   * @throws {AverbaError} `STORE_BUSY` when another process began to rebuild the same view meanwhile
   */
  async rebuild(view: View, options: RebuildOptions = {}): Promise<RebuildResult | undefined> {
    const { signal } = options
    await this.#sweep(signal)
    const rebuilt = await this.build(view, options)
    if (rebuilt) await this.#sweep(signal)
    return rebuilt
  }

  /** Sweeps discarded tables. One that is damaged and cannot be removed does not stop the rebuild. */
  async #sweep(signal: AbortSignal | undefined): Promise<void> {
    await sweepDiscardedTables(this.#connection, signal).catch((error: unknown) => {
      if (!(error instanceof AverbaError) || error.code !== 'CORRUPT') throw error
      this.#parts.onTrouble?.('discarded tables could not be removed', error)
    })
  }

  /** Like `rebuild`, but leaves the old table to a later sweep. */
  async build(
    view: View,
    { onProgress, signal, compare = true }: RebuildOptions = {},
  ): Promise<RebuildResult | undefined> {
    const side = await this.#connection.transact(() => SideTable.begin(this.#connection, view))
    const end = await this.#connection.read(endOfLog)
    const folding = new Folding(this.#parts, view, side.table, side.mark.position)
    const onPage = () => onProgress?.(folding.position, Math.max(folding.position, end))
    const building: ViewBuild = { view, side, folding, signal, onPage }
    try {
      return await this.#build(building, end, compare)
    } catch (error) {
      // The original error is thrown, whether or not the reason can be recorded.
      if (isFailureOfOneView(error))
        await this.#connection
          .transact(() => recordStopReason(view, error, folding.failingPosition))
          .catch(() => undefined)
      throw error
    }
  }

  async #build(building: ViewBuild, end: number, compare: boolean): Promise<RebuildResult | undefined> {
    const { view } = building
    if (!(await this.#finishWriting(building))) return undefined
    if (!(await this.#fold(building, end))) return undefined
    const found = await this.#compare(building, compare)
    if (!found) return undefined
    while (!(await this.#connection.transact(() => this.#swap(building)))) {
      await this.#writeIfMany(building)
      await yieldToEventLoop()
    }
    return { view: view.name, rows: found.rows, differences: found.count, examples: found.examples }
  }

  /** Folds an interrupted rebuild up to where it was saving its rows, and writes those that were not saved. */
  async #finishWriting(building: ViewBuild): Promise<boolean> {
    const { side, folding, signal, onPage } = building
    const { written, until } = side.mark
    if (written === 0) return true
    folding.skipKeys(written)
    while (folding.position < until) {
      if (signal?.aborted) return false
      await this.#connection.read(() => foldExclusively(side, folding.foldPage(until)))
      onPage()
      await yieldToEventLoop()
    }
    await this.#writeHeld(building)
    folding.skipKeys(0)
    return true
  }

  /** Folds the log to its end. When the signal aborts, it saves the rows so far. */
  async #fold(building: ViewBuild, end: number): Promise<boolean> {
    const { side, folding, signal, onPage } = building
    const { rowsMax = heldRowsMax } = this.#parts
    const elapsedMs = monotonicClock(this.#parts.clock)
    let savedAt = elapsedMs()
    while (!signal?.aborted) {
      const from = folding.position
      const pages = from < end ? folding.foldStep() : folding.foldLargeStep()
      await this.#connection.read(() => foldExclusively(side, pages))
      if (folding.position > from) onPage()
      await yieldToEventLoop()
      if (folding.isAtEnd) {
        await this.#writeIfMany(building)
        return true
      }
      if (folding.held.size < rowsMax && elapsedMs() - savedAt < saveEveryMs) continue
      await this.#writeHeld(building)
      savedAt = elapsedMs()
    }
    await this.#writeHeld(building)
    return false
  }

  /** Compares rows with the serving ones, in pages. All appends are folded in first: they cause no differences. */
  async #compare(building: ViewBuild, isCompared: boolean): Promise<RowDifferences | undefined> {
    const { view, side, folding, signal } = building
    const serving = new ViewTable(view)
    const differences = new RowDifferences()
    while (differences.after !== undefined) {
      if (signal?.aborted) {
        await this.#writeHeld(building)
        return undefined
      }
      await this.#connection.read(function* () {
        yield* foldExclusively(side, folding.foldLargeStep())
        const { held } = folding
        if (folding.isAtEnd) yield* compareRows(view, side.table, differences, { serving, held, isCompared })
      })
      await yieldToEventLoop()
      await this.#writeIfMany(building)
    }
    return differences
  }

  async #writeIfMany(building: ViewBuild): Promise<void> {
    if (building.folding.held.size > writeRows) await this.#writeHeld(building)
  }

  async #writeHeld({ side, folding }: ViewBuild): Promise<void> {
    const { held, position } = folding
    const before = side.mark.written
    const changed = [...held.values()]
    for (let from = 0; from === 0 || from < changed.length; from += writeRows) {
      const some = changed.slice(from, from + writeRows)
      const until = from + some.length
      const written = until < changed.length ? before + until : undefined
      await this.#connection.transact(() => side.write(some, position, written))
      await yieldToEventLoop()
    }
    held.clear()
  }

  /** Folds the newest events, unless there are many, and swaps the tables. The view is running then. */
  *#swap({ view, side, folding }: ViewBuild): Steps<boolean> {
    yield* foldExclusively(side, folding.foldLargeStep())
    if (!folding.isAtEnd) return false
    yield* side.swap(folding.held.values())
    yield* rejoinHead(this.#parts, view)
    return true
  }
}

function* foldExclusively(side: SideTable, pages: Steps<void>): Steps<void> {
  yield* side.checkNotTakenOver()
  yield* pages
}
