import { writeSync } from 'node:fs'
import { styleText } from 'node:util'
import { type Diagnosis, systemClock } from '../index.ts'
import { printable } from '../vocabulary/printable.ts'
import type { Say } from './language.ts'
import type { HostTerminal, Terminal } from './terminal.ts'

/** Prints one line that may hold text from a service or another log. Terminal control characters become codes. */
export function printLine({ stdout }: Pick<Terminal, 'stdout'>, line: string): void {
  stdout.write(`${printable(line)}\n`)
}

/** A line with a style, which is shown only on a terminal with colours. */
export interface Line {
  readonly text: string
  readonly style?: 'bold' | 'green' | 'yellow' | 'red' | undefined
}

export function printResult(terminal: Terminal, json: boolean, result: object, lines: Iterable<string | Line>): void {
  for (const line of json ? [JSON.stringify(result)] : lines) {
    if (typeof line === 'string') printLine(terminal, line)
    else printStyled(terminal, line)
  }
}

/** Prints a line in its style, if the output is a terminal and `NO_COLOR` is not set. */
export function printStyled({ stdout, env }: Pick<Terminal, 'stdout' | 'env'>, { text, style }: Line): void {
  const isColoured = style !== undefined && stdout.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'
  stdout.write(`${isColoured ? styleText(style, printable(text), { validateStream: false }) : printable(text)}\n`)
}

export function printError({ stderr }: Terminal, line: string): void {
  stderr.write(`${printable(line)}\n`)
}

/** Prints a line of a serving command. Tries again after earlier output failed, since the disk may have room again. */
export function printOrDrop(terminal: Terminal, line: string): void {
  const { writable, fd } = terminal.stdout
  try {
    if (writable || fd === undefined) printLine(terminal, line)
    else writeSync(fd, `${printable(line)}\n`)
  } catch {
    // The pipe is closed, or the disk is still full.
  }
}

/** Watches for failing output: a closed pipe ends the command, a full disk makes it fail. */
export class WatchedOutput {
  /** Lets a serving command continue. */
  isOptional = false
  /** Whether output that the command needs was not written. */
  hasFailed = false
  readonly #stdout: HostTerminal['stdout']
  readonly #pipe = Promise.withResolvers<void>()
  /** Resolves when the reader of the output has closed the pipe: nothing remains to be done. */
  readonly closed = this.#pipe.promise

  constructor({ stdout, stderr }: HostTerminal) {
    this.#stdout = stdout
    let isReported = false
    stderr.on('error', () => undefined)
    stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'EPIPE' && !this.isOptional) return this.#pipe.resolve()
      if (!this.isOptional) this.hasFailed = true
      if (isReported) return
      isReported = true
      stderr.write(`Cannot write the output (${code})${this.isOptional ? ': continuing without it' : ''}\n`)
    })
  }

  /** Waits until all output is written, or has failed. */
  async written(): Promise<void> {
    if (this.isOptional) return
    await new Promise<void>(resolve => this.#stdout.write('', () => resolve()))
  }
}

export function formatPendingEffects(say: Say, pending: Diagnosis['pending']): string[] {
  return pending.map(({ type, state, count, dueAt, foreign }) => {
    const whose = foreign === null ? '' : ` (${foreign})`
    const what = say`  ${count} ${type}, ${state}${whose}`
    return dueAt === null ? what : say`${what}, due from ${dueAt}`
  })
}

/** Formats a number of bytes, such as "1.5 MB". */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const power = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1)
  return `${power === 0 ? bytes : (bytes / 1_000 ** power).toFixed(1)} ${units[power]}`
}

export function formatPair(name: string, value: string): string {
  return `${name.padEnd(19)} ${value}`
}

/** Formats an instant as people and other commands read it, such as `2026-11-20T12:00:00Z`. */
export function formatInstant(at: string): string {
  return at.replace(/\.000Z$/, 'Z')
}

const timeUnits = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** Formats an instant, and how far away it is, such as `2026-11-20T12:00:00Z (in 2 hours)`. */
export function formatUntil({ language }: Pick<Say, 'language'>, at: string): string {
  const ms = Date.parse(at) - systemClock.now()
  const [unit, unitMs] = timeUnits.find(([, each]) => Math.abs(ms) >= each) ?? ['second', 1_000]
  return `${formatInstant(at)} (${new Intl.RelativeTimeFormat(language).format(Math.round(ms / unitMs), unit)})`
}
