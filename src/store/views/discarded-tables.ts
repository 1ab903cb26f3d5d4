import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { type Connection, rows, type Steps } from '../database/connection.ts'

/** Few enough for deleting them, overwritten with zeros, to take only milliseconds. */
const rowsAtOnce = 500
const prefix = 'discarded_'

/**
 * Takes a table out of the way in one step, however long it is; `sweep` removes it later. Nothing when it is not there.
 */
export function* discard(connection: Connection, table: string): Steps<void> {
  const tables = yield* listTables(connection)
  if (!tables.includes(table)) return
  const last = Math.max(0, ...tables.filter(isDiscarded).map(name => Number(name.slice(prefix.length))))
  yield* rows({ sql: `alter table ${table} rename to ${prefix}${last + 1}`, parameters: [] })
}

/** Reports whether there is something to sweep. */
export async function hasDiscarded(connection: Connection): Promise<boolean> {
  return (await connection.read(() => listTables(connection))).some(isDiscarded)
}

/**
 * Removes discarded tables, even those of a process that ended before it could. What is deleted is overwritten, which
 * takes time: it is done a few rows at a time, and others append in between.
 */
export async function sweep(connection: Connection, signal?: AbortSignal): Promise<void> {
  const failed = new Map<string, unknown>()
  while (!signal?.aborted) {
    const tables = (await connection.read(() => listTables(connection))).filter(isDiscarded)
    const table = tables.find(each => !failed.has(each))
    if (table === undefined) break
    // One that is damaged leaves none of the others where they are.
    await connection
      .transact(() => remove(connection, table))
      .catch((error: unknown) => {
        if (!(error instanceof AverbaError) || error.code !== 'CORRUPT') throw error
        failed.set(table, error)
      })
    await yieldToEventLoop()
  }
  for (const error of failed.values()) throw error
}

/** Removes some rows of a table, and the table with the last of them. Another process may have been faster. */
function* remove(connection: Connection, table: string): Steps<void> {
  if (!(yield* listTables(connection)).includes(table)) return
  // PostgreSQL frees the file of a table as a whole.
  if (connection.dialect === 'sqlite') {
    yield* rows({
      sql: `delete from ${table} where rowid in (select rowid from ${table} limit ${rowsAtOnce})`,
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
