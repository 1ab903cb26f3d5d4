import { AverbaError, LateError } from './errors.ts'
import { holdsCpf } from './tax-numbers.ts'

/** The code or the name of an error, never its message. A host may throw anything: even reading it may throw. */
export function errorName(error: unknown): string {
  try {
    if (error instanceof LateError) return error.message // Our own text, with the time limit.
    const name: unknown = error instanceof AverbaError ? error.code : error instanceof Error && error.name
    if (typeof name === 'string' && /^[A-Za-z]\w{0,59}$/.test(name) && !holdsCpf(name)) return name
  } catch {
    // The name cannot be read.
  }
  return 'Error'
}

/** Describes an error: ours by message and hint, which hold no personal data and no secret; others by name only. */
export function describeError(error: unknown): string {
  if (error instanceof AverbaError) return [error.message, error.hint].filter(Boolean).join(': ')
  return errorName(error)
}
