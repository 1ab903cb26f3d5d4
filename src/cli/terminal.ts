import type { Readable, Writable } from 'node:stream'
import type { Language } from '../index.ts'
import { createSay, languageOf, type Say } from './language.ts'

/** What a command uses of the process that it runs in. */
export interface HostTerminal {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  /** The descriptor allows another write after the stream failed. */
  readonly stdout: Writable & { readonly fd?: number; readonly isTTY?: boolean; readonly columns?: number }
  readonly stderr: Writable & { readonly isTTY?: boolean }
  /** Whether standard input is a pipe: it ends when the process that started this one ends. */
  readonly isInputPipe: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborts at the first SIGINT or SIGTERM, its reason; a second one ends the process, as the first does uncalled. */
  stopSignal(): AbortSignal
}

/** What a command uses: the process, and the language that its user reads. */
export interface Terminal extends HostTerminal {
  readonly say: Say
  /** Whether JSON is asked for: then errors and log lines are JSON too. */
  readonly isJson: boolean
}

export function withLanguage(
  host: HostTerminal,
  language: Language = languageOf(host.env),
  isJson = false,
  commands?: Say['commands'],
): Terminal {
  // A getter stays one: asking whether the input is a pipe may fail.
  return Object.create(host, {
    say: { value: createSay(language, commands), enumerable: true },
    isJson: { value: isJson, enumerable: true },
  })
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
