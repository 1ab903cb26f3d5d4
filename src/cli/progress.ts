import { AverbaError } from '../index.ts'
import type { Terminal } from './terminal.ts'

export type ShowProgress = (what: string, done: number, end: number) => void

const barWidth = 24

/** Shows a progress bar on a terminal. Prints nothing when the output is not a terminal. */
export function createProgress({ stderr }: Pick<Terminal, 'stderr'>): ShowProgress {
  if (!stderr.isTTY) return () => undefined
  let shown = ''
  return (what, done, end) => {
    const part = end === 0 ? 1 : Math.min(1, done / end)
    const full = Math.floor(barWidth * part)
    const bar = `[${'#'.repeat(full)}${'-'.repeat(barWidth - full)}]`
    const text = `${bar} ${String(Math.floor(100 * part)).padStart(3)} % ${what}`
    if (text === shown) return
    shown = text
    stderr.write(`\r\x1b[K${done >= end ? '' : text}`)
  }
}

/** Shows progress of a task that makes a copy. The first signal makes it throw, so that the task removes the copy. */
export function createStoppableProgress(terminal: Pick<Terminal, 'stderr' | 'stopSignal'>): ShowProgress {
  const show = createProgress(terminal)
  const stopping = terminal.stopSignal()
  return (what, done, end) => {
    if (stopping.aborted) throw new AverbaError('CLOSED', `Ended by ${stopping.reason}: no file was made`)
    show(what, done, end)
  }
}
