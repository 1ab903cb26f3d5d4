import { type ChildProcess, spawn } from 'node:child_process'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

const root = resolve(import.meta.dirname, '../..')

/** A command of averba in a process, and its output. */
export interface RunningCommand {
  readonly child: ChildProcess
  /** The lines of its standard output, in order. */
  readonly lines: readonly string[]
  /** Its standard error. */
  readonly said: () => string
  /** Resolves with the first line that contains a text. Rejects when the command ends without one. */
  line(text: string): Promise<string>
  /** Its exit code. */
  readonly ended: Promise<number | null>
}

/** Starts a command of averba in a folder. The caller kills it. */
export function startCommand(cwd: string, args: readonly string[], env: Record<string, string> = {}): RunningCommand {
  const child = spawn(process.execPath, ['--conditions=averba-source', join(root, 'src/cli/main.ts'), ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  let said = ''
  let waiting: (() => void)[] = []
  let isOver = false
  const tell = () => {
    const told = waiting
    waiting = []
    for (const each of told) each()
  }
  createInterface({ input: child.stdout }).on('line', line => {
    lines.push(line)
    tell()
  })
  child.stderr.on('data', chunk => {
    said += chunk
  })
  const ended = new Promise<number | null>(done =>
    child.once('close', code => {
      isOver = true
      done(code)
      tell()
    }),
  )
  return {
    child,
    lines,
    said: () => said,
    ended,
    async line(text) {
      for (;;) {
        const found = lines.find(line => line.includes(text))
        if (found !== undefined) return found
        if (isOver) throw new Error(`It ended without "${text}": ${lines.join('\n')} ${said}`)
        await new Promise<void>(told => waiting.push(told))
      }
    },
  }
}
