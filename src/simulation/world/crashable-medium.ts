import { type Connection, rows } from '../../store/database/connection.ts'
import { openSqlite } from '../../store/database/sqlite.ts'
import { treeRoot } from '../../store/log/tree.ts'
import type { StoreMedium } from '../../store/store-options.ts'
import type { Keyring } from '../../vault/keyring.ts'
import { closedError } from '../../vocabulary/errors.ts'

/** The life of one engine. After a crash its calls never settle; after a close they throw. */
interface EngineLife {
  state: 'running' | 'crashed' | 'closed'
}

/** Called before and after each write of an engine. True crashes its process there. */
export type AtWrite = (when: 'beforeWrite' | 'afterWrite') => boolean

/**
 * A store medium that outlives a crash of its engine: the database, and for a database in memory also the keyring.
 * After a crash the calls of that engine never settle, and only its committed writes remain.
 */
export class CrashableMedium implements StoreMedium {
  readonly #path: string
  readonly #atWrite: AtWrite
  #database: Connection | undefined
  #keyring: Keyring | undefined
  #isFull = false
  #life: EngineLife = { state: 'crashed' }

  constructor(path: string, atWrite: AtWrite) {
    this.#path = path
    this.#atWrite = atWrite
  }

  /** Opens the database for one engine. The engine before must have closed it, or have been cut off. */
  async open(): Promise<Connection> {
    const database = this.#database ?? (await openSqlite(this.#path))
    this.#database = database
    await this.#limitPages()
    const life: EngineLife = { state: 'running' }
    this.#life = life
    const never = <T>() => new Promise<T>(() => undefined)
    const alive = async <T>(work: () => Promise<T>): Promise<T> => {
      if (life.state === 'closed') throw closedError()
      if (life.state === 'crashed') return never()
      const done = await work()
      return isCrashed(life) ? never() : done
    }
    return {
      dialect: database.dialect,
      listTables: database.listTables,
      foreignWrites: database.foreignWrites,
      isShared: database.isShared,
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
        if (life.state !== 'running') return
        life.state = 'closed'
        if (!this.#isInMemory) await this.close()
      },
    }
  }

  /** Returns the keyring. For a database in memory it is created once. */
  async keyring(create: () => Promise<Keyring>): Promise<Keyring> {
    if (!this.#isInMemory) return create()
    this.#keyring ??= await create()
    return this.#keyring
  }

  async cutOff(): Promise<void> {
    if (this.#life.state === 'running') this.#life.state = 'crashed'
    if (!this.#isInMemory) await this.close()
  }

  /** Stops the database from growing, or allows it again. */
  async fill(isFull: boolean): Promise<void> {
    this.#isFull = isFull
    await this.#limitPages()
  }

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

  /** SQLite raises a limit below the current size to that size. */
  async #limitPages(): Promise<void> {
    const sql = `pragma max_page_count = ${this.#isFull ? 1 : pagesMax}`
    await this.#database?.read(() => rows({ sql, parameters: [] }))
  }
}

/** A function, since the compiler believes that awaited work leaves the state as it was. */
const isCrashed = ({ state }: EngineLife) => state === 'crashed'

/** SQLite's own maximum. */
const pagesMax = 4_294_967_294
