import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Connection, Steps } from '../database/connection.ts'
import { endOfLog } from './position-before.ts'

/** The positions that one statement looks at: those above one, up to another. */
export interface PositionWindow {
  readonly above: number
  readonly upTo: number
}

/** Where a search begins, which way it goes, and how much it looks for. */
export interface SearchBounds {
  /** The position that it begins behind; at an end of the log when absent. */
  readonly after?: number | undefined
  readonly backward?: boolean
  readonly limit: number
}

/** How many positions one statement looks at: that takes some ten milliseconds. */
const windowPositions = 20_000

/**
 * Searches the log for what most events may not be, one window after the other: the event loop turns in between, which
 * one statement over millions of events would hold up for seconds. Gives the end of the log as it was at the last look.
 */
export async function search<T>(
  reader: Pick<Connection, 'read'>,
  { after, backward = false, limit }: SearchBounds,
  look: (window: PositionWindow, limit: number) => Steps<readonly T[]>,
): Promise<{ found: T[]; end: number }> {
  const found: T[] = []
  for (let from = after; ; ) {
    const { page, window, end } = await reader.read(function* () {
      const end = yield* endOfLog()
      const window = backward ? windowBefore(Math.min(from ?? end + 1, end + 1)) : windowAfter(from ?? 0, end)
      return { page: yield* look(window, limit - found.length), window, end }
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
