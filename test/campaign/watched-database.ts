import { DatabaseSync, type StatementSync } from 'node:sqlite'

/** Watches the transactions of a database; it may throw to end them. */
export interface DatabaseWatcher {
  /** A transaction begins; `isWriting` when it may write. */
  onBegin(database: DatabaseSync, isWriting: boolean): void
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

const watchers = new WeakMap<DatabaseSync, DatabaseWatcher>()
const prepare = DatabaseSync.prototype.prepare

/**
 * The driver and its files are real. Only the statements that begin and commit a transaction are wrapped, so that the
 * process can crash there.
 */
DatabaseSync.prototype.prepare = function prepareWatched(this: DatabaseSync, sql: string) {
  const statement = prepare.call(this, sql)
  if (!/^(begin|commit)/.test(sql)) return statement
  const own = watchers.get(this) ?? watcher
  if (!own) return statement
  watchers.set(this, own)
  return watchStatement(statement, this, sql, own)
}

function watchStatement(
  statement: StatementSync,
  database: DatabaseSync,
  sql: string,
  own: DatabaseWatcher,
): StatementSync {
  const run = statement.run.bind(statement)
  statement.run = () => {
    if (sql !== 'commit') own.onBegin(database, sql === 'begin immediate')
    if (sql === 'commit') own.beforeCommit()
    const result = run()
    if (sql === 'commit') own.afterCommit()
    return result
  }
  return statement
}
