import Sqlite, { type Database, type Statement } from 'better-sqlite3'

/** What is told of the transactions of a database, and may end them by throwing. */
export interface DatabaseWatcher {
  /** A transaction begins; `isWriting` when it may change something. */
  onBegin(database: Database, isWriting: boolean): void
  /** All statements have run, and nothing is durable yet. */
  beforeCommit(): void
  /** It is durable, and nobody has been told. */
  afterCommit(): void
}

let watcher: DatabaseWatcher | undefined

/** Databases that are opened from now on are watched by this one. */
export function watchDatabases(next: DatabaseWatcher | undefined): void {
  watcher = next
}

const watchers = new WeakMap<Database, DatabaseWatcher>()
const prepare = Sqlite.prototype.prepare

/**
 * The driver is the real one, and so are its files: around the statements that begin and end a transaction it is asked
 * whether the process is still there.
 */
Sqlite.prototype.prepare = function prepareWatched(this: Database, sql: string) {
  const statement = prepare.call(this, sql)
  if (!/^(begin|commit)/.test(sql)) return statement as never // The driver's own type, unchanged.
  const own = watchers.get(this) ?? watcher
  if (!own) return statement as never // The same.
  watchers.set(this, own)
  return watched(statement, this, sql, own) as never // The same.
}

function watched(statement: Statement, database: Database, sql: string, own: DatabaseWatcher): Statement {
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
