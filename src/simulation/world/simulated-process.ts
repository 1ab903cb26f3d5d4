import { type Averba, type AverbaOptions, openOn } from '../../averba/averba.ts'
import { UnsentError } from '../../vocabulary/connection-errors.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Fetch } from '../../vocabulary/fetch.ts'
import { CrashableMedium } from './crashable-medium.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** A place between two steps of an engine at which its process may die. */
export interface CrashPoint {
  /**
   * - `beforeWrite`, `afterWrite`: a transaction of the store is about to begin, or is durable and not yet told.
   * - `beforeRequest`, `afterRequest`: a request is about to leave, or its answer has come and is not yet read.
   */
  readonly at: 'beforeWrite' | 'afterWrite' | 'beforeRequest' | 'afterRequest'
  /** The number of this point, counted since the world began, those while it was opened included. */
  readonly number: number
}

/** What a process is made of. */
interface ProcessParts {
  readonly clock: VirtualClock
  readonly options: AverbaOptions
  /** The way out, unless the options name another. */
  readonly fetch: Fetch
  readonly crashAt: (point: CrashPoint) => boolean
}

interface RunningEngine {
  readonly averba: Averba
  /** Rejects when the process dies. */
  readonly death: Promise<never>
}

/**
 * The process that an engine lives in. It may die between any two steps: then nothing of it goes on, its callers hear
 * nothing, and the next engine on the same store finds what was committed.
 */
export class SimulatedProcess {
  readonly #parts: ProcessParts
  readonly #medium: CrashableMedium
  #life: RunningEngine | undefined
  #die: () => void = () => undefined
  #points = 0
  #hasEnded = false

  constructor(parts: ProcessParts) {
    this.#parts = parts
    this.#medium = new CrashableMedium(parts.options.store, at => this.#isFatal(at))
  }

  /** The engine that is alive, or the last one that was. */
  averba!: Averba

  /** Reports whether there is no engine that lives. */
  get isDown(): boolean {
    return this.#life === undefined
  }

  /**
   * Opens an engine on the store.
   *
   * @throws {AverbaError} what `openAverba` throws; `CLOSED` when the process dies meanwhile, or the store was closed
   */
  async start(): Promise<Averba> {
    if (this.#hasEnded) throw ended('open an engine')
    const { clock, options } = this.#parts
    const { fetch: send = this.#parts.fetch } = options
    const time = clock.forProcess()
    let isOver = false
    const never = <T>() => new Promise<T>(() => undefined)
    const { promise: death, reject } = Promise.withResolvers<never>()
    death.catch(() => undefined) // Nobody may be waiting.
    this.#die = () => {
      isOver = true
      time.end()
      reject(new Error('The process died'))
    }
    const opened = openOn(this.#medium, {
      clock: time,
      ...options,
      fetch: async request => {
        if (isOver || this.#isFatal('beforeRequest')) return never()
        const answer = await send(request)
        return isOver || this.#isFatal('afterRequest') ? never() : answer
      },
    })
    const averba = await Promise.race([opened, death.catch(whileOpening)])
    this.#life = { averba, death }
    this.averba = averba
    return averba
  }

  /** Ends the process at once, whatever it is doing. */
  crash(): void {
    this.#life = undefined
    this.#die()
    void this.#medium.cutOff()
  }

  /** Gives a notification to the receiver, over a connection that breaks with the process. */
  async receive(request: Request, from: { remoteAddress: string }): Promise<Response> {
    if (!this.#life) throw new UnsentError('ECONNREFUSED')
    const { averba, death } = this.#life
    return Promise.race([averba.receiver.fetch(request, from), death])
  }

  /** Lets the disk be full, or have space again. */
  async fillDisk(isFull: boolean): Promise<void> {
    if (this.#hasEnded) throw ended('fill the disk')
    return this.#medium.fill(isFull)
  }

  /** The root of the Merkle tree over the log's headers. */
  async root(): Promise<string> {
    const root = await this.#medium.root()
    if (root !== undefined) return root
    throw ended('read the log')
  }

  /** Closes a living engine as its host would, and lets the time pass that this takes. */
  async stop(): Promise<void> {
    const life = this.#life
    if (!life) return
    this.#life = undefined
    // It may die while it closes.
    await Promise.race([this.#parts.clock.finish(life.averba.close()), life.death.catch(() => undefined)])
  }

  /** Closes the store. */
  async end(): Promise<void> {
    await this.stop()
    this.#hasEnded = true
    await this.#medium.close()
  }

  #isFatal(at: CrashPoint['at']): boolean {
    this.#points += 1
    if (!this.#parts.crashAt({ at, number: this.#points })) return false
    this.crash()
    return true
  }
}

function ended(what: string): AverbaError {
  const hint = 'The world was closed, and its store with it: do this before'
  return new AverbaError('CLOSED', `Cannot ${what}: the store was closed`, { hint })
}

function whileOpening(): never {
  throw new AverbaError('CLOSED', 'Cannot open the engine: its process died meanwhile', {
    hint: 'Points count from the opening on: let crashAt answer false until simulate, or restart, has resolved',
  })
}
