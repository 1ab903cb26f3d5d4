import { fstatSync } from 'node:fs'

/** Resolves at a signal, or when the pipe at our standard input ends: then nobody is left to stop us. */
export function untilToldToStop(): Promise<void> {
  return new Promise(stop => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop())
    const input = fstatSync(0)
    if (!input.isFIFO() && !input.isSocket()) return
    process.stdin.on('end', () => stop())
    process.stdin.on('close', () => stop())
    process.stdin.resume()
  })
}
