import type { Diagnosis } from '../index.ts'
import { printable } from '../vocabulary/printable.ts'

/** Prints one line that may hold foreign text, as from a service or another log: a terminal obeys none of it. */
export function printSafely(line: string): void {
  console.log(printable(line))
}

/** A number of things as people read it: one of them is no plural. */
export function formatCount(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

/** One line for each kind of call that is owed. */
export function formatPendingEffects(owed: Diagnosis['owed']): string[] {
  return owed.map(({ type, state, count, dueAt }) => `  ${count} ${type}, ${state}, due from ${dueAt}`)
}

/** A number of bytes as people read it. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const power = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1)
  return `${power === 0 ? bytes : (bytes / 1_000 ** power).toFixed(1)} ${units[power]}`
}
