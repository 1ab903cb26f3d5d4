import { AverbaError } from '../index.ts'

interface Terminal {
  readonly isTTY?: boolean
  write(text: string): unknown
}

const barWidth = 24

/** Shows a progress bar on a terminal. Prints nothing when the output is not a terminal. */
export function createProgress(terminal: Terminal = process.stderr): (what: string, done: number, end: number) => void {
  if (!terminal.isTTY) return () => undefined
  let shown = ''
  return (what, done, end) => {
    const part = end === 0 ? 1 : Math.min(1, done / end)
    const full = Math.floor(barWidth * part)
    const bar = `[${'#'.repeat(full)}${'-'.repeat(barWidth - full)}]`
    const text = `${bar} ${String(Math.floor(100 * part)).padStart(3)} % ${what}`
    if (text === shown) return
    shown = text
    terminal.write(`\r\x1b[K${done >= end ? '' : text}`)
  }
}

/** Shows progress of a task that makes a copy. The first signal makes it throw, so that the task removes the copy. */
export function createStoppableProgress(terminal?: Terminal): ReturnType<typeof createProgress> {
  const show = createProgress(terminal)
  let stoppedBy: string | undefined
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stoppedBy = signal
    })
  }
  return (what, done, end) => {
    if (stoppedBy !== undefined) throw new AverbaError('CLOSED', `Ended by ${stoppedBy}: no file was made`)
    show(what, done, end)
  }
}
