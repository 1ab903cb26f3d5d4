import type { DatabaseSync } from 'node:sqlite'
import type { CompiledQuery } from 'kysely'
import { type Prepared, readColumn, readValue } from './sqlite-driver.ts'

const statementsKeptMax = 500
/** Table-valued functions that make rows from their argument and read no table. */
const tablelessFunctions: ReadonlySet<string> = new Set(['json_each', 'json_tree'])

/**
 * Finds the tables that a host's statement reads: its compiled program opens each of them. Other sources of rows, such
 * as pragma functions, are named too, except those that read no table.
 */
export class TablesRead {
  readonly #database: DatabaseSync
  readonly #tablesBySql = new Map<string, readonly string[]>()
  /** Table names by the root page of the table or of its index, as of `#schemaVersion`. */
  #tableByRootPage = new Map<number, string>()
  #schemaVersion: unknown

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** Names the tables in lower case. */
  find({ sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>): readonly string[] {
    this.#refresh()
    const known = this.#tablesBySql.get(sql)
    if (known) return known
    const explain: Prepared = this.#database.prepare(`explain ${sql}`)
    const program = explain.all(...parameters)
    const tables = new Set<string>()
    for (const { opcode, p2, p3 } of program)
      if (opcode === 'OpenRead') tables.add((p3 === 0 ? this.#tableByRootPage.get(Number(p2)) : undefined) ?? 'a table')
    if (program.some(({ opcode }) => opcode === 'VOpen'))
      for (const name of this.#findVirtualTables(sql)) tables.add(name)
    if (this.#tablesBySql.size >= statementsKeptMax) this.#tablesBySql.clear()
    this.#tablesBySql.set(sql, [...tables])
    return [...tables]
  }

  /** The compiled program has a virtual table but not its name, so the words of the statement are searched. */
  #findVirtualTables(sql: string): string[] {
    const modules = new Set(readColumn(this.#database, 'select lower(name) from pragma_module_list'))
    const sources = sqlWords(sql).filter(
      word => tablelessFunctions.has(word) || /^pragma_/.test(word) || modules.has(word),
    )
    return sources.length === 0 ? ['a virtual table'] : sources.filter(word => !tablelessFunctions.has(word))
  }

  #refresh(): void {
    const version = readValue(this.#database, 'pragma schema_version')
    if (version === this.#schemaVersion) return
    const select = 'select rootpage, lower(tbl_name) as name from sqlite_schema where rootpage > 0'
    const roots = this.#database.prepare(select).all()
    this.#tableByRootPage = new Map([[1, schemaTable]])
    for (const { rootpage, name } of roots) this.#tableByRootPage.set(Number(rootpage), String(name))
    this.#tablesBySql.clear()
    this.#schemaVersion = version
  }
}

/** The table that lists all tables. Hosts may read it. */
export const schemaTable = 'sqlite_schema'

/** Splits a statement into words, in lower case. */
export function sqlWords(sql: string): string[] {
  return sql.toLowerCase().match(/\w+/g) ?? []
}
