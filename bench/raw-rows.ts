import Sqlite from 'better-sqlite3'

/** The tables in which a request for a validation leaves a row each, parents first. */
const tables = ['stream', 'event', 'part', 'effect', 'validations']

type Value = number | string | Buffer | null
/** For each table the values of one row. */
export type RowsOfAppend = readonly (readonly Value[])[]

/** What differs from one request to the next: the ids in its texts, and its position, which is its stream's key too. */
interface Keys {
  readonly validation: string
  readonly position: number
}

/**
 * What a full append comes to without averba: the same rows in the same tables with the same indexes, inserted by
 * better-sqlite3 alone, with nothing decided, sealed, hashed, checked or remembered, and as durable.
 */
export class RawRows {
  readonly #database: Sqlite.Database
  readonly #insertAll: (appends: readonly RowsOfAppend[]) => void
  readonly #samples: readonly (readonly Value[])[]
  readonly #sampled: Keys
  readonly #createId: () => string
  #position: number

  /** Takes the tables, and the newest row of each, from a store that validations were requested in last. */
  constructor(path: string, store: string, createId: () => string) {
    this.#createId = createId
    this.#database = new Sqlite(path)
    for (const pragma of ['journal_mode = wal', 'synchronous = full', 'foreign_keys = off']) {
      this.#database.pragma(pragma)
    }
    this.#database.prepare('attach ? as store').run(store)
    const made = this.#database
      .prepare(`select sql from store.sqlite_schema where sql is not null and name not like 'sqlite_%'`)
      .pluck()
      .all() as string[] // As asked.
    for (const sql of made) this.#database.exec(sql)
    this.#database.exec('insert into main.owner_key select * from store.owner_key')
    const position = this.#database.prepare('select max(position) from store.event').pluck().get() as number
    this.#samples = tables.map(table => this.#sample(table, position))
    const [[, name]] = this.#samples as [Value[]] // The row of the stream.
    this.#sampled = { position, validation: String(name).replace('validation-', '') }
    this.#position = position
    this.#database.exec('detach store')
    this.#database.pragma('foreign_keys = on')
    const inserts = tables.map((table, i) => {
      const values = this.#samples[i]?.map(() => '?').join(', ')
      return this.#database.prepare(`insert into ${table} values (${values})`)
    })
    this.#insertAll = this.#database.transaction((appends: readonly RowsOfAppend[]) => {
      for (const rows of appends) for (const [i, row] of rows.entries()) inserts[i]?.run(...row)
    })
  }

  /** Makes the rows of so many appends. */
  make(count: number): RowsOfAppend[] {
    return Array.from({ length: count }, () => {
      this.#position += 1
      const keys = { position: this.#position, validation: this.#createId() }
      return this.#samples.map(row => row.map(value => this.#rekey(value, keys)))
    })
  }

  /** Inserts them, with one transaction for all callers. */
  insert(appends: readonly RowsOfAppend[], callers: number): void {
    for (let done = 0; done < appends.length; done += callers) this.#insertAll(appends.slice(done, done + callers))
  }

  close(): void {
    this.#database.close()
  }

  #sample(table: string, position: number): Value[] {
    const key = table === 'stream' ? 'key' : table === 'validations' ? 'rowid' : 'position'
    const newest = `select * from store.${table} where ${key} = (select max(${key}) from store.${table})`
    const row = this.#database.prepare(newest).raw().get() as Value[] | undefined // As asked.
    if (!row?.some(value => value === position || String(value).startsWith('validation-')))
      throw new TypeError(`Cannot find what the newest append left in "${table}"`)
    return row
  }

  #rekey(value: Value, { position, validation }: Keys): Value {
    const sampled = this.#sampled
    if (value === sampled.position) return position
    if (typeof value !== 'string') return value
    return value.replaceAll(sampled.validation, validation)
  }
}
