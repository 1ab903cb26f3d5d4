/** The exit codes of a process that two signals ended: those that shells give to a process that the signal killed. */
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
