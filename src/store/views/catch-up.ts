import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { View } from '../../vocabulary/view.ts'
import { type Connection, rows, type Steps } from '../database/connection.ts'
import { DamagedEvent } from '../log/damaged.ts'
import { readPage } from '../log/read.ts'
import type { Schemas } from '../log/upcasters.ts'
import { Folding, foldedMax } from './folding.ts'
import { describeStop, findFailing, joinHead, readCheckpoints } from './projector.ts'
import { ViewTable } from './view-table.ts'

/** What a view catches up with. */
export interface CatchUpParts {
  readonly connection: Connection
  readonly schemas: Schemas
  /** Told in the transaction by which a view rejoins the end of the log, before its commit. */
  readonly onRejoined: () => void
}

/**
 * Brings a view that stopped up to the end of the log from where it stands, a page at a time and outside appends, and
 * lets it rejoin in one transaction. Another process may do the same: its work counts, and nothing is folded twice.
 *
 * @returns whether it rejoined by this process's hand
 * @throws what the view throws: the view stays where it is, and says which event and why
 */
export async function catchUp(parts: CatchUpParts, view: View, signal?: AbortSignal): Promise<boolean> {
  const { connection } = parts
  const table = new ViewTable(view)
  try {
    while (!signal?.aborted) {
      const page = await connection.read(() => foldNext(parts, view, table))
      if (!page) return false
      if (await connection.transact(() => takeOver(parts, view, table, page))) return true
      await yieldToEventLoop()
    }
    return false
  } catch (error) {
    // Its failure is told either way.
    if (isOfOneView(error))
      await connection.transact(() => explain(parts, view, table, error)).catch(() => undefined)
    throw error
  }
}

/** Reports whether a view alone has failed: it threw, or an event that it folds cannot be read. */
export function isOfOneView(error: unknown): boolean {
  return !(error instanceof AverbaError) || error instanceof DamagedEvent
}

/** What a page folded, and where the view stood before. */
interface FoldedPage {
  readonly from: number
  readonly folding: Folding
}

/** Folds the next page of a view that stands still; `undefined` when it runs. */
function* foldNext(parts: CatchUpParts, view: View, table: ViewTable): Steps<FoldedPage | undefined> {
  const from = yield* stoppedAt(view)
  if (from === undefined) return undefined
  const folding = new Folding(parts, view, table, from)
  yield* folding.next()
  return { from, folding }
}

/** Writes the page, and says whether the view rejoined. Writes nothing where another process has moved it meanwhile. */
function* takeOver(
  parts: CatchUpParts,
  view: View,
  table: ViewTable,
  { from, folding }: FoldedPage,
): Steps<boolean> {
  if ((yield* stoppedAt(view)) !== from) return false
  // Events appended meanwhile belong to the transaction in which it rejoins.
  if (folding.isAtEnd) yield* folding.pages()
  yield* table.write(folding.held.values())
  if (folding.isAtEnd) yield* rejoin(parts, view)
  else yield* rows({ sql: moveStopped, parameters: [folding.position, view.name] })
  return folding.isAtEnd
}

/** The memory of which views run has to be dropped before the commit: the next append begins right after it. */
export function* rejoin({ onRejoined }: Pick<CatchUpParts, 'onRejoined'>, view: View): Steps<void> {
  yield* joinHead(view)
  onRejoined()
}

/** Finds the event that a view fails at: it may be another one than when the view stopped. */
function* explain(parts: CatchUpParts, view: View, table: ViewTable, error: unknown): Steps<void> {
  const after = yield* stoppedAt(view)
  if (after === undefined) return
  if (error instanceof DamagedEvent) return yield* explainStop(view, error, error.position)
  const events = yield* readPage(parts.schemas, { after, limit: foldedMax })
  yield* explainStop(view, error, (yield* findFailing(view, table, events))?.position)
}

/** Records why a view stands still, for operators; not for one that runs. */
export function* explainStop(view: View, error: unknown, position: number | undefined): Steps<void> {
  if ((yield* stoppedAt(view)) === undefined) return
  yield* rows({ sql: setReason, parameters: [describeStop(error, position), view.name] })
}

/** Where a view stands still; `undefined` when it runs, or is now of another version. */
function* stoppedAt({ name, version }: View): Steps<number | undefined> {
  const checkpoint = (yield* readCheckpoints()).find(each => each.view === name && each.version === version)
  return checkpoint?.isRunning ? undefined : checkpoint?.position
}

const moveStopped = 'update projection set position = ? where view = ?'
const setReason = 'update projection set reason = ? where view = ?'
