import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import { type Connection, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { DamagedEvent, type HeaderReader, type StoredHeader } from '../log/header.ts'
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

/** Folds events of the log into the rows of one view, which are held in memory on top of the rows of a table. */
export class Folding {
  /** Rows changed since the last write, in the order in which the log first touched them. */
  readonly held = new Map<string, ViewRow | undefined>()
  /** Where it began, and how far it has come. */
  readonly from: number
  position: number
  /** Whether the last page reached the end of the log. */
  isAtEnd = false
  /** The event that cannot be folded: it is damaged, or the view throws. */
  failingPosition: number | undefined
  readonly #view: View
  readonly #table: ViewTable
  readonly #skipped = new Set<string>()
  #keysToSkip = 0

  constructor(view: View, table: ViewTable, from: number) {
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

  *fold(event: RecordedEvent): Steps<void> {
    this.failingPosition = event.position
    const key = this.#view.key(event)
    if (key !== undefined && !this.#isSkipped(key)) {
      const held = this.held.get(key)
      const before = held ?? (this.held.has(key) ? undefined : yield* this.#table.find(key))
      const row = foldOne(this.#view, key, before, event)
      if (held && row) copyChangedCells(held, row)
      else this.held.set(key, row && { ...row })
    }
    this.failingPosition = undefined
    this.position = event.position
  }

  #isSkipped(key: string): boolean {
    if (this.#keysToSkip === 0) return false
    if (this.#skipped.has(key)) return true
    if (this.#skipped.size >= this.#keysToSkip || this.held.has(key)) return false
    this.#skipped.add(key)
    return true
  }
}

/** Folds some pages for views: see `foldPage`. */
export function* foldPages(headers: HeaderReader, foldings: readonly Folding[], max: number): Steps<void> {
  for (let pages = 0; pages < max; pages++) {
    yield* foldPage(headers, foldings)
    if (foldings.every(each => each.isAtEnd)) return
  }
}

/**
 * Reads one page of the log, up to a position, and folds it for all views: where one begins further back, the others
 * skip what they have folded. Throws what a view throws, or a `DamagedEvent` with its position.
 */
export function* foldPage(
  headers: HeaderReader,
  foldings: readonly Folding[],
  until = Number.POSITIVE_INFINITY,
): Steps<void> {
  const from = positionOf(foldings)
  const limit = Math.min(pageEvents, until - from)
  const page = yield* readHeaders({ after: from, limit })
  let [position, lastInstant] = [from, '']
  for (const stored of page) {
    // Positions have no gaps.
    const event = readEvent(headers, foldings, stored, position + 1)
    // Events appended together have the same instant: sharing the string leaves less garbage.
    if (event.at === lastInstant) event.at = lastInstant
    lastInstant = event.at
    position = event.position
    for (const each of foldings) if (each.position < position) yield* each.fold(event)
  }
  for (const each of foldings) each.isAtEnd = page.length < limit
}

/** Reads an event. When it is damaged, all views that have not come so far fail at it. */
function readEvent(headers: HeaderReader, foldings: readonly Folding[], stored: StoredHeader, position: number) {
  try {
    return headers.readWithSchema(stored)
  } catch (error) {
    for (const each of foldings) if (each.position < position) each.failingPosition = position
    throw error instanceof DamagedEvent ? error.withPosition(position) : error
  }
}

/** How far all views have come. */
export function positionOf(foldings: readonly Folding[]): number {
  return Math.min(...foldings.map(({ position }) => position))
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
  const { connection, headers } = parts
  const table = new ViewTable(view)
  try {
    while (!signal?.aborted) {
      const folding = await connection.read(() => foldNext(headers, view, table))
      if (!folding) return false
      if (await connection.transact(() => writeFolded(parts, folding, view, table))) return true
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
  const folding = new Folding(view, table, from)
  yield* foldPages(headers, [folding], stepPages)
  return folding
}

/** Writes the rows, unless another process has moved the view meanwhile. Returns whether the view is running again. */
function* writeFolded(
  { headers, onRejoined }: CatchUpParts,
  folding: Folding,
  view: View,
  table: ViewTable,
): Steps<boolean> {
  if ((yield* stoppedPosition(view)) !== folding.from) return false
  // The view rejoins in this transaction, so events appended meanwhile have to be folded here.
  if (folding.isAtEnd) yield* foldPages(headers, [folding], largeStepPages)
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
