import type { Instant } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Connection, Steps } from '../database/connection.ts'
import { DamagedEvent } from '../log/damaged.ts'
import { readHeaderWithSchema } from '../log/header.ts'
import { readHeaders } from '../log/read.ts'
import type { Schemas } from '../log/upcasters.ts'
import { foldOne, type ViewRow, type ViewTable } from './view-table.ts'

/** Few enough for a page's leftovers to be collected young: with 250, a rebuild of a long log took 60 MB more. */
const pageRows = 125
/** How many pages are folded in one go, and in one where others append meanwhile: more than they append. */
const [pagesAtOnce, pagesMax] = [2, 8]
/** How many events are folded in two goes at most, where others append in the second. */
export const foldedMax = pageRows * (pagesAtOnce + pagesMax)

/** Where the log is read from, and how. */
export interface FoldingParts {
  readonly connection: Connection
  readonly schemas: Schemas
}

/** Folds the log page by page into rows held in memory, over those that a table has. */
export class Folding {
  /** The rows that changed since they were last written, in the order in which the log first touched them. */
  readonly held = new Map<string, ViewRow | undefined>()
  /** The log is folded up to here. */
  position: number
  /** The last page was not full: there was nothing after it. */
  isAtEnd = false
  /** The event that the view failed at, if it did. */
  failing: number | undefined
  readonly #parts: FoldingParts
  readonly #view: View
  readonly #table: ViewTable
  readonly #passed = new Set<string>()
  #passes = 0
  #at: Instant = ''

  constructor(parts: FoldingParts, view: View, table: ViewTable, position: number) {
    this.#parts = parts
    this.#view = view
    this.#table = table
    this.position = position
  }

  /** Skips the next `keys` keys, whose rows are final already; 0 stops skipping. */
  pass(keys: number): void {
    this.#passes = keys
    this.#passed.clear()
  }

  /**
   * Folds the next page, of events up to a position.
   *
   * @throws {DamagedEvent} which says where it stands
   */
  *page(until = Number.POSITIVE_INFINITY): Steps<void> {
    try {
      yield* this.#foldPage(until)
    } catch (error) {
      throw error instanceof DamagedEvent ? error.withPosition(this.failing) : error
    }
  }

  *#foldPage(until: number): Steps<void> {
    const { schemas } = this.#parts
    const limit = Math.min(pageRows, until - this.position)
    const page = yield* readHeaders({ after: this.position, limit })
    for (const text of page) {
      // Positions are dense.
      this.failing = this.position + 1
      const event = readHeaderWithSchema(text, schemas)
      // Events appended together have the same instant: sharing its text leaves less to collect.
      if (event.at === this.#at) event.at = this.#at
      this.#at = event.at
      this.position = event.position
      const key = this.#view.key(event)
      if (key === undefined || this.#isPassed(key)) continue
      const held = this.held.get(key)
      const before = held ?? (this.held.has(key) ? undefined : yield* this.#table.find(key))
      const row = foldOne(this.#view, key, before, event)
      if (held && row) takeOver(held, row)
      else this.held.set(key, row && { ...row })
    }
    this.failing = undefined
    this.isAtEnd = page.length < limit
  }

  /** Folds the next events, in one go of a millisecond. */
  next(): Steps<void> {
    return this.#pages(pagesAtOnce)
  }

  /** Folds what came meanwhile: more in one go, to catch up even with somebody who appends all the time. */
  pages(): Steps<void> {
    return this.#pages(pagesMax)
  }

  *#pages(most: number): Steps<void> {
    this.isAtEnd = false
    for (let pages = 0; pages < most && !this.isAtEnd; pages++) yield* this.page()
  }

  #isPassed(key: string): boolean {
    if (this.#passes === 0) return false
    if (this.#passed.has(key)) return true
    if (this.#passed.size >= this.#passes || this.held.has(key)) return false
    this.#passed.add(key)
    return true
  }
}

/**
 * Copies what changed into a row of our own. A new row for every event would live just long enough to make the garbage
 * collector ask for more memory; most columns stay as they are.
 */
function takeOver(held: ViewRow, row: ViewRow): void {
  if (held === row) return
  for (const column in held) {
    const cell = row[column] ?? null // Every row has every column.
    if (held[column] !== cell) held[column] = cell
  }
}
