import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { heard, type LoadOptions, type Said } from './load.ts'

/** A child process under way. */
export interface Child {
  readonly process: ChildProcess
  /** What it has said so far. */
  readonly said: readonly Said[]
  /** Resolves when it has ended and all that it said was heard. */
  readonly ended: Promise<Ended>
  /** Resolves when it has said so many things, or has ended. */
  hasSaid(count: number): Promise<void>
}

/** How a child ended. */
export interface Ended {
  readonly said: readonly Said[]
  readonly code: number | null
  readonly errors: string
}

/** Starts a load, `under` another program if one is named. */
export function startChild(
  script: 'load-store.ts' | 'load-engine.ts',
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
  const said: Said[] = []
  let rest = ''
  let errors = ''
  let waiting: { count: number; resolve: () => void }[] = []
  const wake = (isOver: boolean) => {
    for (const each of waiting) if (isOver || said.length >= each.count) each.resolve()
    waiting = waiting.filter(each => !isOver && said.length < each.count)
  }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    rest += text
    said.push(...heard(rest))
    rest = rest.slice(rest.lastIndexOf('\n') + 1)
    wake(false)
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  let isOver = false
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => {
      isOver = true
      wake(true)
      resolve({ said, code, errors })
    })
  })
  return {
    process: child,
    said,
    ended,
    hasSaid: count =>
      new Promise(resolve => {
        waiting.push({ count, resolve })
        wake(isOver)
      }),
  }
}
