import { type Clock, calledOff } from '../clock.ts'

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
  /** Counts what is left by another clock, until what is returned is called. */
  countBy(clock: Clock): () => void
}

/** Does work within so much time of a clock; rejects with a `LateError`, and aborts the work, when it is over. */
export async function withinTime<T>(
  clock: Clock,
  ms: number,
  work: (limit: Limit) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  let isDone = false
  let changed = new AbortController()
  let counting = { by: clock, since: clock.now(), leftMs: ms }
  // A clock that goes back gives nobody more time.
  const leftMs = () => counting.leftMs - Math.max(0, counting.by.now() - counting.since)
  const count = (by: Clock, left: number) => {
    counting = { by, since: by.now(), leftMs: left }
    changed.abort(calledOff)
    changed = new AbortController()
  }
  const over = async (working: Promise<T>): Promise<T> => {
    while (leftMs() > 0 && !isDone) {
      const { signal } = changed
      await counting.by.sleep(leftMs(), signal, 'the time of a delivery')
      // Who slept through it need not ask the clock, which may have gone back meanwhile.
      if (!signal.aborted) break
    }
    if (isDone) return working
    const error = new LateError(`It took longer than ${ms} ms`)
    late.abort(error)
    throw error
  }
  const limit: Limit = {
    signal: late.signal,
    restart: () => count(counting.by, ms),
    countBy(other) {
      count(other, leftMs())
      return () => count(clock, leftMs())
    },
  }
  try {
    const working = work(limit)
    return await Promise.race([working, over(working)])
  } finally {
    isDone = true
    changed.abort(calledOff)
  }
}
