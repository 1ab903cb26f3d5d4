/** The only source of time. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
  /**
   * Resolves after `ms` milliseconds of this clock, or when the signal aborts. Never rejects. `what` says what is
   * waited for, to whoever watches the clock.
   */
  sleep(ms: number, signal?: AbortSignal, what?: string): Promise<void>
}

/** The reason for ending a wait that is no longer needed: without one, `abort()` builds an error with its stack. */
export const cancelReason = 'called off'

/** What a timer can hold: about 24 days. */
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

/**
 * A stopwatch in milliseconds, with fractions. For the system's clock it is one that never goes back; for any other,
 * that clock itself.
 */
export function monotonicClock(clock: Clock): () => number {
  return clock === systemClock ? () => performance.now() : () => clock.now()
}
