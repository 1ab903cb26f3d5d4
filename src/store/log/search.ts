import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Connection, Steps } from '../database/connection.ts'
import { endOfLog } from './position-before.ts'

/** The positions that one statement reads: more than `above`, up to and including `upTo`. */
export interface PositionWindow {
  readonly above: number
  readonly upTo: number
}

/** Where a search begins, its direction, and how many results it needs. */
export interface SearchBounds {
  /** The position next to which it begins. By default an end of the log. */
  readonly after?: number | undefined
  readonly backward?: boolean
  readonly limit: number
}

/** Positions per statement: reading them takes about ten milliseconds. */
const windowPositions = 20_000

/**
 * Searches the log for rare events, window by window, and yields to the event loop in between: one statement over
 * millions of events would block it for seconds. `end` is the end of the log at the last window.
 */
export async function searchLog<T>(
  reader: Pick<Connection, 'read'>,
  { after, backward = false, limit }: SearchBounds,
  readWindow: (window: PositionWindow, limit: number) => Steps<readonly T[]>,
): Promise<{ found: T[]; end: number }> {
  const found: T[] = []
  for (let from = after; ; ) {
    const { page, window, end } = await reader.read(function* () {
      const end = yield* endOfLog()
      const window = backward ? windowBefore(Math.min(from ?? end + 1, end + 1)) : windowAfter(from ?? 0, end)
      return { page: yield* readWindow(window, limit - found.length), window, end }
    })
    found.push(...page)
    const isOver = backward ? window.above === 0 : window.upTo >= end
    if (isOver || found.length === limit) return { found, end }
    from = backward ? window.above + 1 : window.upTo
    await yieldToEventLoop()
  }
}

function windowAfter(position: number, end: number): PositionWindow {
  return { above: position, upTo: Math.min(position + windowPositions, end) }
}

function windowBefore(position: number): PositionWindow {
  return { above: Math.max(0, position - 1 - windowPositions), upTo: position - 1 }
}
