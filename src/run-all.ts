import type { Clock } from './clock.ts'
import type { Engine } from './engine.ts'
import { AverbaError } from './errors.ts'
import type { Followers } from './followers.ts'

/** How often the ledger is looked at for what came due, or was left by another process. */
const lookEveryMs = 1_000

/** Performs what comes due and calls followers, until the signal. What fails is told of, and tried again. */
export async function runAll(
  engine: Engine,
  followers: Followers,
  clock: Clock,
  signal: AbortSignal,
  log: (line: Record<string, unknown>) => void,
): Promise<void> {
  await Promise.all([
    repeat(() => engine.admit(() => engine.settle()), clock, signal, log),
    repeat(() => followers.run(signal), clock, signal, log),
  ])
}

async function repeat(
  work: () => Promise<unknown>,
  clock: Clock,
  signal: AbortSignal,
  log: (line: Record<string, unknown>) => void,
): Promise<void> {
  while (!signal.aborted) {
    await work().catch((error: unknown) => {
      const name = error instanceof Error ? error.name : 'unknown'
      log({ message: 'running failed, and goes on', error: error instanceof AverbaError ? error.code : name })
    })
    await clock.sleep(lookEveryMs, signal)
  }
}
