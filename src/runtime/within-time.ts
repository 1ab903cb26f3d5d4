import { LateError } from '../vocabulary/errors.ts'
import { type Clock, cancelReason } from './clock.ts'

/** Lets work observe and change its time limit. */
export interface TimeLimit {
  readonly signal: AbortSignal
  restart(): void
  /** Counts the remaining time by another clock until the returned function is called. */
  countBy(clock: Clock): () => void
}

/** Runs work with a time limit. When the time is up, it aborts the work and rejects with a `LateError`. */
export async function withinTime<T>(clock: Clock, ms: number, work: (limit: TimeLimit) => Promise<T>): Promise<T> {
  const late = new AbortController()
  let isDone = false
  let changed = new AbortController()
  let counting = { by: clock, since: clock.now(), leftMs: ms }
  // A clock that goes back must not extend the limit.
  const leftMs = () => counting.leftMs - Math.max(0, counting.by.now() - counting.since)
  const count = (by: Clock, left: number) => {
    counting = { by, since: by.now(), leftMs: left }
    changed.abort(cancelReason)
    changed = new AbortController()
  }
  const rejectWhenLate = async (working: Promise<T>): Promise<T> => {
    while (leftMs() > 0 && !isDone) {
      const { signal } = changed
      await counting.by.sleep(leftMs(), signal, 'the time of a delivery')
      // A sleep that was not aborted has used up the time, even if the clock went back meanwhile.
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
    return await Promise.race([working, rejectWhenLate(working)])
  } finally {
    isDone = true
    changed.abort(cancelReason)
  }
}
