import type { Database } from 'better-sqlite3'
import { AverbaError } from '../errors.ts'
import { migrations, statementsFrom } from './migrations.ts'

/** Says in words what SQLite says in codes. The database tells damage from what another version did to its tables. */
export function guarded<T>(path: string, work: () => T, database?: Database): T {
  try {
    return work()
  } catch (cause) {
    throw explain(path, cause, database) ?? cause
  }
}

/** Reports whether a statement names a table or a column that is not there. */
export function isNamingNone(cause: unknown): boolean {
  return (
    cause instanceof Error &&
    'code' in cause &&
    /no such (table|column)|has no column named/.test(cause.message)
  )
}

/** Whose tables of the log these are: of this version, of another, or what is left of them. */
export function tablesOf(database: Database): 'ours' | 'others' | 'torn' {
  try {
    if (database.prepare('select schema from head').pluck().get() !== migrations.length) return 'others'
    const there = new Set(
      database.prepare("select name from sqlite_schema where type = 'table'").pluck().all(),
    )
    const wanted = statementsFrom(0, 'sqlite').flatMap(sql => /^create table (\w+)/.exec(sql)?.[1] ?? [])
    return wanted.every(name => there.has(name)) ? 'ours' : 'torn'
  } catch {
    return 'torn'
  }
}

function explain(path: string, cause: unknown, database?: Database): AverbaError | undefined {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const cannot = `Cannot use "${path}"`
  if (code === 'SQLITE_NOTADB') {
    const hint = 'If it was a log of averba, it is damaged: keep it as it is, and restore a backup elsewhere'
    return new AverbaError('NOT_OURS', `${cannot}: it is not a SQLite database`, { cause, hint })
  }
  const isNone = isNamingNone(cause)
  if (isNone && database?.open && tablesOf(database) !== 'torn') {
    const hint = 'Restart this program with the version of averba that opened the file last'
    return new AverbaError('NOT_OURS', `${cannot}: another version of averba changed its tables`, {
      cause,
      hint,
    })
  }
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_IOERR_CORRUPTFS' || isNone) {
    // SQLite says so of a disk that cannot read a page, too: then the file may be whole.
    const hint = 'Check the disk; if it reads well, keep the file as it is, and restore a backup elsewhere'
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
