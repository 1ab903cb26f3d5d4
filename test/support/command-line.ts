import { PassThrough } from 'node:stream'
import type { Command } from 'commander'
import { expect } from 'vitest'
import { createSay } from '../../src/cli/language.ts'
import { createProgram, runProgram } from '../../src/cli/program.ts'
import { closeAtEnd } from './close-at-end.ts'
import { Written } from './written.ts'

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export type RunningCommand = ReturnType<typeof startCommand>

interface StartOptions {
  /** All of its standard input. Without it, the input stays open. */
  readonly input?: string
  readonly isTTY?: boolean
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a command of averba in this process. At the end of the test it is stopped. */
export function startCommand(args: readonly string[], { input, isTTY = false, env = {} }: StartOptions = {}) {
  const [stdout, stderr, stdin] = [new Written(), Object.assign(new Written(), { isTTY }), new PassThrough()]
  const stopping = new AbortController()
  if (input !== undefined) stdin.end(input)
  const terminal = { stdin, stdout, stderr, isInputPipe: true, env, stopSignal: () => stopping.signal }
  const ended = runProgram(args, terminal).then((code): Ended => {
    stdout.finish()
    return { code, out: stdout.text, err: stderr.text }
  })
  const stop = (signal: 'SIGINT' | 'SIGTERM') => {
    stopping.abort(signal)
    return ended
  }
  closeAtEnd({ close: () => stop('SIGTERM') })
  return {
    ended,
    lines: () => stdout.lines(),
    /** Sends it a signal, and returns how it ends. */
    stop,
    /** The first line that contains a text, now or later. Rejects when the command ends without one. */
    line: (text: string) => stdout.line(text, stderr),
    /** Resolves when its standard error shows progress, as on a terminal. */
    progress: stderr.next,
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

/** Runs a command of averba in this process with `--json`, expects its exit code, and reads what it prints. */
export async function expectJson(code: number, ...args: readonly string[]) {
  const { out } = await expectOutput(averba(...args, '--json'), '', code)
  return JSON.parse(out)
}

/** Runs a command of averba in this process with `--json`, which succeeds, and reads what it prints. */
export const averbaJson = (...args: readonly string[]) => expectJson(0, ...args)

const matching = (text: string | RegExp) =>
  typeof text === 'string' ? expect.stringContaining(text) : expect.stringMatching(text)

/** What to match a command with that failed, and printed this among its errors. */
export function failedWith(err: string | RegExp): object {
  return { code: 1, err: matching(err) }
}

/** Expects that a command fails, and prints this among its errors. */
export async function expectFailure(running: Promise<Ended>, err: string | RegExp): Promise<Ended> {
  const ended = await running
  expect(ended).toMatchObject(failedWith(err))
  return ended
}

/** Expects that a command prints this, and ends with a code. */
export async function expectOutput(running: Promise<Ended>, out: string | RegExp, code = 0): Promise<Ended> {
  const ended = await running
  expect(ended).toMatchObject({ code, out: matching(out) })
  return ended
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
