/** How long a control server on this machine may take to answer. */
const answerMs = 2_000

/** Whether the control server of a simulation answers at an address. A killed one left its address behind. */
export async function isControlRunning(address: string): Promise<boolean> {
  try {
    return (await fetch(`${address}/requests`, { signal: AbortSignal.timeout(answerMs) })).ok
  } catch {
    return false
  }
}
