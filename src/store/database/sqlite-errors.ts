import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Database } from 'better-sqlite3'
import { AverbaError, type ErrorCode } from '../../vocabulary/errors.ts'
import { migrations, statementsFrom } from './migrations.ts'

/** Turns SQLite's codes into words. The database tells damage from what another version did to its tables. */
export function guarded<T>(path: string, work: () => T, database?: Database): T {
  try {
    return work()
  } catch (cause) {
    throw explain(path, cause, database) ?? cause
  }
}

/** Reports whether a statement names a table or column that does not exist. */
export function isNamingNone(cause: unknown): boolean {
  return (
    cause instanceof Error &&
    'code' in cause &&
    /no such (table|column)|has no column named/.test(cause.message)
  )
}

/** Reports whether a table exists although no list has it: a damaged page hides it. */
function isThere(cause: unknown): boolean {
  return cause instanceof Error && /^table \w+ already exists$/.test(cause.message)
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

/** A page that ends too soon is one of a file that was cut off. */
const damages = /^SQLITE_(CORRUPT|IOERR_(CORRUPTFS|SHORT_READ)$)/

/** A caller told of a disk error does not know what became of the command. */
const sameId =
  'A command that was under way may go on by itself: ask for it again under the same command id only'

/** What SQLite needs beside the file before it reads anything. */
const indexBytes = 32_768

/** Reports whether a disk has no room: SQLite says only that it failed where the index of the journal does not fit. */
function isFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < indexBytes
  } catch {
    return false // A runtime may not let us ask.
  }
}

function explain(path: string, cause: unknown, database?: Database): AverbaError | undefined {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const cannot = (as: ErrorCode, why: string, hint: string) =>
    new AverbaError(as, `Cannot use "${path}": ${why}`, { cause, hint, path })
  if (code === 'SQLITE_NOTADB') {
    const hint = 'If it was a log of averba, it is damaged: keep it as it is, and restore a backup elsewhere'
    return cannot('NOT_OURS', 'it is not a SQLite database', hint)
  }
  const isNone = isNamingNone(cause)
  if (isNone && database?.open && tablesOf(database) !== 'torn') {
    const hint = 'Restart this program with the version of averba that opened the file last'
    return cannot('NOT_OURS', 'another version of averba changed its tables', hint)
  }
  if (damages.test(code) || isNone || isThere(cause)) {
    // SQLite also says so for a disk that cannot read a page: the file itself may be whole.
    const hint = 'Check the disk; if it reads well, keep the file as it is, and restore a backup elsewhere'
    return cannot('CORRUPT', 'the file is damaged', hint)
  }
  if (code.startsWith('SQLITE_BUSY') || code === 'SQLITE_PROTOCOL')
    return cannot('STORE_BUSY', 'it is locked', 'Another process holds the file. Try again, or stop it')
  if (code.startsWith('SQLITE_FULL') || (code.startsWith('SQLITE_IOERR') && isFull(path))) {
    const hint = `Free some space. ${sameId}`
    return cannot('STORE_UNSAFE', 'the disk is full', hint)
  }
  if (/^SQLITE_(IOERR|CANTOPEN)/.test(code) && statSync(path, { throwIfNoEntry: false })?.isDirectory())
    return cannot('NOT_OURS', 'it is a folder', 'Name the file of a log')
  if (/^SQLITE_(READONLY|CANTOPEN|PERM|AUTH)/.test(code)) {
    const hint = 'Check that this user can write the file and its folder: SQLite makes files beside it'
    return cannot('STORE_UNSAFE', 'it cannot be written', hint)
  }
  if (code.startsWith('SQLITE_IOERR')) {
    const hint = `Check the disk. ${sameId}`
    return cannot('STORE_UNSAFE', 'the disk failed', hint)
  }
  return undefined
}
