import { AverbaError } from '../index.ts'

/** Where it is drawn. */
interface Terminal {
  readonly isTTY?: boolean
  write(text: string): unknown
}

const barWidth = 24

/** Shows a person at a terminal how far a long task has come; other programs see nothing of it. */
export function createProgress(
  terminal: Terminal = process.stderr,
): (what: string, done: number, end: number) => void {
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

/** The same for a task that makes a copy: the first signal ends it there, so that what is half made is removed. */
export function createStoppableProgress(terminal?: Terminal): ReturnType<typeof createProgress> {
  const show = createProgress(terminal)
  let stoppedBy: string | undefined
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      stoppedBy = signal
    })
  }
  return (what, done, end) => {
    if (stoppedBy !== undefined) throw new AverbaError('CLOSED', `Ended by ${stoppedBy}: nothing was made`)
    show(what, done, end)
  }
}
