import type { DatabaseSync } from 'node:sqlite'
import { type Averba, openOn } from '../../src/averba/averba.ts'
import type { AverbaOptions } from '../../src/index.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import type { Fetch } from '../../src/vocabulary/fetch.ts'
import type { CrashPoint } from './crash-points.ts'
import type { SimulatedHost } from './simulated-host.ts'
import { watchDatabases } from './watched-database.ts'

/** The engine crashed while it was doing this work. */
export class DiedError extends Error {
  override readonly name = 'DiedError'
}

/** A new promise each time: a shared one would hold everything that ever waited for it in memory. */
function neverSettles(): Promise<never> {
  return new Promise(() => undefined)
}

/**
 * One process of the engine, from its start to its close or crash. After a crash it reaches no database, service, portal
 * or clock. Only the file remains.
 */
export class EngineProcess {
  readonly #simulated: SimulatedHost
  readonly #over = Promise.withResolvers<never>()
  #isOver = false
  #isWriting = false
  #averba: Averba | undefined
  #database: DatabaseSync | undefined
  #pause: 'none' | 'coming' | PromiseWithResolvers<void> = 'none'
  readonly #underWay = new Set<Request>()

  private constructor(simulated: SimulatedHost) {
    this.#simulated = simulated
    this.#over.promise.catch(() => undefined) // Prevents an unhandled rejection when no work is waiting.
  }

  /** Opens an engine. Rejects with a `DiedError` when it crashes meanwhile. */
  static async start(simulated: SimulatedHost, options: AverbaOptions & { fetch: Fetch }): Promise<EngineProcess> {
    const engineProcess = new EngineProcess(simulated)
    watchDatabases((database, at) => engineProcess.#watch(database, at))
    const fetch: Fetch = request => engineProcess.#send(request, options.fetch)
    try {
      engineProcess.#averba = await engineProcess.whileAlive(
        openOn(undefined, { ...options, fetch, clock: engineProcess.#clock() }, simulated.version),
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
    const { nextCrash, runRecord } = this.#simulated
    if (this.#isOver || nextCrash?.point !== point) return
    const isHit = nextCrash.skip === 0
    this.#simulated.nextCrash = isHit ? undefined : { point, skip: nextCrash.skip - 1 }
    if (!isHit) return
    runRecord.markReached(`crash ${point}`)
    this.end()
  }

  /** Crashes at once. */
  end(): void {
    this.#isOver = true
    // Their answers are never read.
    for (const request of this.#underWay) this.#simulated.runRecord.notify('exchanged', request, undefined)
    this.#over.reject(new DiedError('The engine died'))
  }

  /** Closes its connection, as the system does after a crash: uncommitted writes are lost. */
  release(): void {
    if (this.#database) this.#simulated.disk.close(this.#database)
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

  async #send(request: Request, fetch: Fetch): Promise<Response> {
    const { runRecord } = this.#simulated
    this.#underWay.add(request)
    try {
      const response = await this.betweenCrashPoints('request.before', 'request.after', async () => {
        const answer = await fetch(request)
        if (this.#pause === 'coming') this.#pause = Promise.withResolvers()
        await this.#whenAwake()
        return answer
      })
      runRecord.notify('exchanged', request, response)
      return response
    } catch (error) {
      runRecord.notify('exchanged', request, undefined)
      throw error
    } finally {
      this.#underWay.delete(request)
    }
  }

  async #whenAwake(): Promise<void> {
    if (typeof this.#pause === 'object') await this.#pause.promise
  }

  #clock(): Clock {
    const { clock } = this.#simulated
    return {
      now: () => clock.now() + this.#simulated.jumpMs,
      sleep: async (ms, signal) => {
        await clock.sleep(ms, signal)
        await this.#whenAwake()
        if (this.#isOver) await neverSettles()
      },
    }
  }

  #watch(database: DatabaseSync, at: string): void {
    const { clock, disk } = this.#simulated
    if (at.startsWith('begin')) {
      clock.activity += 1
      this.#isWriting = at === 'begin immediate'
      this.#database = database
      disk.open(database)
    }
    const ends: Readonly<Record<string, CrashPoint>> = { commit: 'append.unfinished', committed: 'append.after' }
    if (this.#isWriting) this.passCrashPoint(ends[at] ?? 'append.before')
    if (this.#isOver) throw new DiedError('The engine died')
  }
}
