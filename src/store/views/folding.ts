import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import { type Connection, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { DamagedEvent, type HeaderReader } from '../log/header.ts'
import { readHeaders, readPage } from '../log/read.ts'
import { describeStop, findFailingEvent, joinHead, readProgressOf } from './projector.ts'
import { foldOne, type ViewRow, ViewTable } from './view-table.ts'

/** Small enough for a page's objects to be collected young: with 250, a rebuild of a long log took 60 MB more. */
const pageEvents = 125
/** The pages of a step: about a millisecond of work. */
export const stepPages = 2
/** The pages of a step that catches up even while another process appends all the time. */
export const largeStepPages = 8
/** The most events that two such steps fold. */
const foldedMax = pageEvents * (stepPages + largeStepPages)

/** Folds the log page by page into rows held in memory, on top of the rows of a table. */
export class Folding {
  /** Rows changed since the last write, in the order in which the log first touched them. */
  readonly held = new Map<string, ViewRow | undefined>()
  /** Where it began, and how far it has come. */
  readonly from: number
  position: number
  /** Whether the last page reached the end of the log. */
  isAtEnd = false
  failingPosition: number | undefined
  readonly #headers: HeaderReader
  readonly #view: View
  readonly #table: ViewTable
  readonly #skipped = new Set<string>()
  #keysToSkip = 0
  #lastInstant: Instant = ''

  constructor(headers: HeaderReader, view: View, table: ViewTable, from: number) {
    this.#headers = headers
    this.#view = view
    this.#table = table
    this.from = from
    this.position = from
  }

  /** Skips the next `keys` keys, whose rows are final already; 0 stops skipping. */
  skipKeys(keys: number): void {
    this.#keysToSkip = keys
    this.#skipped.clear()
  }

  *foldPages(max: number): Steps<void> {
    this.isAtEnd = false
    for (let pages = 0; pages < max && !this.isAtEnd; pages++) yield* this.foldPage()
  }

  /** Folds the next page, up to a position. Throws a `DamagedEvent` with its position. */
  *foldPage(until = Number.POSITIVE_INFINITY): Steps<void> {
    const limit = Math.min(pageEvents, until - this.position)
    const page = yield* readHeaders({ after: this.position, limit })
    try {
      for (const stored of page) {
        // Positions have no gaps.
        this.failingPosition = this.position + 1
        const event = this.#headers.readWithSchema(stored)
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
    } catch (error) {
      throw error instanceof DamagedEvent ? error.withPosition(this.failingPosition) : error
    }
    this.failingPosition = undefined
    this.isAtEnd = page.length < limit
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

export interface CatchUpParts {
  readonly connection: Connection
  readonly headers: HeaderReader
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
  const { connection, headers, onRejoined } = parts
  const table = new ViewTable(view)
  try {
    while (!signal?.aborted) {
      const folding = await connection.read(() => foldNext(headers, view, table))
      if (!folding) return false
      if (await connection.transact(() => writeFolded(folding, view, table, onRejoined))) return true
      await yieldToEventLoop()
    }
    return false
  } catch (error) {
    // The original error is thrown, whether or not the reason can be recorded.
    if (isFailureOfOneView(error))
      await connection.transact(() => recordFailure(headers, view, table, error)).catch(() => undefined)
    throw error
  }
}

/** Reports whether an error concerns one view only: the view threw, or an event that it folds is damaged. */
export function isFailureOfOneView(error: unknown): boolean {
  return !(error instanceof AverbaError) || error instanceof DamagedEvent
}

function* foldNext(headers: HeaderReader, view: View, table: ViewTable): Steps<Folding | undefined> {
  const from = yield* stoppedPosition(view)
  if (from === undefined) return undefined
  const folding = new Folding(headers, view, table, from)
  yield* folding.foldPages(stepPages)
  return folding
}

/** Writes the rows, unless another process has moved the view meanwhile. Returns whether the view is running again. */
function* writeFolded(folding: Folding, view: View, table: ViewTable, onRejoined: () => void): Steps<boolean> {
  if ((yield* stoppedPosition(view)) !== folding.from) return false
  // The view rejoins in this transaction, so events appended meanwhile have to be folded here.
  if (folding.isAtEnd) yield* folding.foldPages(largeStepPages)
  yield* table.write(folding.held.values())
  if (folding.isAtEnd) yield* joinHead(view, onRejoined)
  else yield* updateStopped(view, { position: folding.position })
  return folding.isAtEnd
}

function* recordFailure(headers: HeaderReader, view: View, table: ViewTable, error: unknown): Steps<void> {
  const after = yield* stoppedPosition(view)
  if (after === undefined) return
  if (error instanceof DamagedEvent) return yield* recordStopReason(view, error, error.position)
  const events = yield* readPage(headers, { after, limit: foldedMax })
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
function* stoppedPosition(view: View): Steps<number | undefined> {
  const progress = yield* readProgressOf(view)
  return progress?.isRunning ? undefined : progress?.position
}
