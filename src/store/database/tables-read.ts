import type { Database, Statement } from 'better-sqlite3'
import type { CompiledQuery } from 'kysely'

const statementsKeptMax = 500
/** Table-valued functions that make rows from their argument and read no table. */
const tablelessFunctions: ReadonlySet<string> = new Set(['json_each', 'json_tree'])

/**
 * Finds the tables that a host's statement reads: its compiled program opens each of them. Other sources of rows, such
 * as pragma functions, are named too, except those that read no table.
 */
export class TablesRead {
  readonly #database: Database
  readonly #tablesBySql = new Map<string, readonly string[]>()
  /** Table names by the root page of the table or of its index, as of `#schemaVersion`. */
  #tableByRootPage: ReadonlyMap<number, string> = new Map()
  #schemaVersion = -1
  #selectVersion: Statement<[], number> | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Names the tables in lower case. */
  find({ sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>): readonly string[] {
    this.#refresh()
    const known = this.#tablesBySql.get(sql)
    if (known) return known
    const program = this.#database.prepare<unknown[], OpenedTable>(`explain ${sql}`).all(...parameters)
    const tables = new Set<string>()
    for (const { opcode, p2, p3 } of program)
      if (opcode === 'OpenRead') tables.add((p3 === 0 ? this.#tableByRootPage.get(p2) : undefined) ?? 'a table')
    if (program.some(({ opcode }) => opcode === 'VOpen'))
      for (const name of this.#findVirtualTables(sql)) tables.add(name)
    if (this.#tablesBySql.size >= statementsKeptMax) this.#tablesBySql.clear()
    this.#tablesBySql.set(sql, [...tables])
    return [...tables]
  }

  /** The compiled program has a virtual table but not its name, so the words of the statement are searched. */
  #findVirtualTables(sql: string): string[] {
    const modules = new Set(this.#database.prepare('select lower(name) from pragma_module_list').pluck().all())
    const sources = sqlWords(sql).filter(
      word => tablelessFunctions.has(word) || /^pragma_/.test(word) || modules.has(word),
    )
    return sources.length === 0 ? ['a virtual table'] : sources.filter(word => !tablelessFunctions.has(word))
  }

  #refresh(): void {
    this.#selectVersion ??= this.#database.prepare<[], number>('pragma schema_version').pluck()
    const version = this.#selectVersion.get() ?? 0
    if (version === this.#schemaVersion) return
    const roots = this.#database
      .prepare<[], [number, string]>('select rootpage, lower(tbl_name) from sqlite_schema where rootpage > 0')
      .raw()
      .all()
    this.#tableByRootPage = new Map([[1, schemaTable], ...roots])
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

interface OpenedTable {
  readonly opcode: string
  readonly p2: number
  readonly p3: number
}
