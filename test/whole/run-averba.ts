import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Ended } from '../support/command-line.ts'
import { root } from '../support/run-script.ts'

/** The arguments for Node that run the command line of these sources. */
export const main = ['--conditions=averba-source', join(root, 'src/cli/main.ts')]

/** A command of averba as a process. */
export interface CommandProcess {
  readonly child: ChildProcess
  /** The first line that contains a text, now or later. Rejects when the command ends without one. */
  line(text: string): Promise<string>
  /** All that it wrote so far. */
  readonly out: () => string
  readonly err: () => string
  /** How it ended. The code is -1 after a signal. */
  readonly ended: Promise<Ended>
}

/** Starts a command of averba as a user does. Killed by whoever started it. */
export function startAverba(args: readonly string[]): CommandProcess {
  const child = spawn(process.execPath, [...main, ...args], { cwd: root })
  const lines: string[] = []
  let [err, isOver] = ['', false]
  let next = Promise.withResolvers<void>()
  const wake = () => {
    next.resolve()
    next = Promise.withResolvers()
  }
  createInterface({ input: child.stdout }).on('line', line => {
    lines.push(line)
    wake()
  })
  child.stderr.on('data', chunk => {
    err += chunk
  })
  const out = () => lines.map(line => `${line}\n`).join('')
  const ended = once(child, 'close').then(([code]) => {
    isOver = true
    wake()
    return { code: code ?? -1, out: out(), err }
  })
  return {
    ...{ child, out, ended, err: () => err },
    async line(text) {
      for (;;) {
        const found = lines.find(line => line.includes(text))
        if (found !== undefined) return found
        if (isOver) throw new Error(`The command ended without "${text}": ${lines.join('\n')} ${err}`)
        await next.promise
      }
    },
  }
}

/** Runs a command of averba as a process, with nothing at its standard input. */
export function runAverba(...args: readonly string[]): Promise<Ended> {
  const { child, ended } = startAverba(args)
  child.stdin?.end()
  return ended
}
