import type { Diagnosis } from '../index.ts'
import { printable } from '../vocabulary/printable.ts'

/** Prints one line that may hold text from a service or another log. Terminal control characters become codes. */
export function printLine(line: string): void {
  console.log(printable(line))
}

/** Formats a number of things, such as "1 event" or "2 events". */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Formats pending calls, one line for each type and state. */
export function formatPendingEffects(pending: Diagnosis['pending']): string[] {
  return pending.map(({ type, state, count, dueAt }) => `  ${count} ${type}, ${state}, due from ${dueAt}`)
}

/** Formats a number of bytes, such as "1.5 MB". */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const power = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1)
  return `${power === 0 ? bytes : (bytes / 1_000 ** power).toFixed(1)} ${units[power]}`
}
