import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { View } from '../../vocabulary/view.ts'
import { type Connection, rows, type Steps } from '../database/connection.ts'
import { DamagedEvent } from '../log/damaged.ts'
import { readPage } from '../log/read.ts'
import type { Schemas } from '../log/upcasters.ts'
import { Folding, foldedMax } from './folding.ts'
import { describeStop, findFailingEvent, joinHead, readViewProgress } from './projector.ts'
import { ViewTable } from './view-table.ts'

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
  else yield* rows({ sql: updateStoppedPosition, parameters: [folding.position, view.name] })
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
  yield* rows({ sql: updateStopReason, parameters: [describeStop(error, position), view.name] })
}

/** The position of a stopped view; `undefined` when it is running or has another version now. */
function* stoppedPosition({ name, version }: View): Steps<number | undefined> {
  const progress = (yield* readViewProgress()).find(each => each.view === name && each.version === version)
  return progress?.isRunning ? undefined : progress?.position
}

const updateStoppedPosition = 'update projection set position = ? where view = ?'
const updateStopReason = 'update projection set reason = ? where view = ?'
