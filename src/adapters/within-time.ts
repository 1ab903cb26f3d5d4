import type { Clock } from '../clock.ts'

/** Work that took longer than it may. */
export class LateError extends Error {
  override readonly name = 'LateError'
}

/** What limited work is given. */
export interface Limit {
  /** Aborts when the time is over. */
  readonly signal: AbortSignal
  /** Begins to count anew. */
  restart(): void
}

/**
 * Does work within so much time of each clock; rejects with a `LateError`, and aborts the work, when it is over by
 * one of them.
 */
export async function withinTime<T>(
  clocks: readonly Clock[],
  ms: number,
  work: (limit: Limit) => Promise<T>,
): Promise<T> {
  const done = new AbortController()
  const late = new AbortController()
  const counted = clocks.map(clock => ({ clock, startedAt: clock.now() }))
  const over = async (count: (typeof counted)[number]): Promise<never> => {
    const { clock } = count
    for (let left = ms; left > 0 && !done.signal.aborted; left = count.startedAt + ms - clock.now()) {
      await clock.sleep(left, done.signal)
    }
    const error = new LateError(`It took longer than ${ms} ms`)
    if (!done.signal.aborted) late.abort(error)
    throw error
  }
  const restart = () => {
    for (const count of counted) count.startedAt = count.clock.now()
  }
  try {
    return await Promise.race([work({ signal: late.signal, restart }), ...counted.map(over)])
  } finally {
    done.abort()
  }
}
