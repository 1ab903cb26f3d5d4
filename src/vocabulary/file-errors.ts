import { asDenied } from './connection-errors.ts'
import { AverbaError } from './errors.ts'
import { isOnPostgres } from './names.ts'

type FileError = NodeJS.ErrnoException & { readonly code: string }

/** Checks that an error came from the file system: its code may be shown, its message may not. */
export function isFileError(error: unknown): error is FileError {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return false
  const { code, syscall } = error
  return typeof code === 'string' && /^E[A-Z0-9]{1,20}$/.test(code) && !socketCalls.test(String(syscall))
}

/** System calls of the network: their errors are not about files. */
const socketCalls = /^(connect|listen|bind|accept|send|recv|shutdown|getaddrinfo|getnameinfo|query|spawn)/

const hints: Readonly<Record<string, string>> = {
  EACCES: 'Check that this user may read and write it, and its folder',
  EPERM: 'Check that this user may read and write it, and its folder',
  EROFS: 'Choose a path on a writable disk',
  ENOSPC: 'Free some space',
  EDQUOT: 'Free some space',
  ENOENT: 'Check its name, and that its folder exists',
  EISDIR: 'Choose a file, not a folder',
}

/**
 * Turns a file system error into `STORE_UNSAFE` with the path and the reason, and what Deno does not permit into
 * `MISCONFIGURED`. Other errors stay as they are.
 */
export function asFileError(verb: 'read' | 'write' | 'use', path: string, cause: unknown): unknown {
  if (!isFileError(cause)) return asDenied(cause)
  const hint = hints[cause.code] ?? 'Check the disk'
  return new AverbaError('STORE_UNSAFE', `Cannot ${verb} "${path}": ${cause.code}`, { cause, hint, path })
}

/** Does synchronous work on a file, and turns the errors of the file system as `asFileError` does. */
export function withFileErrors<T>(verb: 'read' | 'write', path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw asFileError(verb, path, cause)
  }
}

/**
 * Refuses the address of a database where a file is needed. The error does not repeat it: it may have a password.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export function requireFile(store: string): void {
  if (!isOnPostgres(store)) return
  throw new AverbaError('INVALID_INPUT', 'Cannot do this with a log on PostgreSQL: it needs a SQLite file', {
    hint: 'Use the tools of the server for its backups, and the functions of averba for everything else',
  })
}
