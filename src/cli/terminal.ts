import type { Readable, Writable } from 'node:stream'

/** What a command uses of the process that it runs in. */
export interface Terminal {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  /** The descriptor allows another write after the stream failed. */
  readonly stdout: Writable & { readonly fd?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean }
  /** Whether standard input is a pipe: it ends when the process that started this one ends. */
  readonly isInputPipe: boolean
  /** Aborts at the first SIGINT or SIGTERM, its reason; a second one ends the process, as the first does uncalled. */
  stopSignal(): AbortSignal
}

/** Resolves at a signal, or when the pipe at standard input ends, because the process that started this one ended. */
export function waitForStop({ stdin, isInputPipe, stopSignal }: Terminal): Promise<void> {
  return new Promise(stop => {
    stopSignal().addEventListener('abort', () => stop(), { once: true })
    if (!isInputPipe) return
    stdin.on('end', () => stop())
    stdin.on('close', () => stop())
    stdin.resume()
  })
}
