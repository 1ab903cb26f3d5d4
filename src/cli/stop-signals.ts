import { fstatSync } from 'node:fs'

/** The exit codes when a second signal ends the process: the same as a shell reports for a killed process. */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const

/**
 * Aborts at the first SIGTERM or SIGINT, with its name as the reason. The second one ends the process at once: calls
 * under way stay in the ledger as started.
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

/** Resolves at a signal, or when the pipe at standard input ends, because the process that started this one ended. */
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
