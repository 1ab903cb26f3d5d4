import type { DatabaseSync } from 'node:sqlite'
import { readColumn } from './sqlite-driver.ts'

const statementsKeptMax = 500
/** Table-valued functions that make rows from their argument and read no table. */
const tablelessFunctions: ReadonlySet<string> = new Set(['json_each', 'json_tree'])

/**
 * Finds the tables that a host's statement reads: its compiled program opens each of them. Other sources of rows, such
 * as pragma functions, are named too, except those that read no table.
 */
export class TablesRead {
  readonly #database: DatabaseSync
  readonly #foundBySql = new Map<string, FoundTables>()
  /** Table names by the root page of the table or of its index, as of `#schemaVersion`. */
  #tableByRootPage = new Map<number, string>()
  #schemaVersion: unknown

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** Names the tables in lower case. Takes the version of the schema that the transaction sees. */
  find(sql: string, schemaVersion: unknown): FoundTables {
    if (schemaVersion !== this.#schemaVersion) this.#readRootPages()
    this.#schemaVersion = schemaVersion
    const known = this.#foundBySql.get(sql)
    if (known) return known
    const program = this.#database.prepare(`explain ${sql}`).all()
    const tables = new Set<string>()
    for (const { opcode, p2, p3 } of program)
      if (opcode === 'OpenRead') tables.add((p3 === 0 ? this.#tableByRootPage.get(Number(p2)) : undefined) ?? 'a table')
    if (program.some(({ opcode }) => opcode === 'VOpen'))
      for (const name of this.#findVirtualTables(sql)) tables.add(name)
    const isWriting = program.some(({ opcode, p2 }) => opcode === 'OpenWrite' || (opcode === 'Transaction' && p2 !== 0))
    const parameters = program.map(({ opcode, p1 }) => (opcode === 'Variable' ? Number(p1) : 0))
    const found = { tables: [...tables], isWriting, parametersUsed: Math.max(...parameters) }
    if (this.#foundBySql.size >= statementsKeptMax) this.#foundBySql.clear()
    this.#foundBySql.set(sql, found)
    return found
  }

  /** The compiled program has a virtual table but not its name, so the words of the statement are searched. */
  #findVirtualTables(sql: string): string[] {
    const modules = new Set(readColumn(this.#database, 'select lower(name) from pragma_module_list'))
    const sources = sqlWords(sql).filter(
      word => tablelessFunctions.has(word) || /^pragma_/.test(word) || modules.has(word),
    )
    return sources.length === 0 ? ['a virtual table'] : sources.filter(word => !tablelessFunctions.has(word))
  }

  #readRootPages(): void {
    const select = 'select rootpage, lower(tbl_name) as name from sqlite_schema where rootpage > 0'
    const roots = this.#database.prepare(select).all()
    this.#tableByRootPage = new Map([[1, schemaTable]])
    for (const { rootpage, name } of roots) this.#tableByRootPage.set(Number(rootpage), String(name))
    this.#foundBySql.clear()
  }
}

interface FoundTables {
  readonly tables: readonly string[]
  /** It would write: SQLite begins its program with a transaction that may. */
  readonly isWriting: boolean
  /** The highest number of a parameter: SQLite would take null for one that is not given. */
  readonly parametersUsed: number
}

/** The table that lists all tables. Hosts may read it. */
export const schemaTable = 'sqlite_schema'

/** Splits a statement into words, in lower case. */
export function sqlWords(sql: string): string[] {
  return sql.toLowerCase().match(/\w+/g) ?? []
}
