import type { Diagnosis } from '../index.ts'

/** One line for each kind of call that is owed. */
export function describeOwed(owed: Diagnosis['owed']): string[] {
  return owed.map(({ type, state, count, dueAt }) => `  ${count} ${type}, ${state}, due from ${dueAt}`)
}

/** A number of bytes as people read it. */
export function describeBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  const power = bytes < 1_000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), units.length - 1)
  return `${power === 0 ? bytes : (bytes / 1_000 ** power).toFixed(1)} ${units[power]}`
}
