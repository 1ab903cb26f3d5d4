import type { DatabaseSync } from 'node:sqlite'
import { type Averba, type Definitions, openOn } from '../../src/averba/averba.ts'
import type { AverbaOptions } from '../../src/index.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { CrashPoint, CrashPoints } from './crash-points.ts'
import type { Disk } from './disk.ts'
import type { TrackedClock } from './tracked-clock.ts'
import { type DatabaseWatcher, watchDatabases } from './watched-database.ts'

/** The engine crashed while it was doing this work. */
export class DiedError extends Error {
  override readonly name = 'DiedError'
}

/** A new promise each time: a shared one would hold everything that ever waited for it in memory. */
function neverSettles(): Promise<never> {
  return new Promise(() => undefined)
}

/** What a process of the engine needs. */
export interface ProcessDependencies {
  readonly clock: TrackedClock
  readonly points: CrashPoints
  readonly disk: Disk
  /** How far the engine's clock is ahead of the services' clocks. */
  readonly jumpMs: () => number
  /** Its machines and views: newer ones after an upgrade. */
  readonly version: () => Definitions
  /** Called for every request when its answer is read, or when it will never be. */
  readonly onExchanged: (request: Request, response: Response | undefined) => void
}

/**
 * One process of the engine, from its start to its close or crash. After a crash it reaches no database, service, portal
 * or clock. Only the file remains.
 */
export class EngineProcess {
  readonly #dependencies: ProcessDependencies
  readonly #over = Promise.withResolvers<never>()
  #isOver = false
  #isWriting = false
  #averba: Averba | undefined
  #database: DatabaseSync | undefined
  #pause: 'none' | 'coming' | PromiseWithResolvers<void> = 'none'
  readonly #underWay = new Set<Request>()

  private constructor(dependencies: ProcessDependencies) {
    this.#dependencies = dependencies
    this.#over.promise.catch(() => undefined) // Prevents an unhandled rejection when no work is waiting.
  }

  /** Opens an engine. Rejects with a `DiedError` when it crashes meanwhile. */
  static async start(dependencies: ProcessDependencies, options: AverbaOptions): Promise<EngineProcess> {
    const engineProcess = new EngineProcess(dependencies)
    watchDatabases(engineProcess.#watcher())
    const fetch: AverbaOptions['fetch'] = request => engineProcess.#send(request, options.fetch ?? neverSettles)
    try {
      engineProcess.#averba = await engineProcess.whileAlive(
        openOn(undefined, { ...options, fetch, clock: engineProcess.#clock() }, dependencies.version()),
      )
      return engineProcess
    } catch (error) {
      engineProcess.release()
      throw error
    } finally {
      watchDatabases(undefined)
    }
  }

  get averba(): Averba {
    if (!this.#averba) throw new TypeError('The engine was never opened')
    return this.#averba
  }

  get isDead(): boolean {
    return this.#isOver
  }

  /** Crashes here if the planned crash is at this point. */
  passCrashPoint(point: CrashPoint): void {
    if (this.#isOver || !this.#dependencies.points.isHit(point)) return
    this.end()
  }

  /** Crashes at once. */
  end(): void {
    this.#isOver = true
    // Their answers are never read.
    for (const request of this.#underWay) this.#dependencies.onExchanged(request, undefined)
    this.#over.reject(new DiedError('The engine died'))
  }

  /** Closes its connection, as the system does after a crash: uncommitted writes are lost. */
  release(): void {
    if (this.#database) this.#dependencies.disk.close(this.#database)
  }

  /** Pauses the whole process when the next answer of a service has arrived but is not yet read. */
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

  /** Waits for work of the engine. Rejects with a `DiedError` when it crashes meanwhile. */
  whileAlive<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#over.promise])
  }

  /** Does work between two crash points. Never settles when the engine is dead. */
  async betweenCrashPoints<T>(before: CrashPoint, after: CrashPoint, work: () => Promise<T>): Promise<T> {
    this.passCrashPoint(before)
    if (this.#isOver) return neverSettles()
    const result = await work()
    this.passCrashPoint(after)
    return this.#isOver ? neverSettles() : result
  }

  async #send(request: Request, fetch: NonNullable<AverbaOptions['fetch']>): Promise<Response> {
    const { onExchanged } = this.#dependencies
    this.#underWay.add(request)
    try {
      const response = await this.betweenCrashPoints('request.before', 'request.after', async () => {
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
    const { clock, jumpMs } = this.#dependencies
    return {
      now: () => clock.now() + jumpMs(),
      sleep: async (ms, signal) => {
        await clock.sleep(ms, signal)
        await this.#whenAwake()
        if (this.#isOver) await neverSettles()
      },
    }
  }

  #watcher(): DatabaseWatcher {
    const pass = (point: CrashPoint) => {
      if (this.#isWriting) this.passCrashPoint(point)
      if (this.#isOver) throw new DiedError('The engine died')
    }
    return {
      onBegin: (database, isWriting) => {
        const { clock, disk } = this.#dependencies
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
