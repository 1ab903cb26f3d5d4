import type { World } from '../../src/simulation/index.ts'

/**
 * Lets an engine run. The returned function stops it, and waits until it has ended. Closing the engine, as at the end of
 * a test, stops it too.
 */
export function startRun({ averba, clock }: Pick<World, 'averba' | 'clock'>): () => Promise<void> {
  const stop = new AbortController()
  const running = averba.run({ signal: stop.signal })
  return () => {
    stop.abort()
    return clock.finish(running)
  }
}
