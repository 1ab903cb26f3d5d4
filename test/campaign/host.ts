import type { Averba } from '../../src/averba/averba.ts'
import { AverbaError, type ErrorCode } from '../../src/vocabulary/errors.ts'
import type { EngineProcess } from './engine-process.ts'
import { eventos } from './people.ts'
import type { SimulatedHost } from './simulated-host.ts'

/** How long a host takes to restart the engine. */
const downMs = 20_000
/** How often a host makes a call while the engine crashes. */
const attemptsMax = 4

/** The codes of errors that calls about an erased person may have. */
const erasureCodes: ReadonlySet<ErrorCode> = new Set(['SUBJECT_ERASED', 'COMMAND_REUSED', 'PART_DESTROYED'])

export const followedTypes = ['consent.revoked', 'consent.appeared', 'validation.answered'] as const

/** The application that embeds the engine: it calls it, has followers and handlers, and restarts it after a crash. */
export class Host {
  readonly #simulated: SimulatedHost
  /** How many of the next calls of the follower and of the handlers fail. */
  failing = { follower: 0, handler: 0 }

  constructor(simulated: SimulatedHost) {
    this.#simulated = simulated
  }

  /**
   * Calls the engine. Repeats the call, with the same command id, when the engine crashes. Returns a value, the code of
   * an expected error, or `undefined` when the engine never answered.
   */
  async ask<T>(
    work: (averba: Averba) => Promise<T>,
    expected: readonly ErrorCode[] = [],
  ): Promise<{ readonly value: T } | { readonly code: ErrorCode } | undefined> {
    const simulated = this.#simulated
    for (let repeats = 0; repeats < attemptsMax; repeats++) {
      await simulated.open()
      const wasFull = simulated.disk.isFull
      try {
        const done = await simulated.runOnEngine(() => work(simulated.averba))
        if (done || simulated.isAlive) return done
      } catch (error) {
        return { code: this.#expect(error, expected, wasFull) }
      }
      await simulated.advanceUntil(simulated.clock.now() + downMs)
    }
    return undefined
  }

  /** Calls the engine as `ask` does. Returns the value only. */
  async askFor<T>(work: (averba: Averba) => Promise<T>, expected?: readonly ErrorCode[]): Promise<T | undefined> {
    const asked = await this.ask(work, expected)
    return asked && 'value' in asked ? asked.value : undefined
  }

  /** Registers the follower and the handlers in a new process. */
  register(engineProcess: EngineProcess): void {
    const { averba } = engineProcess
    const { runRecord } = this.#simulated
    averba.log.follow('livro', followedTypes, event =>
      engineProcess.betweenCrashPoints('follower.before', 'follower.after', async () => {
        runRecord.notify('followed', event, false)
        this.#fail('follower')
        runRecord.notify('followed', event, true)
      }),
    )
    for (const evento of eventos) {
      averba.notifications.handle(evento, 'caixa', notification =>
        engineProcess.betweenCrashPoints('handler.before', 'handler.after', async () => {
          this.#fail('handler')
          // Null when its recipient was erased.
          const body = notification.body as { numero: string } | null // The body that a run sends.
          if (body) runRecord.notify('handled', body.numero)
        }),
      )
    }
  }

  #fail(who: 'follower' | 'handler'): void {
    if (this.failing[who] === 0) return
    this.failing[who] -= 1
    this.#simulated.runRecord.markReached(`${who} failed`)
    throw new RangeError('The host cannot do this now')
  }

  /** Returns the code of an expected error. A call that failed on a full disk may end when the disk has space again. */
  #expect(error: unknown, expected: readonly ErrorCode[], wasFull: boolean): ErrorCode {
    const { runRecord, disk, erased } = this.#simulated
    runRecord.notify('failed', error)
    if (!(error instanceof AverbaError)) throw error
    const { code } = error
    if ((wasFull || disk.isFull) && code === 'STORE_UNSAFE') return code
    // An erased person who is enrolled again is a new subject, so the same input is another command.
    const isOfErased = erased.size > 0 && erasureCodes.has(code)
    if (!expected.includes(code) && !isOfErased) throw error
    runRecord.trace(`  ${runRecord.currentStep}: ${code}`)
    return code
  }
}
