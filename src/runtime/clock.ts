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
