import { writeSync } from 'node:fs'

/** The file descriptor of standard output. */
const standardOutput = 1
let continuesWithoutOutput = false
let isReported = false

/** Lets a serving command continue when its output cannot be written. */
export function ignoreBrokenPipe(): void {
  continuesWithoutOutput = true
}

/** Prints a line of a serving command. Tries again after earlier output failed, since the disk may have room again. */
export function printOrDrop(line: string): void {
  try {
    if (process.stdout.writable) console.log(line)
    else writeSync(standardOutput, `${line}\n`)
  } catch {
    // The pipe is closed, or the disk is still full.
  }
}

/** Handles failing output: a closed pipe ends the command, a full disk makes it fail. Serving commands continue. */
export function handleBrokenOutput(): void {
  process.stderr.on('error', () => undefined)
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' && !continuesWithoutOutput) process.exit()
    if (!continuesWithoutOutput) process.exitCode = 1
    if (isReported) return
    isReported = true
    console.error(`Cannot write the output (${code})${continuesWithoutOutput ? ': continuing without it' : ''}`)
  })
}
