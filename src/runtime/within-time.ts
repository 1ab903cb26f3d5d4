import { LateError } from '../vocabulary/errors.ts'
import { type Clock, cancelReason } from './clock.ts'

/** What limited work is given. */
export interface TimeLimit {
  /** Aborts when the time is over. */
  readonly signal: AbortSignal
  /** Begins to count again. */
  restart(): void
  /** Counts what is left by another clock, until the returned function is called. */
  countBy(clock: Clock): () => void
}

/** Does work within a time of a clock; when it is over, rejects with a `LateError` and aborts the work. */
export async function withinTime<T>(
  clock: Clock,
  ms: number,
  work: (limit: TimeLimit) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  let isDone = false
  let changed = new AbortController()
  let counting = { by: clock, since: clock.now(), leftMs: ms }
  // A clock that goes back must not give anybody more time.
  const leftMs = () => counting.leftMs - Math.max(0, counting.by.now() - counting.since)
  const count = (by: Clock, left: number) => {
    counting = { by, since: by.now(), leftMs: left }
    changed.abort(cancelReason)
    changed = new AbortController()
  }
  const over = async (working: Promise<T>): Promise<T> => {
    while (leftMs() > 0 && !isDone) {
      const { signal } = changed
      await counting.by.sleep(leftMs(), signal, 'the time of a delivery')
      // A sleep that ended by itself is over, even if the clock has gone back meanwhile.
      if (!signal.aborted) break
    }
    if (isDone) return working
    const error = new LateError(`It took longer than ${ms} ms`)
    late.abort(error)
    throw error
  }
  const limit: TimeLimit = {
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
    changed.abort(cancelReason)
  }
}
