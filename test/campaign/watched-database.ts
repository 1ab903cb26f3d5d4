import Sqlite, { type Database, type Statement } from 'better-sqlite3'

/** Watches the transactions of a database; it may throw to end them. */
export interface DatabaseWatcher {
  /** A transaction begins; `isWriting` when it may write. */
  onBegin(database: Database, isWriting: boolean): void
  /** All statements have run, but are not durable yet. */
  beforeCommit(): void
  /** It is durable, but not reported yet. */
  afterCommit(): void
}

let watcher: DatabaseWatcher | undefined

/** Sets the watcher of databases that are opened from now on. */
export function watchDatabases(next: DatabaseWatcher | undefined): void {
  watcher = next
}

const watchers = new WeakMap<Database, DatabaseWatcher>()
const prepare = Sqlite.prototype.prepare

/**
 * The driver and its files are real. Only the statements that begin and commit a transaction are wrapped, so that the
 * process can crash there.
 */
Sqlite.prototype.prepare = function prepareWatched(this: Database, sql: string) {
  const statement = prepare.call(this, sql)
  if (!/^(begin|commit)/.test(sql)) return statement as never // The driver's own type, unchanged.
  const own = watchers.get(this) ?? watcher
  if (!own) return statement as never // The same.
  watchers.set(this, own)
  return watchStatement(statement, this, sql, own) as never // The same.
}

function watchStatement(statement: Statement, database: Database, sql: string, own: DatabaseWatcher): Statement {
  const run = statement.run.bind(statement)
  statement.run = (...parameters: unknown[]) => {
    if (sql !== 'commit') own.onBegin(database, sql === 'begin immediate')
    if (sql === 'commit') own.beforeCommit()
    const result = run(...parameters)
    if (sql === 'commit') own.afterCommit()
    return result
  }
  return statement
}
