import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { type LoadMessage, type LoadOptions, parseMessages } from './load.ts'

/** A running child process. */
export interface Child {
  readonly process: ChildProcess
  /** The messages so far. */
  readonly messages: readonly LoadMessage[]
  /** Resolves when it has ended and all its messages were read. */
  readonly ended: Promise<ChildResult>
  /** Resolves when it has sent `count` messages, or has ended. */
  hasSent(count: number): Promise<void>
}

/** How a child ended. */
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
): Child {
  const command = [
    ...under,
    process.execPath,
    '--conditions=averba-source',
    join(import.meta.dirname, script),
    JSON.stringify(options),
  ]
  const [program = '', ...given] = command
  const child = spawn(program, given, { stdio: ['ignore', 'pipe', 'pipe'] })
  const messages: LoadMessage[] = []
  let rest = ''
  let errors = ''
  let waiting: { count: number; resolve: () => void }[] = []
  const wake = (isOver: boolean) => {
    for (const each of waiting) if (isOver || messages.length >= each.count) each.resolve()
    waiting = waiting.filter(each => !isOver && messages.length < each.count)
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    rest += text
    messages.push(...parseMessages(rest))
    rest = rest.slice(rest.lastIndexOf('\n') + 1)
    wake(false)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  let isOver = false
  const ended = new Promise<ChildResult>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => {
      isOver = true
      wake(true)
      resolve({ messages, code, errors })
    })
  })
  return {
    process: child,
    messages,
    ended,
    hasSent: count =>
      new Promise(resolve => {
        waiting.push({ count, resolve })
        wake(isOver)
      }),
  }
}
