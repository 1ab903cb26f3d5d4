import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Ended } from '../support/command-line.ts'
import { root } from '../support/run-script.ts'
import { Written } from '../support/written.ts'

/** The arguments for Node that run the command line of these sources. */
export const main = ['--conditions=averba-source', join(root, 'src/cli/main.ts')]

export interface CommandProcess {
  readonly child: ChildProcess
  /** The first line that contains a text, now or later. Rejects when the command ends without one. */
  line(text: string): Promise<string>
  readonly out: () => string
  readonly err: () => string
  /** How it ended. The code is -1 after a signal. */
  readonly ended: Promise<Ended>
}

/** Starts a command of averba as a user does. Killed by whoever started it. */
export function startAverba(args: readonly string[]): CommandProcess {
  const child = spawn(process.execPath, [...main, ...args], { cwd: root })
  const [stdout, stderr] = [new Written(), new Written()]
  child.stdout.setEncoding('utf8').pipe(stdout)
  child.stderr.setEncoding('utf8').pipe(stderr)
  const ended = once(child, 'close').then(([code]) => {
    stdout.finish()
    return { code: code ?? -1, out: stdout.text, err: stderr.text }
  })
  return { child, ended, out: () => stdout.text, err: () => stderr.text, line: text => stdout.line(text, stderr) }
}

/** Runs a command of averba as a process, with nothing at its standard input. */
export function runAverba(...args: readonly string[]): Promise<Ended> {
  const { child, ended } = startAverba(args)
  child.stdin?.end()
  return ended
}
