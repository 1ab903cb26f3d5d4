import { LateError } from '../vocabulary/errors.ts'

/** The only source of time: tests replace it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
  /** Resolves after `ms` milliseconds or when the signal aborts; never rejects. `what` names the wait for observers. */
  sleep(ms: number, signal?: AbortSignal, what?: string): Promise<void>
}

/** The reason for aborting a wait: without one, `abort()` creates an error with a stack trace. */
export const cancelReason = 'called off'

/** Waits for work, at most for some milliseconds. No timer is left. `what` names the wait for observers. */
export async function waitAtMost(clock: Clock, ms: number, work: Promise<unknown>, what?: string): Promise<void> {
  const done = new AbortController()
  try {
    await Promise.race([work, clock.sleep(ms, done.signal, what)])
  } finally {
    done.abort(cancelReason)
  }
}

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

/** The longest delay of a timer: about 24 days. */
const timerMaxMs = 2 ** 31 - 1

/** The clock of the operating system. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal?.aborted) return resolve()
      const timer = setTimeout(done, Math.min(ms, timerMaxMs))
      function done() {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      signal?.addEventListener('abort', done)
    }),
}

/** Returns a stopwatch in milliseconds. For the system clock it never goes back; any other clock is used directly. */
export function monotonicClock(clock: Clock): () => number {
  return clock === systemClock ? () => performance.now() : () => clock.now()
}
