import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Written } from '../support/written.ts'
import { type LoadMessage, type LoadOptions, parseMessages } from './load.ts'

export type Child = ReturnType<typeof startChild>

export interface ChildResult {
  readonly messages: readonly LoadMessage[]
  readonly code: number | null
  readonly errors: string
}

/** Starts a load, `under` another program if one is given. */
export function startChild(
  script: 'load-store.ts' | 'load-engine.ts' | '../fleet/work-engine.ts',
  options: LoadOptions,
  under: readonly string[] = [],
) {
  const node = [process.execPath, '--conditions=averba-source', join(import.meta.dirname, script)]
  const [program = '', ...given] = [...under, ...node, JSON.stringify(options)]
  const child = spawn(program, given, { stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr] = [new Written(), new Written()]
  child.stdout.setEncoding('utf8').pipe(stdout)
  child.stderr.setEncoding('utf8').pipe(stderr)
  const ended = once(child, 'close').then(([code]): ChildResult => {
    stdout.finish()
    return { messages: parseMessages(stdout.text), code, errors: stderr.text }
  })
  return {
    process: child,
    sent: () => stdout.lines().length,
    /** Resolves when it has sent so many messages, or has ended. */
    hasSent: (count: number) => stdout.untilLines(count),
    /** Resolves when it has ended and all its messages were read. */
    ended,
  }
}
