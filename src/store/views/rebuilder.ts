import { type Clock, monotonicClock } from '../../runtime/clock.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Connection, Steps } from '../database/connection.ts'
import { endOfLog } from '../log/position-before.ts'
import { readPage } from '../log/read.ts'
import type { Schemas } from '../log/upcasters.ts'
import type { StoreOptions } from '../store-options.ts'
import { explainStop, isOfOneView, rejoin } from './catch-up.ts'
import { compareRows, RowDifferences } from './compare-rows.ts'
import { sweep } from './discarded-tables.ts'
import { Folding } from './folding.ts'
import { SideTable } from './side-table.ts'
import { foldOne, type ViewRow, ViewTable } from './view-table.ts'

/** What a rebuild of one view found. */
export interface RebuildResult {
  readonly view: string
  /** How many rows it has, counted page by page. */
  readonly rows: number
  /** Rows that differed from the serving view, where they were compared: 0 means equal. */
  readonly differences: number
  /** Keys of some rows that differed: ids of ours, never personal data. */
  readonly examples: readonly string[]
}

/** How a rebuild goes. */
export interface RebuildOptions {
  /** Told of each page, with the position reached and the end of the log at the start. */
  readonly onProgress?: (position: number, end: number) => void
  /** Ends it between two pages. What was built is kept, and the next rebuild goes on from there. */
  readonly signal?: AbortSignal
  /** Counts the rows that differ from the serving ones: yes when absent. */
  readonly compare?: boolean
}

/** Up to where a view is built: the last position, or the last instant, that counts. */
export interface ViewBound {
  readonly position?: number
  readonly at?: Instant
}

const heldRowsMax = 100_000
/** How many rows one transaction writes: more would hold up the event loop, and everyone else who writes. */
const writeRows = 1_000
/** A crash loses no more than this much work. */
const saveEveryMs = 30_000

/** What a rebuilder is made of. */
export interface RebuilderParts {
  readonly connection: Connection
  readonly schemas: Schemas
  readonly clock: Clock
  /** How many rows are held before they are written, which bounds the memory of a rebuild: 100,000 when absent. */
  readonly rowsMax?: number
  /** Told in the transaction that lets a view stand at the end of the log again, before its commit. */
  readonly onRejoined: () => void
  readonly onTrouble?: StoreOptions['onTrouble']
}

/** A view that is being built anew. */
interface ViewBuild {
  readonly view: View
  readonly side: SideTable
  readonly folding: Folding
  readonly signal: AbortSignal | undefined
  readonly onPage: () => void
}

/** Builds views anew from the log, beside the serving rows, and puts them in their place at once. */
export class Rebuilder {
  readonly #parts: RebuilderParts
  readonly #connection: Connection

  constructor(parts: RebuilderParts) {
    this.#parts = parts
    this.#connection = parts.connection
  }

  /**
   * Builds one view from the beginning, or from where an interrupted rebuild was saved, compares it with the
   * serving rows and takes their place. All of it goes in short transactions, and appends go on meanwhile: the one
   * that changes places folds the few events that came since, and moves no row.
   *
   * @returns `undefined` when the signal ended it
   * @throws {AverbaError} `STORE_BUSY` when another process began to rebuild the same view meanwhile
   */
  async rebuild(view: View, options: RebuildOptions = {}): Promise<RebuildResult | undefined> {
    const { signal } = options
    await this.#sweep(signal)
    const rebuilt = await this.build(view, options)
    if (rebuilt) await this.#sweep(signal)
    return rebuilt
  }

  /** A table that cannot be removed, for it is damaged, holds up no rebuild. */
  async #sweep(signal: AbortSignal | undefined): Promise<void> {
    await sweep(this.#connection, signal).catch((error: unknown) => {
      if (!(error instanceof AverbaError) || error.code !== 'CORRUPT') throw error
      this.#parts.onTrouble?.('discarded tables could not be removed', error)
    })
  }

  /** The same, but the former table is left to be swept. */
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
      // Its failure is told either way.
      if (isOfOneView(error))
        await this.#connection
          .transact(() => explainStop(view, error, folding.failing))
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
      await this.#writeMany(building)
      await yieldToEventLoop()
    }
    return { view: view.name, rows: found.rows, differences: found.count, examples: found.examples }
  }

  /** Returns to where an interrupted rebuild was when it saved its rows, and writes the remaining ones. */
  async #finishWriting(building: ViewBuild): Promise<boolean> {
    const { side, folding, signal, onPage } = building
    const { written, until } = side.mark
    if (written === 0) return true
    folding.pass(written)
    while (folding.position < until) {
      if (signal?.aborted) return false
      await this.#connection.read(() => foldAlone(side, folding.page(until)))
      onPage()
      await yieldToEventLoop()
    }
    await this.#write(building)
    folding.pass(0)
    return true
  }

  /** Folds the log to its end. Interrupted, it saves what there is. */
  async #fold(building: ViewBuild, end: number): Promise<boolean> {
    const { side, folding, signal, onPage } = building
    const { rowsMax = heldRowsMax } = this.#parts
    const elapsedMs = monotonicClock(this.#parts.clock)
    let savedAt = elapsedMs()
    while (!signal?.aborted) {
      const from = folding.position
      const pages = from < end ? folding.next() : folding.pages()
      await this.#connection.read(() => foldAlone(side, pages))
      if (folding.position > from) onPage()
      await yieldToEventLoop()
      if (folding.isAtEnd) {
        await this.#writeMany(building)
        return true
      }
      if (folding.held.size < rowsMax && elapsedMs() - savedAt < saveEveryMs) continue
      await this.#write(building)
      savedAt = elapsedMs()
    }
    await this.#write(building)
    return false
  }

  /**
   * Compares the rows with the serving ones page by page, each on one reading and with all appends folded in, so that
   * no append in between makes rows differ.
   */
  async #compare(building: ViewBuild, isCompared: boolean): Promise<RowDifferences | undefined> {
    const { view, side, folding, signal } = building
    const serving = new ViewTable(view)
    const differences = new RowDifferences()
    while (differences.after !== undefined) {
      if (signal?.aborted) {
        await this.#write(building)
        return undefined
      }
      await this.#connection.read(function* () {
        yield* foldAlone(side, folding.pages())
        const { held } = folding
        if (folding.isAtEnd) yield* compareRows(view, side.table, differences, { serving, held, isCompared })
      })
      await yieldToEventLoop()
      await this.#writeMany(building)
    }
    return differences
  }

  /** Writes the held rows where they are more than one transaction writes. */
  async #writeMany(building: ViewBuild): Promise<void> {
    if (building.folding.held.size > writeRows) await this.#write(building)
  }

  /** Writes down the rows that are held, some at a time. */
  async #write({ side, folding }: ViewBuild): Promise<void> {
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

  /** Folds what came since, unless that is much, and swaps the tables. The view is at the end of the log then. */
  *#swap({ view, side, folding }: ViewBuild): Steps<boolean> {
    yield* foldAlone(side, folding.pages())
    if (!folding.isAtEnd) return false
    yield* side.swap(folding.held.values())
    yield* rejoin(this.#parts, view)
    return true
  }

  /** The rows of a view as they were at a position or an instant of the log: built in memory, and not kept. */
  async buildAsOf(view: View, { position, at }: ViewBound): Promise<ViewRow[]> {
    const built = new Map<string, ViewRow | undefined>()
    const last = position ?? (await this.#connection.read(endOfLog))
    for (let after = 0; ; ) {
      const page = await this.#connection.read(() => readPage(this.#parts.schemas, { after }))
      const until = page.filter(event => event.position <= last && (at === undefined || event.at <= at))
      for (const event of until) {
        const key = view.key(event)
        if (key !== undefined) built.set(key, foldOne(view, key, built.get(key), event))
      }
      after = page.at(-1)?.position ?? 0
      if (page.length === 0 || until.length < page.length) break
      await yieldToEventLoop()
    }
    return [...built.values()].filter(row => row !== undefined)
  }
}

/** Folds over rows that nobody else writes. */
function* foldAlone(side: SideTable, pages: Steps<void>): Steps<void> {
  yield* side.checkAlone()
  yield* pages
}
