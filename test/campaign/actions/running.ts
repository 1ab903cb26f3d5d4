import type { Averba } from '../../../src/averba/averba.ts'

/** Lets an engine run while something is done, and no longer, whatever comes of it. */
export async function running(averba: Averba, work: () => Promise<unknown>): Promise<void> {
  const stop = new AbortController()
  const run = averba.run({ signal: stop.signal })
  try {
    await work()
  } finally {
    stop.abort()
    await run
  }
}
