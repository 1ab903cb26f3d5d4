import type { Instant } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Connection, Steps } from '../database/connection.ts'
import { DamagedEvent } from '../log/damaged.ts'
import { readHeaderWithSchema } from '../log/header.ts'
import { readHeaders } from '../log/read.ts'
import type { Schemas } from '../log/upcasters.ts'
import { foldOne, type ViewRow, type ViewTable } from './view-table.ts'

/** Small enough for a page's objects to be collected young: with 250, a rebuild of a long log took 60 MB more. */
const pageEvents = 125
/** How many pages are folded at a time, and how many at most while others append: more than they can append. */
const [pagesAtOnce, pagesMax] = [2, 8]
/** The most events that two such steps fold. */
export const foldedMax = pageEvents * (pagesAtOnce + pagesMax)

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
