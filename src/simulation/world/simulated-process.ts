import { type Averba, type AverbaOptions, openOn } from '../../averba/averba.ts'
import { UnsentError } from '../../vocabulary/connection-errors.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Fetch } from '../../vocabulary/fetch.ts'
import { CrashableMedium } from './crashable-medium.ts'
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

interface RunningEngine {
  readonly averba: Averba
  /** Rejects when the process dies. */
  readonly death: Promise<never>
}

/**
 * The process that an engine runs in. It may crash between any two steps: then its promises never settle, and the next
 * engine on the same store finds only committed writes.
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

  averba!: Averba

  get isDown(): boolean {
    return this.#life === undefined
  }

  /**
   * Opens an engine on the store.
   *
   * @throws {AverbaError} what `openAverba` throws; `CLOSED` when the process crashes meanwhile, or the store was
   * closed
   */
  async start(): Promise<Averba> {
    if (this.#hasEnded) throw closedWorldError('open an engine')
    const { clock, options } = this.#parts
    const { fetch: send = this.#parts.fetch } = options
    const time = clock.forProcess()
    let isOver = false
    const never = <T>() => new Promise<T>(() => undefined)
    const { promise: death, reject } = Promise.withResolvers<never>()
    death.catch(() => undefined) // Prevents an unhandled rejection when no call is under way.
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
    const died = death.catch(() => {
      const hint = 'Return false from crashAt until simulate or restart has resolved: the opening has crash points too'
      throw new AverbaError('CLOSED', 'Cannot open the engine: its process crashed meanwhile', { hint })
    })
    const averba = await Promise.race([opened, died])
    this.#life = { averba, death }
    this.averba = averba
    return averba
  }

  crash(): void {
    this.#life = undefined
    this.#die()
    void this.#medium.cutOff()
  }

  /** Passes a notification to the receiver. Throws when the process crashes meanwhile. */
  async receive(request: Request, from: { remoteAddress: string }): Promise<Response> {
    if (!this.#life) throw new UnsentError('ECONNREFUSED')
    const { averba, death } = this.#life
    return Promise.race([averba.receiver.fetch(request, from), death])
  }

  async fillDisk(isFull: boolean): Promise<void> {
    if (this.#hasEnded) throw closedWorldError('fill the disk')
    return this.#medium.fill(isFull)
  }

  async root(): Promise<string> {
    const root = await this.#medium.root()
    if (root === undefined) throw closedWorldError('read the log')
    return root
  }

  /** Closes a running engine as its host would, and lets the necessary time pass. */
  async stop(): Promise<void> {
    const life = this.#life
    if (!life) return
    this.#life = undefined
    // It may crash while it closes.
    await Promise.race([this.#parts.clock.finish(life.averba.close()), life.death.catch(() => undefined)])
  }

  /** Closes the engine and the store. */
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

function closedWorldError(what: string): AverbaError {
  const hint = 'The world was closed, and its store with it. Do this before you close it'
  return new AverbaError('CLOSED', `Cannot ${what}: the store was closed`, { hint })
}
