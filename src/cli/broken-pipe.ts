import { writeSync } from 'node:fs'

/** Where output goes by its number, as every shell has it. */
const standardOutput = 1
let continuesWithoutOutput = false
let isReported = false

/** Lets a command that serves go on without its output, whatever becomes of that: its work is not to print. */
export function ignoreBrokenPipe(): void {
  continuesWithoutOutput = true
}

/** Prints a line of a command that serves: also where output broke once, and there is room again. */
export function printOrDrop(line: string): void {
  try {
    if (process.stdout.writable) console.log(line)
    else writeSync(standardOutput, `${line}\n`)
  } catch {
    // Nobody reads it, or there is still no room.
  }
}

/** Hears of output that cannot be written. Whoever stops reading ends a command; what has no room makes it fail. */
export function handleBrokenOutput(): void {
  process.stderr.on('error', () => undefined)
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE' && !continuesWithoutOutput) process.exit()
    if (!continuesWithoutOutput) process.exitCode = 1
    if (isReported) return
    isReported = true
    console.error(`What it prints cannot be written (${code})${continuesWithoutOutput ? ': it goes on' : ''}`)
  })
}
