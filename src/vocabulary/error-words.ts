import { holdsCpf } from './cpf.ts'
import { AverbaError, LateError } from './errors.ts'

/**
 * The code or the name of an error, never its message. A host's code may throw anything: a name may change, or throw
 * when it is read.
 */
export function errorName(error: unknown): string {
  try {
    if (error instanceof LateError) return error.message // Ours: it says the limit.
    const name: unknown = error instanceof AverbaError ? error.code : error instanceof Error && error.name
    if (typeof name === 'string' && /^[A-Za-z]\w{0,59}$/.test(name) && !holdsCpf(name)) return name
  } catch {
    // An error whose name cannot be read has none.
  }
  return 'Error'
}

/** The words of an error: our messages hold nothing personal and no secret; of other errors only the name is told. */
export function describeError(error: unknown): string {
  if (error instanceof AverbaError) return [error.message, error.hint].filter(Boolean).join(': ')
  return errorName(error)
}
