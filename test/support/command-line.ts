import { PassThrough, Writable } from 'node:stream'
import type { Command } from 'commander'
import { expect } from 'vitest'
import { createSay } from '../../src/cli/language.ts'
import { createProgram, runProgram } from '../../src/cli/program.ts'

/** How a command ended, and all that it wrote. */
export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** A command that runs in this process. */
export interface RunningCommand {
  readonly ended: Promise<Ended>
  /** Every line of its standard output so far. */
  readonly lines: () => readonly string[]
  /** The first line that contains a text, now or later. Rejects when the command ends without one. */
  line(text: string): Promise<string>
  /** Resolves when its standard error shows progress, as on a terminal. */
  readonly progress: Promise<void>
  /** Sends it a signal. */
  stop(signal: 'SIGINT' | 'SIGTERM'): void
}

/** Keeps what is written. */
export class Written extends Writable {
  text = ''
  #isOver = false
  #wake = Promise.withResolvers<void>()

  override _write(chunk: Buffer, _: unknown, done: () => void): void {
    this.text += chunk.toString()
    this.#notify()
    done()
  }

  /** Resolves at the next write. */
  get next(): Promise<void> {
    return this.#wake.promise
  }

  lines(): readonly string[] {
    return this.text.split('\n').slice(0, -1)
  }

  /** The first line that contains a text, now or later. Rejects when the command ends without one. */
  async line(text: string, errors: Written): Promise<string> {
    for (;;) {
      const found = this.lines().find(line => line.includes(text))
      if (found !== undefined) return found
      if (this.#isOver) throw new Error(`The command ended without "${text}": ${this.text}${errors.text}`)
      await this.next
    }
  }

  /** Says that nothing more is written. */
  finish(): void {
    this.#isOver = true
    this.#notify()
  }

  #notify(): void {
    this.#wake.resolve()
    this.#wake = Promise.withResolvers()
  }
}

/** What a command runs with. */
interface StartOptions {
  /** All of its standard input. Without it, the input stays open. */
  readonly input?: string
  /** Whether its standard error is a terminal. */
  readonly isTTY?: boolean
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a command of averba in this process. */
export function startCommand(
  args: readonly string[],
  { input, isTTY = false, env = {} }: StartOptions = {},
): RunningCommand {
  const [stdout, stderr, stdin] = [new Written(), new Written(), new PassThrough()]
  const stopping = new AbortController()
  if (input !== undefined) stdin.end(input)
  const terminal = {
    stdin,
    stdout,
    stderr: Object.assign(stderr, { isTTY }),
    isInputPipe: true,
    env,
    stopSignal: () => stopping.signal,
  }
  const ended = runProgram(args, terminal).then(code => {
    stdout.finish()
    return { code, out: stdout.text, err: stderr.text }
  })
  return {
    ended,
    lines: () => stdout.lines(),
    line: text => stdout.line(text, stderr),
    progress: stderr.next,
    stop: signal => stopping.abort(signal),
  }
}

/** Runs a command of averba in this process, with nothing at its standard input. */
export function averba(...args: readonly string[]): Promise<Ended> {
  return averbaWith('', ...args)
}

/** Runs a command of averba in this process, with a text at its standard input. */
export function averbaWith(input: string, ...args: readonly string[]): Promise<Ended> {
  return startCommand(args, { input }).ended
}

/** Runs a command of averba in this process with `--json`, and reads what it prints. */
export async function averbaJson(...args: readonly string[]) {
  return JSON.parse((await averba(...args, '--json')).out)
}

const matching = (text: string | RegExp) =>
  typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text)

/** What to match a command with that failed, and printed this among its errors. */
export function failedWith(err: string | RegExp): object {
  return { code: 1, err: matching(err) }
}

/** What to match a command with that printed this, and ended with a code. */
export function printed(out: string | RegExp, code = 0): object {
  return { code, out: matching(out) }
}

/** The commands of averba, each of which only calls a function: of a terminal they use nothing else. */
export function newProgram(start: () => Promise<void> = async () => undefined, say = createSay('en')): Command {
  return createProgram({ say, stdout: process.stdout, stderr: process.stderr } as never, start)
}

/** How many commands a command line starts, which may begin with the name of averba. */
export async function countStarts(line: string): Promise<number> {
  let starts = 0
  const [first, ...others] = [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(found => found.slice(1).join(''))
  const words = first === 'averba' ? others : [first ?? '', ...others]
  await newProgram(async () => void starts++).parseAsync(words, { from: 'user' })
  return starts
}
