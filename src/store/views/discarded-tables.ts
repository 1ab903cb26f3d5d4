import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { type Connection, rows, type Steps } from '../database/connection.ts'

/** Deleting overwrites rows with zeros: this many take only milliseconds. */
const rowsPerDelete = 500
const prefix = 'discarded_'

/** Renames a table, if it exists, out of the way in one step; `sweepDiscardedTables` drops it later. */
export function* discardTable(connection: Connection, table: string): Steps<void> {
  const tables = yield* listTables(connection)
  if (!tables.includes(table)) return
  const last = Math.max(0, ...tables.filter(isDiscarded).map(name => Number(name.slice(prefix.length))))
  yield* rows({ sql: `alter table ${table} rename to ${prefix}${last + 1}`, parameters: [] })
}

/** Reports whether there are discarded tables to sweep. */
export async function hasDiscardedTables(connection: Connection): Promise<boolean> {
  return (await connection.read(() => listTables(connection))).some(isDiscarded)
}

/**
 * Removes discarded tables, including those left by a process that died. Deleting overwrites the rows, which takes
 * time, so it deletes a few at a time and lets others append in between.
 */
export async function sweepDiscardedTables(connection: Connection, signal?: AbortSignal): Promise<void> {
  const failed = new Map<string, unknown>()
  while (!signal?.aborted) {
    const tables = (await connection.read(() => listTables(connection))).filter(isDiscarded)
    const table = tables.find(each => !failed.has(each))
    if (table === undefined) break
    // A damaged table must not keep the others from being removed.
    await connection
      .transact(() => removeRows(connection, table))
      .catch((error: unknown) => {
        if (!(error instanceof AverbaError) || error.code !== 'CORRUPT') throw error
        failed.set(table, error)
      })
    await yieldToEventLoop()
  }
  for (const error of failed.values()) throw error
}

/** Deletes some rows of a table, and drops the table when it is empty. Another process may have dropped it already. */
function* removeRows(connection: Connection, table: string): Steps<void> {
  if (!(yield* listTables(connection)).includes(table)) return
  // PostgreSQL frees the whole file of a table at once.
  if (connection.dialect === 'sqlite') {
    yield* rows({
      sql: `delete from ${table} where rowid in (select rowid from ${table} limit ${rowsPerDelete})`,
      parameters: [],
    })
    if ((yield* rows({ sql: `select 1 from ${table} limit 1`, parameters: [] })).length > 0) return
  }
  yield* rows({ sql: `drop table ${table}`, parameters: [] })
}

function* listTables(connection: Connection): Steps<string[]> {
  return (yield* rows<{ name: string }>(connection.listTables)).map(({ name }) => name)
}

function isDiscarded(table: string): boolean {
  return table.startsWith(prefix)
}
