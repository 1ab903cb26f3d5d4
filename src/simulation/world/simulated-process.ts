import { type Averba, type AverbaOptions, openOn } from '../../averba/averba.ts'
import { type Connection, rows, withChanges } from '../../store/database/connection.ts'
import { openSqlite } from '../../store/database/sqlite.ts'
import { treeRoot } from '../../store/log/tree.ts'
import { placeOf } from '../../store/opening.ts'
import type { StoreMedium } from '../../store/store-options.ts'
import type { Keyring } from '../../vault/keyring.ts'
import { UnsentError } from '../../vocabulary/connection-errors.ts'
import { AverbaError, closedError } from '../../vocabulary/errors.ts'
import type { Fetch } from '../../vocabulary/fetch.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** A point between two steps of an engine at which its process may crash. */
export interface CrashPoint {
  /**
   * - `beforeWrite`, `afterWrite`: a transaction is about to begin, or is durable but not yet reported to the engine.
   * - `beforeRequest`, `afterRequest`: a request is about to be sent, or its answer has arrived but is not yet read.
   */
  readonly at: 'beforeWrite' | 'afterWrite' | 'beforeRequest' | 'afterRequest'
  /** Counts all points of the world, including those while it opened. */
  readonly number: number
}

interface ProcessParts {
  readonly clock: VirtualClock
  readonly options: AverbaOptions
  /** Sends requests, unless the options have their own `fetch`. */
  readonly fetch: Fetch
  readonly crashAt: (point: CrashPoint) => boolean
}

/** The life of one engine. After a crash its calls never settle; after a close those to the database throw. */
interface EngineLife {
  state: 'running' | 'crashed' | 'closed'
  /** The engine, from its opening until it is stopped or crashes. */
  averba?: Averba | undefined
  /** Rejects when the process dies. */
  readonly death: Promise<never>
  readonly die: () => void
}

/** SQLite's own maximum. */
const pagesMax = 4_294_967_294

/**
 * The process that an engine runs in. It may crash between any two steps: then its promises never settle, and the next
 * engine on the same store finds only committed writes. The database, and for a database in memory also the keyring,
 * outlive the engines.
 */
export class SimulatedProcess implements StoreMedium {
  readonly #parts: ProcessParts
  #database: Connection | undefined
  #keyring: Keyring | undefined
  #isFull = false
  #life: EngineLife | undefined
  #points = 0
  #hasEnded = false

  constructor(parts: ProcessParts) {
    this.#parts = parts
  }

  averba!: Averba

  get isDown(): boolean {
    return this.#life?.averba === undefined
  }

  /**
   * Opens an engine on the store.
   *
   * @throws {AverbaError} what `openAverba` throws; `CLOSED` when the process crashes or the store was closed
   */
  async start(): Promise<Averba> {
    if (this.#hasEnded) throw closedWorldError('open an engine')
    const { clock, options } = this.#parts
    const { fetch: send = this.#parts.fetch } = options
    const time = clock.forProcess()
    const { promise: death, reject } = Promise.withResolvers<never>()
    death.catch(() => undefined) // Prevents an unhandled rejection when no call is under way.
    const die = () => {
      time.end()
      reject(new Error('The process died'))
    }
    const life: EngineLife = { state: 'running', death, die }
    this.#life = life
    const opened = openOn(this, {
      clock: time,
      ...options,
      fetch: async request => {
        if (life.state === 'crashed' || this.#isFatal('beforeRequest')) return never()
        const answer = await send(request)
        return isCrashed(life) || this.#isFatal('afterRequest') ? never() : answer
      },
    })
    const died = death.catch(() => {
      const hint = 'Return false from crashAt until simulate or restart has resolved: the opening has crash points too'
      throw new AverbaError('CLOSED', 'Cannot open the engine: its process crashed meanwhile', { hint })
    })
    this.averba = await Promise.race([opened, died])
    life.averba = this.averba
    return this.averba
  }

  /** Opens the database for the engine. The engine before has closed it, or has crashed. */
  async open(): Promise<Connection> {
    const { clock, options } = this.#parts
    const opened = this.#database ? undefined : (await placeOf(options)).medium?.open()
    const database = this.#database ?? (await (opened ?? openSqlite(options.store)))
    this.#database = database
    await this.#limitPages()
    const life = this.#life
    if (!life) throw closedError()
    // A server answers in its own time, and simulated time must not pass meanwhile.
    const held = <T>(answer: Promise<T>) => (database.dialect === 'sqlite' ? answer : clock.hold(answer))
    const alive = async <T>(work: () => Promise<T>): Promise<T> => {
      if (life.state === 'closed') throw closedError()
      if (life.state === 'crashed') return never()
      const done = await work()
      return isCrashed(life) ? never() : done
    }
    return withChanges(database, {
      // One engine at a time writes to the store, and a server would wake it at a real time.
      isShared: false,
      watch: () => undefined,
      transact: (steps, locks) =>
        alive(async () => {
          if (this.#isFatal('beforeWrite')) return never()
          const done = await held(database.transact(steps, locks))
          return this.#isFatal('afterWrite') ? never() : done
        }),
      read: steps => alive(() => held(database.read(steps))),
      readOnly: (query, check) => alive(() => held(database.readOnly(query, check))),
      emptyJournal: () => alive(() => database.emptyJournal()),
      rewrite: () => alive(() => database.rewrite()),
      searchFile: pieces => alive(() => database.searchFile(pieces)),
      close: async () => {
        if (life.state !== 'running') return
        life.state = 'closed'
        await this.#closeFile()
      },
    })
  }

  /** Returns the keyring. For a database in memory it is created once. */
  async keyring(create: () => Promise<Keyring>): Promise<Keyring> {
    if (!this.#isInMemory) return create()
    this.#keyring ??= await create()
    return this.#keyring
  }

  crash(): void {
    const life = this.#life
    if (!life) return
    life.averba = undefined
    life.state = 'crashed'
    life.die()
    void this.#closeFile()
  }

  /** Passes a notification to the receiver. Throws when the process crashes meanwhile. */
  async receive(request: Request, from: { remoteAddress: string }): Promise<Response> {
    const { averba, death } = this.#life ?? {}
    if (!averba || !death) throw new UnsentError('ECONNREFUSED')
    return Promise.race([averba.receiver.fetch(request, from), death])
  }

  /** Stops the database from growing, or allows it again. */
  async fillDisk(isFull: boolean): Promise<void> {
    if (this.#hasEnded) throw closedWorldError('fill the disk')
    if (this.#database?.dialect === 'postgres')
      throw new AverbaError('INVALID_INPUT', 'Cannot fill the disk: it is that of a server', {
        hint: 'Simulate with a file or in memory',
      })
    this.#isFull = isFull
    await this.#limitPages()
  }

  async root(): Promise<string> {
    const root = await this.#database?.read(treeRoot)
    if (root === undefined) throw closedWorldError('read the log')
    return root
  }

  /** Closes a running engine as its host would, and lets the necessary time pass. */
  async stop(): Promise<void> {
    const life = this.#life
    if (!life?.averba) return
    const closing = life.averba.close()
    life.averba = undefined
    // It may crash while it closes.
    await Promise.race([this.#parts.clock.finish(closing), life.death.catch(() => undefined)])
  }

  /** Closes the engine and the store. */
  async end(): Promise<void> {
    await this.stop()
    this.#hasEnded = true
    await this.#close()
  }

  get #isInMemory(): boolean {
    return this.#parts.options.store === ':memory:'
  }

  async #closeFile(): Promise<void> {
    if (!this.#isInMemory) await this.#close()
  }

  async #close(): Promise<void> {
    const database = this.#database
    this.#database = undefined
    await database?.close()
  }

  /** SQLite raises a limit below the current size to that size. */
  async #limitPages(): Promise<void> {
    if (this.#database?.dialect === 'postgres') return
    const sql = `pragma max_page_count = ${this.#isFull ? 1 : pagesMax}`
    await this.#database?.read(() => rows({ sql, parameters: [] }))
  }

  #isFatal(at: CrashPoint['at']): boolean {
    this.#points += 1
    if (!this.#parts.crashAt({ at, number: this.#points })) return false
    this.crash()
    return true
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}

/** A function, since the compiler believes that awaited work leaves the state as it was. */
const isCrashed = ({ state }: EngineLife) => state === 'crashed'

function closedWorldError(what: string): AverbaError {
  const hint = 'The world was closed, and its store with it. Do this before you close it'
  return new AverbaError('CLOSED', `Cannot ${what}: the store was closed`, { hint })
}
