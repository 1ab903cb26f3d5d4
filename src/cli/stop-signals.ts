import { fstatSync } from 'node:fs'

/** Exit codes of a process that a second signal ends: those that a shell gives for a process killed by it. */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const

/**
 * Aborts at the first SIGTERM or SIGINT, with its name as the reason. The second one ends the process at once: what
 * was under way stays in the ledger as begun.
 */
export function stopSignals(): AbortSignal {
  const stopping = new AbortController()
  for (const [signal, exitCode] of Object.entries(exitCodes)) {
    process.on(signal, () => {
      if (stopping.signal.aborted) process.exit(exitCode)
      stopping.abort(signal)
    })
  }
  return stopping.signal
}

/** Resolves at a signal, or when the pipe at our standard input ends: then nobody is left to stop us. */
export function waitForStop(): Promise<void> {
  return new Promise(stop => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop())
    const input = fstatSync(0)
    if (!input.isFIFO() && !input.isSocket()) return
    process.stdin.on('end', () => stop())
    process.stdin.on('close', () => stop())
    process.stdin.resume()
  })
}
