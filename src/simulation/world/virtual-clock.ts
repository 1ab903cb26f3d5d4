import type { Clock } from '../../runtime/clock.ts'
import { whenQuiet } from '../../runtime/event-loop.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'

interface Sleeper {
  readonly process: symbol | undefined
  readonly what: string
  dueAt: number
  readonly wake: () => void
}

/** A call under way that moves the clock. */
interface ClockMover {
  readonly end: number
  /** Whether it is waiting for its `isOver`, which may itself wait for this clock. */
  isAsking: boolean
}

/** The limit of a clock that runs until a condition holds. */
export interface RunLimit {
  /** The maximum number of wake-ups: 10,000 by default. */
  readonly wakesMax?: number
}

type Predicate = () => boolean | Promise<boolean>

const startsAt: Instant = '2026-11-20T12:00:00.000Z'
const wakesDefault = 10_000
/** The first and last time with a four-digit year. */
const [firstTime, lastTime] = [fromInstant('0000-01-01T00:00:00.000Z'), fromInstant('9999-12-31T23:59:59.999Z')]

/**
 * A clock that moves only on command. It advances to the next due time, wakes one sleeper, and waits until all is
 * quiet: until no work can run without a further move. This takes no real time and is the same in every run. Register
 * outside work, such as reading a file or a socket, with `hold`: the clock then waits for it.
 *
 * Time without a due sleeper passes at once. `averba.run` on a store in memory looks every ten minutes when nothing
 * happens; on a file it looks every second for other processes, so an idle day takes seconds.
 */
export class VirtualClock implements Clock {
  #now: number
  readonly #sleepers = new Set<Sleeper>()
  /** The waiting calls of `arrive`, in order. */
  readonly #arrivals: (() => void)[] = []
  readonly #held = new Set<Promise<unknown>>()
  #quieting: Promise<void> | undefined
  /** The calls that move this clock, newest last. */
  readonly #movers: ClockMover[] = []
  /** How often a mover woke a sleeper, or ended. */
  #moves = 0

  /** @throws {AverbaError} `INVALID_INPUT` when the start is not a time */
  constructor(start: Instant = startsAt) {
    this.#now = fromInstant(start)
    if (!(this.#now >= firstTime && this.#now <= lastTime))
      throw invalidInput('start the clock: the start is not a time', 'Use a format like 2026-11-20T12:00:00.000Z')
  }

  now(): number {
    return this.#now
  }

  get sleeping(): number {
    return this.#sleepers.size
  }

  sleep(ms: number, signal?: AbortSignal, what?: string): Promise<void> {
    return this.#sleep(ms, signal, what)
  }

  /** Creates a clock with the same time for one process. After `end` none of its sleepers is woken. */
  forProcess(): Clock & { end(): void } {
    const process = Symbol('process')
    let hasEnded = false
    return {
      now: () => this.#now,
      sleep: (ms, signal, what) => (hasEnded ? new Promise(() => undefined) : this.#sleep(ms, signal, what, process)),
      end: () => {
        hasEnded = true
        for (const each of this.#sleepers) if (each.process === process) this.#sleepers.delete(each)
      },
    }
  }

  #sleep(ms: number, signal?: AbortSignal, what = `a timer of ${ms} ms`, process?: symbol): Promise<void> {
    if (Number.isNaN(ms)) throw invalidInput('sleep: the duration is NaN', 'Check how you compute it')
    if (signal?.aborted) return Promise.resolve()
    if (ms <= 0) return this.arrive()
    return new Promise(resolve => {
      const sleeper: Sleeper = {
        process,
        what,
        // Whole milliseconds, as those of a system: a rate may ask for half of one.
        dueAt: this.#now + Math.ceil(ms),
        wake: () => {
          this.#sleepers.delete(sleeper)
          signal?.removeEventListener('abort', sleeper.wake)
          resolve()
        },
      }
      this.#sleepers.add(sleeper)
      signal?.addEventListener('abort', sleeper.wake)
    })
  }

  /** Resolves when all is quiet, for one caller at a time: the order of events does not depend on the runtime. */
  arrive(): Promise<void> {
    return new Promise(resolve => {
      this.#arrivals.push(resolve)
      void this.quiet()
    })
  }

  /** Registers outside work: the clock is not quiet until it has ended. */
  hold<T>(work: Promise<T>): Promise<T> {
    const end = () => void this.#held.delete(ended)
    const ended: Promise<void> = work.then(end, end)
    this.#held.add(ended)
    return work
  }

  /** Resolves when no work can run before this clock moves. */
  quiet(): Promise<void> {
    this.#quieting ??= this.#becomeQuiet()
    return this.#quieting
  }

  async #becomeQuiet(): Promise<void> {
    for (;;) {
      await whenQuiet()
      const next = this.#arrivals.shift()
      if (next) next()
      else if (this.#held.size > 0) await Promise.race(this.#held)
      else break
    }
    this.#quieting = undefined
  }

  /**
   * Moves forward by milliseconds, and wakes each sleeper at its own time.
   *
   * @throws {AverbaError} `INVALID_INPUT` when `ms` is not a number, is below 0, or leads beyond the year 9999
   */
  async advance(ms: number): Promise<void> {
    if (ms < 0) throw invalidInput(`advance by ${ms} ms`, 'Use jump to set an earlier time')
    const end = this.#timeAfter(ms, 'advance')
    await this.#move(() => this.#wakeNext(), end)
  }

  /**
   * Moves forward until the predicate holds. It is called when all is quiet, before each wake-up.
   *
   * @throws {AverbaError} `NOTHING_DUE` when no sleeper is left and the predicate is false; `ENDLESS` after `wakesMax`
   */
  async runUntil(predicate: Predicate, { wakesMax = wakesDefault }: RunLimit = {}): Promise<void> {
    const woken = new Map<string, number>()
    const step = () => {
      this.#checkWakes(woken, wakesMax)
      if (this.#wakeNext(woken)) return true
      const message = `Cannot run on from ${toInstant(this.#now)}: no timer is left and the predicate is still false`
      const hint = 'Start the work that you wait for, for example with averba.run or averba.settle'
      throw new AverbaError('NOTHING_DUE', message, { hint })
    }
    await this.#move(step, undefined, predicate)
  }

  /**
   * Moves forward until no sleeper is left.
   *
   * @throws {AverbaError} `ENDLESS` after `wakesMax` wake-ups: the message names the most frequent sleeper
   */
  async runToIdle({ wakesMax = wakesDefault }: RunLimit = {}): Promise<void> {
    const woken = new Map<string, number>()
    const step = () => {
      if (woken.size > 0 && this.#sleepers.size > 0) this.#checkWakes(woken, wakesMax)
      return this.#wakeNext(woken)
    }
    await this.#move(step)
  }

  /**
   * Lets time pass until the work has ended, and returns or throws what it does. Without a sleeper it waits in real
   * time, for outside work; it never resolves for work of a crashed engine.
   *
   * @throws {AverbaError} `ENDLESS` after `wakesMax` wake-ups
   */
  async finish<T>(work: Promise<T>, limit: RunLimit = {}): Promise<T> {
    let hasEnded = false
    const ended = work.finally(() => {
      hasEnded = true
    })
    const passing = this.runUntil(() => hasEnded, limit).catch((error: unknown) => {
      if (hasCode(error, 'ENDLESS')) throw error
    })
    return Promise.race([ended, passing.then(() => ended)])
  }

  /**
   * Sets the time later, or earlier for negative milliseconds. The remaining time of sleepers does not change.
   *
   * @throws {AverbaError} `INVALID_INPUT` when `ms` is not a number, or leads out of the years 0 to 9999
   */
  jump(ms: number): void {
    this.#now = this.#timeAfter(ms, 'jump')
    for (const sleeper of this.#sleepers) sleeper.dueAt += Math.ceil(ms)
  }

  #timeAfter(ms: unknown, operation: string): number {
    const time = typeof ms === 'number' ? this.#now + Math.ceil(ms) : Number.NaN
    if (time >= firstTime && time <= lastTime) return time
    const given = typeof ms === 'number' ? `${ms} ms` : 'something that is not a number'
    throw invalidInput(`${operation} by ${given}`, 'Use a number of milliseconds that stays within the years 0 to 9999')
  }

  /** Repeats the step whenever all is quiet. Of several movers only the newest steps: two would wake two at once. */
  async #move(step: () => boolean, end = Number.POSITIVE_INFINITY, isOver: Predicate = () => false): Promise<void> {
    const mover: ClockMover = { end, isAsking: false }
    this.#movers.push(mover)
    try {
      for (;;) {
        const moves = this.#moves
        await this.quiet()
        mover.isAsking = true
        if (await isOver()) return
        mover.isAsking = false
        // Another mover woke a sleeper meanwhile: wait until all is quiet again.
        if (moves !== this.#moves) continue
        const firstEnd = Math.min(...this.#movers.map(each => each.end))
        if (firstEnd < (this.#first()?.dueAt ?? Number.POSITIVE_INFINITY)) {
          if (end > firstEnd) continue
          this.#now = Math.max(this.#now, end)
          return
        }
        // A mover that is asking may wait for this clock, so it does not count as the newest.
        if (this.#movers.findLast(each => !each.isAsking) === mover && !step()) return
      }
    } finally {
      this.#moves += 1
      this.#movers.splice(this.#movers.indexOf(mover), 1)
    }
  }

  /** The sleeper that is due first; among equals, the oldest. */
  #first(): Sleeper | undefined {
    let first: Sleeper | undefined
    for (const each of this.#sleepers) if (!first || each.dueAt < first.dueAt) first = each
    return first
  }

  /** Wakes the sleeper that is due first. Returns false when none is left. */
  #wakeNext(woken?: Map<string, number>): boolean {
    const first = this.#first()
    if (!first || first.dueAt > lastTime) return false
    this.#now = Math.max(this.#now, first.dueAt)
    this.#moves += 1
    woken?.set(first.what, (woken.get(first.what) ?? 0) + 1)
    first.wake()
    return true
  }

  #checkWakes(woken: ReadonlyMap<string, number>, wakesMax: number): void {
    const total = [...woken.values()].reduce((sum, times) => sum + times, 0)
    if (total < wakesMax) return
    const [most] = [...woken].sort(([, a], [, b]) => b - a)
    const often = `"${most?.[0]}" was woken ${most?.[1]} of ${total} times`
    const hint = 'Stop repeating work first (the signal of averba.run), or set a limit: advance, runUntil, wakesMax'
    throw new AverbaError('ENDLESS', `Cannot run to the end: at ${toInstant(this.#now)} ${often}`, { hint })
  }
}

function invalidInput(what: string, hint: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot ${what}`, { hint })
}
