import type { Database, Statement } from 'better-sqlite3'
import type { CompiledQuery } from 'kysely'
import { AverbaError } from '../../vocabulary/errors.ts'

const statementsKeptMax = 500
/** Functions that make rows from a text, and read nothing. */
const harmless: ReadonlySet<string> = new Set(['json_each', 'json_tree'])

/**
 * Tells which tables a host's statement reads: the program that SQLite compiles it to opens each of them. Any other
 * source of rows, such as the settings of the database, is named as well, unless it reads nothing.
 */
export class TablesRead {
  readonly #database: Database
  readonly #found = new Map<string, readonly string[]>()
  /** The tables, by the page where they or their indexes begin, as of a version of the schema. */
  #roots: ReadonlyMap<number, string> = new Map()
  #version = -1
  #selectVersion: Statement | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Names them, in lower case. */
  of({ sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>): readonly string[] {
    this.#refresh()
    const known = this.#found.get(sql)
    if (known) return known
    const program = this.#database.prepare(`explain ${sql}`).all(...parameters) as OpenedTable[] // As SQLite answers.
    const tables = new Set<string>()
    for (const { opcode, p2, p3 } of program)
      if (opcode === 'OpenRead') tables.add((p3 === 0 ? this.#roots.get(p2) : undefined) ?? 'a table')
    if (program.some(({ opcode }) => opcode === 'VOpen'))
      for (const name of this.#virtualIn(sql)) tables.add(name)
    if (this.#found.size >= statementsKeptMax) this.#found.clear()
    this.#found.set(sql, [...tables])
    return [...tables]
  }

  /** The program says that there is a virtual table, but not which. */
  #virtualIn(sql: string): string[] {
    const modules = new Set(
      this.#database.prepare('select lower(name) from pragma_module_list').pluck().all(),
    )
    const named = wordsOf(sql).filter(
      word => harmless.has(word) || /^pragma_/.test(word) || modules.has(word),
    )
    return named.length === 0 ? ['a virtual table'] : named.filter(word => !harmless.has(word))
  }

  #refresh(): void {
    this.#selectVersion ??= this.#database.prepare('pragma schema_version').pluck()
    const version = this.#selectVersion.get() as number // As SQLite answers.
    if (version === this.#version) return
    const roots = this.#database
      .prepare('select rootpage, lower(tbl_name) from sqlite_schema where rootpage > 0')
      .raw()
      .all() as [number, string][] // As asked.
    this.#roots = new Map([[1, schemaTable], ...roots])
    this.#found.clear()
    this.#version = version
  }
}

/** What says which tables there are, which is no secret. */
export const schemaTable = 'sqlite_schema'

/** The words of a statement, in lower case. */
export function wordsOf(sql: string): string[] {
  return sql.toLowerCase().match(/\w+/g) ?? []
}

interface OpenedTable {
  readonly opcode: string
  readonly p2: number
  readonly p3: number
}

/** The error for what would do anything with views but read them. */
export function onlyRead(cannot: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `${cannot}: views can only be read`, {
    hint: 'Query them with selectFrom or with: what they show is changed by the events of the log alone',
  })
}
