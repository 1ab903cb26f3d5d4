import type { Database } from 'better-sqlite3'
import type { Definitions } from '../../src/averba/averba.ts'
import { type Averba, openOn } from '../../src/averba/averba.ts'
import type { AverbaOptions } from '../../src/index.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { CrashPoint, CrashPoints } from './crash-points.ts'
import type { Disk } from './disk.ts'
import { type DatabaseWatcher, watchDatabases } from './mortal-database.ts'
import type { TrackedClock } from './tracked-clock.ts'

/** The engine died: what it was at goes on nowhere. */
export class DiedError extends Error {
  override readonly name = 'DiedError'
}

/** What a dead engine waits for: each time another, or the one would keep all that ever waited for it. */
function never(): Promise<never> {
  return new Promise(() => undefined)
}

/** What an engine stands on. */
export interface Ground {
  readonly clock: TrackedClock
  readonly points: CrashPoints
  readonly disk: Disk
  /** How far the engine's clock is ahead of the services'. */
  readonly jumpMs: () => number
  /** What it decides and shows by: those of a newer version after an upgrade. */
  readonly version: () => Definitions
  /** Told of every request when its answer is read, or when it is known that none comes. */
  readonly onExchanged: (request: Request, response: Response | undefined) => void
}

/**
 * One process of the engine: from its opening to its end, orderly or not. When it dies, nothing of it reaches anything
 * any more: no database, no service, no portal, no clock. All that stays is the file.
 */
export class Life {
  readonly #ground: Ground
  readonly #over = Promise.withResolvers<never>()
  #isOver = false
  #isWriting = false
  #averba: Averba | undefined
  #database: Database | undefined
  #pause: 'none' | 'coming' | PromiseWithResolvers<void> = 'none'
  readonly #underWay = new Set<Request>()

  private constructor(ground: Ground) {
    this.#ground = ground
    this.#over.promise.catch(() => undefined) // Whoever waits is told; it may be nobody.
  }

  /** Opens an engine, which may die of it: then this rejects with a `DiedError`. */
  static async begin(ground: Ground, options: AverbaOptions): Promise<Life> {
    const life = new Life(ground)
    watchDatabases(life.#watcher())
    const fetch: AverbaOptions['fetch'] = request => life.#send(request, options.fetch ?? never)
    try {
      life.#averba = await life.during(
        openOn(undefined, { ...options, fetch, clock: life.#clock() }, ground.version()),
      )
      return life
    } catch (error) {
      life.release()
      throw error
    } finally {
      watchDatabases(undefined)
    }
  }

  get averba(): Averba {
    if (!this.#averba) throw new TypeError('The engine was never opened')
    return this.#averba
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Dies here when the crash that is to come says so. */
  pass(point: CrashPoint): void {
    if (this.#isOver || !this.#ground.points.isHit(point)) return
    this.end()
  }

  /** Ends at once. */
  end(): void {
    this.#isOver = true
    // Nobody will read their answers.
    for (const request of this.#underWay) this.#ground.onExchanged(request, undefined)
    this.#over.reject(new DiedError('The engine died'))
  }

  /** Lets go of its connection when it is gone, as the system does: what it had not committed is undone. */
  release(): void {
    if (this.#database) this.#ground.disk.close(this.#database)
  }

  /** The whole process stands still, from the next answer of a service on: that one has come, and nobody reads it. */
  pauseAtAnswer(): void {
    this.#pause = 'coming'
  }

  get isPaused(): boolean {
    return typeof this.#pause === 'object'
  }

  resume(): void {
    if (typeof this.#pause === 'object') this.#pause.resolve()
    this.#pause = 'none'
  }

  /** Waits for something that an engine does, as long as it lives. */
  during<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#over.promise])
  }

  /** Does what a host does for the engine; nobody is there to hear of it when that died meanwhile. */
  async inside<T>(before: CrashPoint, after: CrashPoint, work: () => Promise<T>): Promise<T> {
    this.pass(before)
    if (this.#isOver) return never()
    const result = await work()
    this.pass(after)
    return this.#isOver ? never() : result
  }

  async #send(request: Request, fetch: NonNullable<AverbaOptions['fetch']>): Promise<Response> {
    const { onExchanged } = this.#ground
    this.#underWay.add(request)
    try {
      const response = await this.inside('request.before', 'request.after', async () => {
        const answer = await fetch(request)
        if (this.#pause === 'coming') this.#pause = Promise.withResolvers()
        await this.#whenAwake()
        return answer
      })
      onExchanged(request, response)
      return response
    } catch (error) {
      onExchanged(request, undefined)
      throw error
    } finally {
      this.#underWay.delete(request)
    }
  }

  async #whenAwake(): Promise<void> {
    if (typeof this.#pause === 'object') await this.#pause.promise
  }

  #clock(): Clock {
    const { clock, jumpMs } = this.#ground
    return {
      now: () => clock.now() + jumpMs(),
      sleep: async (ms, signal) => {
        await clock.sleep(ms, signal)
        await this.#whenAwake()
        if (this.#isOver) await never()
      },
    }
  }

  #watcher(): DatabaseWatcher {
    const pass = (point: CrashPoint) => {
      if (this.#isWriting) this.pass(point)
      if (this.#isOver) throw new DiedError('The engine died')
    }
    return {
      onBegin: (database, isWriting) => {
        const { clock, disk } = this.#ground
        clock.activity += 1
        this.#isWriting = isWriting
        this.#database = database
        disk.open(database)
        pass('append.before')
      },
      beforeCommit: () => pass('append.unfinished'),
      afterCommit: () => pass('append.after'),
    }
  }
}
