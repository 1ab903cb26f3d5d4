import { AverbaError } from './errors.ts'

/** An error of the file system, with Node's code for it. */
type FileError = NodeJS.ErrnoException & { readonly code: string }

/** Reports whether an error came from the file system: its code may be shown, as its message may not. */
export function isFileError(error: unknown): error is FileError {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return false
  return isErrno(error.code) && !socketCalls.test(String(error.syscall))
}

/** What the network does is told apart: nothing is wrong with a disk then. */
const socketCalls = /^(connect|listen|bind|accept|send|recv|shutdown|getaddrinfo|getnameinfo|query|spawn)/

function isErrno(code: unknown): boolean {
  return typeof code === 'string' && /^E[A-Z0-9]{1,20}$/.test(code)
}

/** What to do about a file that cannot be read or written, by Node's code. */
const hints: Readonly<Record<string, string>> = {
  EACCES: 'Check that this user may read and write it, and its folder',
  EPERM: 'Check that this user may read and write it, and its folder',
  EROFS: 'Name a place on a disk that can be written',
  ENOSPC: 'Free some space',
  EDQUOT: 'Free some space',
  ENOENT: 'Check the name of its folder',
  EISDIR: 'Name a file, not a folder',
}

/** Names a file that cannot be read or written, and why: `STORE_UNSAFE`. Other errors stay as they are. */
export function asFileError(verb: 'read' | 'write' | 'use', path: string, cause: unknown): unknown {
  if (!isFileError(cause)) return cause
  const hint = hints[cause.code] ?? 'Check the disk'
  return new AverbaError('STORE_UNSAFE', `Cannot ${verb} "${path}": ${cause.code}`, { cause, hint, path })
}
