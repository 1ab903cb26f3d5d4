import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Database } from 'better-sqlite3'
import { AverbaError, type ErrorCode } from '../../vocabulary/errors.ts'
import { migrationStatements, migrations } from './migrations.ts'

/** Turns SQLite's errors into `AverbaError`s. Pass the database to tell damage from tables of another version. */
export function wrapSqliteErrors<T>(path: string, work: () => T, database?: Database): T {
  try {
    return work()
  } catch (cause) {
    throw toAverbaError(path, cause, database) ?? cause
  }
}

/** Reports whether a statement names a table or column that does not exist. */
export function isUnknownName(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && /no such (table|column)|has no column named/.test(cause.message)
}

/** Reports whether a table exists that `sqlite_schema` does not list: a damaged page hides it. */
function isHiddenTable(cause: unknown): boolean {
  return cause instanceof Error && /^table \w+ already exists$/.test(cause.message)
}

/** Reports whether the log's tables are complete and of this version, of another version, or incomplete. */
export function classifyTables(database: Database): 'current' | 'otherVersion' | 'incomplete' {
  try {
    if (database.prepare('select schema from head').pluck().get() !== migrations.length) return 'otherVersion'
    const existing = new Set(database.prepare("select name from sqlite_schema where type = 'table'").pluck().all())
    const wanted = migrationStatements(0, 'sqlite').flatMap(sql => /^create table (\w+)/.exec(sql)?.[1] ?? [])
    return wanted.every(name => existing.has(name)) ? 'current' : 'incomplete'
  } catch {
    return 'incomplete'
  }
}

/** SHORT_READ means that a page ends early: the file was cut off. */
const damageCodes = /^SQLITE_(CORRUPT|IOERR_(CORRUPTFS|SHORT_READ)$)/

/** After a disk error the caller does not know whether the command was recorded. */
const retryHint = 'A command that was running may still have been recorded: repeat it only with the same command id'

/** SQLite needs this much for the journal's index before it can read. */
const indexBytes = 32_768

/** Reports whether a disk is full: when the journal's index does not fit, SQLite reports only an I/O error. */
function isDiskFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < indexBytes
  } catch {
    return false // Not every runtime and platform has statfs.
  }
}

function toAverbaError(path: string, cause: unknown, database?: Database): AverbaError | undefined {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const cannot = (as: ErrorCode, why: string, hint: string) =>
    new AverbaError(as, `Cannot use "${path}": ${why}`, { cause, hint, path })
  if (code === 'SQLITE_NOTADB') {
    const hint = 'If it was a log of averba, it is damaged: keep the file unchanged and restore a backup elsewhere'
    return cannot('NOT_OURS', 'it is not a SQLite database', hint)
  }
  const isMissing = isUnknownName(cause)
  if (isMissing && database?.open && classifyTables(database) !== 'incomplete') {
    const hint = 'Restart this program with the version of averba that last opened the file'
    return cannot('NOT_OURS', 'another version of averba changed its tables', hint)
  }
  if (damageCodes.test(code) || isMissing || isHiddenTable(cause)) {
    // SQLite gives the same code when the disk cannot read a page: the file itself may be intact.
    const hint = 'Check the disk. If it is healthy, keep the file unchanged and restore a backup elsewhere'
    return cannot('CORRUPT', 'the file is damaged', hint)
  }
  if (code.startsWith('SQLITE_BUSY') || code === 'SQLITE_PROTOCOL')
    return cannot('STORE_BUSY', 'it is locked', 'Another process holds the file. Try again, or stop it')
  if (code.startsWith('SQLITE_FULL') || (code.startsWith('SQLITE_IOERR') && isDiskFull(path))) {
    const hint = `Free some space. ${retryHint}`
    return cannot('STORE_UNSAFE', 'the disk is full', hint)
  }
  if (/^SQLITE_(IOERR|CANTOPEN)/.test(code) && statSync(path, { throwIfNoEntry: false })?.isDirectory())
    return cannot('NOT_OURS', 'it is a folder', 'Name the file of a log')
  if (/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/.test(code)) {
    const hint = 'Check that this user can write the file and its folder: SQLite creates files beside it'
    return cannot('STORE_UNSAFE', 'it cannot be written', hint)
  }
  if (code.startsWith('SQLITE_IOERR')) {
    const hint = `Check the disk. ${retryHint}`
    return cannot('STORE_UNSAFE', 'the disk failed', hint)
  }
  return undefined
}
