import type { Averba } from '../../../src/averba/averba.ts'

/** Runs an engine until the work has ended, even if it fails. */
export async function whileRunning(averba: Averba, work: () => Promise<unknown>): Promise<void> {
  const stop = new AbortController()
  const run = averba.run({ signal: stop.signal })
  try {
    await work()
  } finally {
    stop.abort()
    await run
  }
}
