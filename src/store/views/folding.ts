import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant, RecordedEvent } from '../../vocabulary/message.ts'
import type { View } from '../../vocabulary/view.ts'
import { type Connection, rows, type Steps, together } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { DamagedEvent, type HeaderReader, type StoredHeader } from '../log/header.ts'
import { outOfOrder, readHeaders, readPage } from '../log/read.ts'
import { describeStop, findFailingEvent, joinHead, readProgressOf } from './projector.ts'
import { foldOne, type ViewRow, ViewTable } from './view-table.ts'

/** Small enough for a page's objects to be collected young: with 250, a rebuild of a long log took 60 MB more. */
const pageEvents = 125
/** The pages of a step: a few milliseconds of work for all views. */
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
  /** Why it cannot go on: the view throws, or the next event is damaged. */
  failure: { readonly position: number; readonly error: unknown } | undefined
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

  /** Folds the events that it has not folded yet, up to one that fails. */
  *fold(events: readonly RecordedEvent[]): Steps<void> {
    const fresh = events.filter(({ position }) => position > this.position)
    if (!this.#table.isEmpty) yield* this.#readRows(fresh)
    for (const event of fresh) {
      try {
        this.#foldOne(event)
      } catch (error) {
        this.failure = { position: event.position, error }
        return
      }
      this.position = event.position
    }
  }

  #foldOne(event: RecordedEvent): void {
    const key = this.#view.key(event)
    if (key === undefined || this.#isSkipped(key)) return
    const held = this.held.get(key)
    const row = foldOne(this.#view, key, held, event)
    if (held && row) copyChangedCells(held, row)
    else this.held.set(key, row && { ...row })
  }

  /** Reads the rows that events change, unless they are held: one request for all. */
  *#readRows(events: readonly RecordedEvent[]): Steps<void> {
    const keys = new Set<string>()
    try {
      for (const event of events) {
        const key = this.#view.key(event)
        if (key !== undefined && !this.#isSkipped(key) && !this.held.has(key)) keys.add(key)
      }
    } catch {
      // It fails again when the event is folded.
    }
    const found = yield* together([...keys].map(key => this.#table.find(key)))
    for (const [i, key] of [...keys].entries()) this.held.set(key, found[i])
  }

  #isSkipped(key: string): boolean {
    if (this.#keysToSkip === 0) return false
    if (this.#skipped.has(key)) return true
    if (this.#skipped.size >= this.#keysToSkip || this.held.has(key)) return false
    this.#skipped.add(key)
    return true
  }
}

/** Folds some pages of the log for views that have not failed. Each event is read once for all. */
export function* foldPages(headers: HeaderReader, foldings: readonly Folding[], max: number): Steps<void> {
  let going = foldings.filter(each => !each.failure)
  for (let pages = 0; pages < max && going.length > 0; pages++) {
    yield* foldPage(headers, going)
    going = going.filter(each => !each.failure && !each.isAtEnd)
  }
}

/** Folds some pages for one view. Throws its failure. */
export function* foldPagesOf(headers: HeaderReader, folding: Folding, max: number): Steps<void> {
  yield* foldPages(headers, [folding], max)
  if (folding.failure) throw folding.failure.error
}

/** Folds one page, up to a position. Views that have come further skip what they have folded. */
export function* foldPage(
  headers: HeaderReader,
  foldings: readonly Folding[],
  until = Number.POSITIVE_INFINITY,
): Steps<void> {
  const from = positionOf(foldings)
  const limit = Math.min(pageEvents, until - from)
  const page = yield* readHeaders({ after: from, limit })
  const { events, damage } = readEvents(headers, page, from)
  yield* together(foldings.map(each => each.fold(events)))
  for (const each of foldings) {
    if (damage && each.position < damage.position) each.failure ??= damage
    each.isAtEnd = page.length < limit
  }
}

type ReadEvent = RecordedEvent & { at: Instant }

/** Reads the events of a page, up to one that is damaged. */
function readEvents(headers: HeaderReader, page: readonly StoredHeader[], from: number) {
  const events: ReadEvent[] = []
  for (const stored of page) {
    const before = events.at(-1)
    try {
      const event = headers.read<ReadEvent>(stored)
      if (event.position <= (before?.position ?? from)) throw outOfOrder(event)
      // Events appended together have the same instant: sharing the string leaves less garbage.
      if (event.at === before?.at) event.at = before.at
      events.push(event)
    } catch (error) {
      // Positions have no gaps.
      const position = (before?.position ?? from) + 1
      if (!isFailureOfOneView(error)) throw error
      return {
        events,
        damage: { position, error: error instanceof DamagedEvent ? error.withPosition(position) : error },
      }
    }
  }
  return { events }
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
  yield* foldPagesOf(headers, folding, stepPages)
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
  if (folding.isAtEnd) yield* foldPagesOf(headers, folding, largeStepPages)
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
