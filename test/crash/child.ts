import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { type LoadMessage, type LoadOptions, parseMessages } from './load.ts'

/** A running child process. */
export type Child = ReturnType<typeof startChild>

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
) {
  const node = [process.execPath, '--conditions=averba-source', join(import.meta.dirname, script)]
  const [program = '', ...given] = [...under, ...node, JSON.stringify(options)]
  const child = spawn(program, given, { stdio: ['ignore', 'pipe', 'pipe'] })
  const messages: LoadMessage[] = []
  let [rest, errors, isOver] = ['', '', false]
  let waiting: { count: number; resolve: () => void }[] = []
  const wake = () => {
    for (const each of waiting) if (isOver || messages.length >= each.count) each.resolve()
    waiting = waiting.filter(each => !isOver && messages.length < each.count)
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    rest += text
    messages.push(...parseMessages(rest))
    rest = rest.slice(rest.lastIndexOf('\n') + 1)
    wake()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  /** Resolves when it has ended and all its messages were read. */
  const ended = new Promise<ChildResult>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => {
      isOver = true
      wake()
      resolve({ messages, code, errors })
    })
  })
  /** Resolves when it has sent `count` messages, or has ended. */
  const hasSent = (count: number) =>
    new Promise<void>(resolve => {
      waiting.push({ count, resolve })
      wake()
    })
  return { process: child, messages: messages as readonly LoadMessage[], ended, hasSent }
}
