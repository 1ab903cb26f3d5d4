import { AverbaError } from '../errors.ts'

/** Says in words what SQLite says in codes. */
export function guarded<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw explain(path, cause) ?? cause
  }
}

function explain(path: string, cause: unknown): AverbaError | undefined {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const cannot = `Cannot use "${path}"`
  if (code === 'SQLITE_NOTADB') {
    const hint = 'Was it a log of averba, it is damaged: keep it as it is, and restore a backup elsewhere'
    return new AverbaError('NOT_OURS', `${cannot}: it is not a SQLite database`, { cause, hint })
  }
  const isTorn = cause instanceof Error && /no such (table|column)/.test(cause.message)
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_IOERR_CORRUPTFS' || (code !== '' && isTorn)) {
    const hint = 'Keep the file as it is, and restore a backup elsewhere'
    return new AverbaError('CORRUPT', `${cannot}: the file is damaged`, { cause, hint })
  }
  if (code.startsWith('SQLITE_BUSY') || code === 'SQLITE_PROTOCOL') {
    const hint = 'Another process holds the file. Try again, or stop it'
    return new AverbaError('STORE_BUSY', `${cannot}: it is locked`, { cause, hint })
  }
  if (code.startsWith('SQLITE_FULL')) {
    const hint = 'Nothing was recorded. Free some space and try again'
    return new AverbaError('STORE_UNSAFE', `${cannot}: the disk is full`, { cause, hint })
  }
  if (/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/.test(code)) {
    const hint = 'Check that this user can write the file and its folder: SQLite makes files beside it'
    return new AverbaError('STORE_UNSAFE', `${cannot}: it cannot be written`, { cause, hint })
  }
  if (code.startsWith('SQLITE_IOERR')) {
    const hint = 'Nothing of it was acknowledged. Check the disk, then try again'
    return new AverbaError('STORE_UNSAFE', `${cannot}: the disk failed`, { cause, hint })
  }
  return undefined
}
