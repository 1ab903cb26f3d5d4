import { DatabaseSync, type DatabaseSyncOptions, type SQLInputValue } from 'node:sqlite'

/**
 * A database file, as another program opens it. It is the same SQLite as averba's own: a second copy of it in a process
 * would drop the locks of the first.
 */
export class Sqlite extends DatabaseSync {
  constructor(path: string, options?: DatabaseSyncOptions) {
    super(path, { timeout: 5_000, defensive: false, ...options })
  }

  /** Reads rows, which the caller knows from the query. */
  rows<Row>(sql: string, ...parameters: readonly unknown[]): Row[] {
    const given = parameters as SQLInputValue[] // SQLite refuses any other.
    const rows = this.prepare(sql).all(...given)
    return rows.map(row => Object.fromEntries(Object.entries(row).map(asBuffer))) as Row[]
  }

  column(sql: string, ...parameters: readonly unknown[]): unknown[] {
    return this.rows<object>(sql, ...parameters).map(row => Object.values(row)[0])
  }

  /** Reads the first column of the first row. */
  value(sql: string, ...parameters: readonly unknown[]): unknown {
    return this.column(sql, ...parameters)[0]
  }

  pragma(text: string): unknown {
    return this.value(`pragma ${text}`)
  }
}

/** Bytes are compared in tests, which `Buffer` has more ways for. */
function asBuffer([column, value]: [string, unknown]): [string, unknown] {
  return [column, value instanceof Uint8Array ? Buffer.from(value) : value]
}
