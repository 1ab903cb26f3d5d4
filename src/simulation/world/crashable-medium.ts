import { type Connection, rows } from '../../store/database/connection.ts'
import { openSqlite } from '../../store/database/sqlite.ts'
import { treeRoot } from '../../store/log/tree.ts'
import type { StoreMedium } from '../../store/store-options.ts'
import type { Keyring } from '../../vault/keyring.ts'
import { closedError } from '../../vocabulary/errors.ts'

/** Of an engine that died nothing goes on; one that was closed says so. */
interface EngineLife {
  isOver: boolean
  isClosed: boolean
}

/** Told before and after each write of an engine. True lets its process die there. */
export type AtWrite = (when: 'beforeWrite' | 'afterWrite') => boolean

/**
 * What a store stands on when its engine may die: the database, and in memory the keyring too, which outlive it. An
 * engine that is cut off does and hears nothing more: what it had committed stands, and nothing else.
 */
export class CrashableMedium implements StoreMedium {
  readonly #path: string
  readonly #atWrite: AtWrite
  #database: Connection | undefined
  #keyring: Keyring | undefined
  #isFull = false
  /** Ends with the engine that has the store open. */
  #life: EngineLife = { isOver: true, isClosed: false }

  constructor(path: string, atWrite: AtWrite) {
    this.#path = path
    this.#atWrite = atWrite
  }

  /** Opens the database for one engine: the one before must have closed it, or be cut off. */
  async open(): Promise<Connection> {
    const database = this.#database ?? (await openSqlite(this.#path))
    this.#database = database
    await this.#limitPages()
    const life: EngineLife = { isOver: false, isClosed: false }
    this.#life = life
    const never = <T>() => new Promise<T>(() => undefined)
    const alive = async <T>(work: () => Promise<T>): Promise<T> => {
      if (life.isClosed) throw closedError()
      if (life.isOver) return never()
      const done = await work()
      return life.isOver && !life.isClosed ? never() : done
    }
    return {
      dialect: database.dialect,
      compiler: database.compiler,
      listTables: database.listTables,
      foreignWrites: database.foreignWrites,
      transact: steps =>
        alive(async () => {
          if (this.#atWrite('beforeWrite')) return never()
          const done = await database.transact(steps)
          return this.#atWrite('afterWrite') ? never() : done
        }),
      read: steps => alive(() => database.read(steps)),
      readOnly: (query, check) => alive(() => database.readOnly(query, check)),
      emptyJournal: () => alive(() => database.emptyJournal()),
      rewrite: () => alive(() => database.rewrite()),
      searchFile: pieces => alive(() => database.searchFile(pieces)),
      close: async () => {
        if (life.isOver) return
        life.isOver = true
        life.isClosed = true
        if (!this.#isInMemory) await this.close()
      },
    }
  }

  /** The keyring of a database in memory, made once. */
  async keyring(create: () => Promise<Keyring>): Promise<Keyring> {
    if (!this.#isInMemory) return create()
    this.#keyring ??= await create()
    return this.#keyring
  }

  /** Cuts the engine off from the store, between two of its steps. */
  async cutOff(): Promise<void> {
    this.#life.isOver = true
    if (!this.#isInMemory) await this.close()
  }

  /** Lets the database grow no further, or as far as it likes again. */
  async fill(isFull: boolean): Promise<void> {
    this.#isFull = isFull
    await this.#limitPages()
  }

  /** The root of the Merkle tree over every header; headers hold the hashes of their sealed parts. */
  async root(): Promise<string | undefined> {
    return this.#database?.read(treeRoot)
  }

  async close(): Promise<void> {
    const database = this.#database
    this.#database = undefined
    await database?.close()
  }

  get #isInMemory(): boolean {
    return this.#path === ':memory:'
  }

  /** SQLite raises a bound below the present size to that size. */
  async #limitPages(): Promise<void> {
    const sql = `pragma max_page_count = ${this.#isFull ? 1 : pagesMax}`
    await this.#database?.read(() => rows({ sql, parameters: [] }))
  }
}

/** SQLite's own maximum. */
const pagesMax = 4_294_967_294
