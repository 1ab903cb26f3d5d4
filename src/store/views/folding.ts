import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import { type Connection, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { DamagedEvent, readHeaderWithSchema, type Schemas } from '../log/header.ts'
import { readHeaders, readPage } from '../log/read.ts'
import { describeStop, findFailingEvent, joinHead, readViewProgress } from './projector.ts'
import { foldOne, type ViewRow, ViewTable } from './view-table.ts'

/** Small enough for a page's objects to be collected young: with 250, a rebuild of a long log took 60 MB more. */
const pageEvents = 125
/** How many pages are folded at a time, and how many at most while others append: more than they can append. */
const [pagesAtOnce, pagesMax] = [2, 8]
/** The most events that two such steps fold. */
const foldedMax = pageEvents * (pagesAtOnce + pagesMax)

/** What the log is read with. */
export interface FoldingParts {
  readonly connection: Connection
  readonly schemas: Schemas
}

/** Folds the log page by page into rows held in memory, on top of the rows of a table. */
export class Folding {
  /** Rows changed since the last write, in the order in which the log first touched them. */
  readonly held = new Map<string, ViewRow | undefined>()
  position: number
  /** Whether the last page reached the end of the log. */
  isAtEnd = false
  /** The position of the event that the view failed at. */
  failingPosition: number | undefined
  readonly #parts: FoldingParts
  readonly #view: View
  readonly #table: ViewTable
  readonly #skipped = new Set<string>()
  #keysToSkip = 0
  #lastInstant: Instant = ''

  constructor(parts: FoldingParts, view: View, table: ViewTable, position: number) {
    this.#parts = parts
    this.#view = view
    this.#table = table
    this.position = position
  }

  /** Skips the next `keys` keys, whose rows are final already; 0 stops skipping. */
  skipKeys(keys: number): void {
    this.#keysToSkip = keys
    this.#skipped.clear()
  }

  /**
   * Folds the next page, up to a position.
   *
   * @throws {DamagedEvent} with its position
   */
  *foldPage(until = Number.POSITIVE_INFINITY): Steps<void> {
    try {
      yield* this.#foldPage(until)
    } catch (error) {
      throw error instanceof DamagedEvent ? error.withPosition(this.failingPosition) : error
    }
  }

  *#foldPage(until: number): Steps<void> {
    const { schemas } = this.#parts
    const limit = Math.min(pageEvents, until - this.position)
    const page = yield* readHeaders({ after: this.position, limit })
    for (const text of page) {
      // Positions have no gaps.
      this.failingPosition = this.position + 1
      const event = readHeaderWithSchema(text, schemas)
      // Events appended together have the same instant: sharing the string leaves less garbage.
      if (event.at === this.#lastInstant) event.at = this.#lastInstant
      this.#lastInstant = event.at
      this.position = event.position
      const key = this.#view.key(event)
      if (key === undefined || this.#isSkipped(key)) continue
      const held = this.held.get(key)
      const before = held ?? (this.held.has(key) ? undefined : yield* this.#table.find(key))
      const row = foldOne(this.#view, key, before, event)
      if (held && row) copyChangedCells(held, row)
      else this.held.set(key, row && { ...row })
    }
    this.failingPosition = undefined
    this.isAtEnd = page.length < limit
  }

  /** Folds the next events: about a millisecond of work. */
  foldStep(): Steps<void> {
    return this.#foldPages(pagesAtOnce)
  }

  /** Folds a larger step, to catch up even while another process appends all the time. */
  foldLargeStep(): Steps<void> {
    return this.#foldPages(pagesMax)
  }

  *#foldPages(max: number): Steps<void> {
    this.isAtEnd = false
    for (let pages = 0; pages < max && !this.isAtEnd; pages++) yield* this.foldPage()
  }

  #isSkipped(key: string): boolean {
    if (this.#keysToSkip === 0) return false
    if (this.#skipped.has(key)) return true
    if (this.#skipped.size >= this.#keysToSkip || this.held.has(key)) return false
    this.#skipped.add(key)
    return true
  }
}

/** Copies changed columns into our own row: a new row per event made the garbage collector ask for more memory. */
function copyChangedCells(held: ViewRow, row: ViewRow): void {
  if (held === row) return
  for (const column in held) {
    const cell = row[column] ?? null // Every row has every column.
    if (held[column] !== cell) held[column] = cell
  }
}

/** What `catchUp` works with. */
export interface CatchUpParts {
  readonly connection: Connection
  readonly schemas: Schemas
  /** Called in the transaction in which a view rejoins the head, before its commit. */
  readonly onRejoined: () => void
}

/**
 * Brings a stopped view up to the end of the log, in pages and outside appends, and makes it running in one
 * transaction. If another process does the same, no event is folded twice.
 *
 * @returns whether this process made it running again
 * @throws what the view throws; the view then stays stopped, with the reason recorded
 */
export async function catchUp(parts: CatchUpParts, view: View, signal?: AbortSignal): Promise<boolean> {
  const { connection } = parts
  const table = new ViewTable(view)
  try {
    while (!signal?.aborted) {
      const page = await connection.read(() => foldNext(parts, view, table))
      if (!page) return false
      if (await connection.transact(() => writePage(parts, view, table, page))) return true
      await yieldToEventLoop()
    }
    return false
  } catch (error) {
    // The original error is thrown, whether or not the reason can be recorded.
    if (isFailureOfOneView(error))
      await connection.transact(() => recordFailure(parts, view, table, error)).catch(() => undefined)
    throw error
  }
}

/** Reports whether an error concerns one view only: the view threw, or an event that it folds is damaged. */
export function isFailureOfOneView(error: unknown): boolean {
  return !(error instanceof AverbaError) || error instanceof DamagedEvent
}

interface FoldedPage {
  readonly from: number
  readonly folding: Folding
}

function* foldNext(parts: CatchUpParts, view: View, table: ViewTable): Steps<FoldedPage | undefined> {
  const from = yield* stoppedPosition(view)
  if (from === undefined) return undefined
  const folding = new Folding(parts, view, table, from)
  yield* folding.foldStep()
  return { from, folding }
}

/** Writes the page, unless another process has moved the view meanwhile. Returns whether the view is running again. */
function* writePage(parts: CatchUpParts, view: View, table: ViewTable, { from, folding }: FoldedPage): Steps<boolean> {
  if ((yield* stoppedPosition(view)) !== from) return false
  // The view rejoins in this transaction, so events appended meanwhile have to be folded here.
  if (folding.isAtEnd) yield* folding.foldLargeStep()
  yield* table.write(folding.held.values())
  if (folding.isAtEnd) yield* rejoinHead(parts, view)
  else yield* updateStopped(view, { position: folding.position })
  return folding.isAtEnd
}

/** Makes a view running again. The cached list is dropped before the commit: an append may follow at once. */
export function* rejoinHead({ onRejoined }: Pick<CatchUpParts, 'onRejoined'>, view: View): Steps<void> {
  yield* joinHead(view)
  onRejoined()
}

function* recordFailure(parts: CatchUpParts, view: View, table: ViewTable, error: unknown): Steps<void> {
  const after = yield* stoppedPosition(view)
  if (after === undefined) return
  if (error instanceof DamagedEvent) return yield* recordStopReason(view, error, error.position)
  const events = yield* readPage(parts.schemas, { after, limit: foldedMax })
  yield* recordStopReason(view, error, (yield* findFailingEvent(view, table, events))?.position)
}

/** Records for operators why a view is stopped. Does nothing for a running view. */
export function* recordStopReason(view: View, error: unknown, position: number | undefined): Steps<void> {
  if ((yield* stoppedPosition(view)) === undefined) return
  yield* updateStopped(view, { reason: describeStop(error, position) })
}

function* updateStopped({ name }: View, changed: { position: number } | { reason: string }): Steps<void> {
  yield* rows(db.updateTable('projection').set(changed).where('view', '=', name))
}

/** The position of a stopped view; `undefined` when it is running or has another version now. */
function* stoppedPosition({ name, version }: View): Steps<number | undefined> {
  const progress = (yield* readViewProgress()).find(each => each.view === name && each.version === version)
  return progress?.isRunning ? undefined : progress?.position
}
