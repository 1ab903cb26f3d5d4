import { DatabaseSync } from 'node:sqlite'

/**
 * Called before the statements that begin or commit a transaction, and after the commit (`committed`): it is durable
 * then, but not reported yet. It may throw to end the transaction.
 */
export type Watch = (database: DatabaseSync, at: string) => void

let watchOfNext: Watch | undefined

export function watchDatabases(watch: Watch | undefined): void {
  watchOfNext = watch
}

const watches = new WeakMap<DatabaseSync, Watch>()
const { prepare, close } = DatabaseSync.prototype

/** The driver and its files are real. Only these statements are wrapped, so that the process can crash there. */
DatabaseSync.prototype.prepare = function prepareWatched(this: DatabaseSync, sql: string) {
  const statement = prepare.call(this, sql)
  const watch = /^(begin|commit)/.test(sql) ? (watches.get(this) ?? watchOfNext) : undefined
  if (!watch) return statement
  watches.set(this, watch)
  const run = statement.run.bind(statement)
  statement.run = () => {
    watch(this, sql)
    const result = run()
    if (sql === 'commit') watch(this, 'committed')
    return result
  }
  return statement
}

/** A statement holds its database, which holds the engine by its watch, which holds the statement: nothing is freed. */
DatabaseSync.prototype.close = function closeWatched(this: DatabaseSync) {
  watches.delete(this)
  close.call(this)
}
