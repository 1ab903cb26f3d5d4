import { fstatSync } from 'node:fs'

/** A signal, or the end of the pipe that our standard input is: then nobody is left to stop us. */
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
