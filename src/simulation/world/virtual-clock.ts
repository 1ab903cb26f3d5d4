import type { Clock } from '../../runtime/clock.ts'
import { whenQuiet } from '../../runtime/event-loop.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'

interface Sleeper {
  readonly process: symbol | undefined
  readonly what: string
  dueAt: number
  readonly wake: () => void
}

/** Somebody who moves the clock. */
interface ClockMover {
  /** Where it stops: it is there when nothing is due before. */
  readonly end: number
  /** It asks whether it is over. */
  isAsking: boolean
}

interface ClockMove {
  readonly end?: number
  /** False where nothing is left to do. */
  readonly step: () => boolean
  readonly isOver?: () => boolean | Promise<boolean>
}

/** How far a clock runs by itself. */
export interface RunLimit {
  /** How many sleepers are woken at most: 10,000 by default. */
  readonly wakesMax?: number
}

const startsAt: Instant = '2026-11-20T12:00:00.000Z'
const wakesDefault = 10_000
/** The first and last time with a year of four digits. */
const [firstTime, lastTime] = [
  fromInstant('0000-01-01T00:00:00.000Z'),
  fromInstant('9999-12-31T23:59:59.999Z'),
]

/**
 * A clock that moves only when told to. It goes from one due time to the next, wakes one sleeper at a time, and goes on
 * when all is quiet: when nothing is left that could happen without this clock. That takes no waiting, and is the same
 * in every run. Work of the outside, such as a file or a socket of yours, is waited for when `hold` tells the clock of
 * it.
 *
 * Time in which nobody is woken passes at once. `averba.run` wakes every second, so that an idle day takes long: let
 * months pass with `advance` and `averba.settle` in turn, without it.
 */
export class VirtualClock implements Clock {
  #now: number
  readonly #sleepers = new Set<Sleeper>()
  /** Those waiting for the others to finish, in the order in which they came. */
  readonly #arrivals: (() => void)[] = []
  readonly #held = new Set<Promise<unknown>>()
  #quieting: Promise<void> | undefined
  /** Those that move this clock, the newest last. */
  readonly #movers: ClockMover[] = []
  /** How often one of them woke somebody, or ended. */
  #moves = 0

  /** @throws {AverbaError} `INVALID_INPUT` when the start is not a time */
  constructor(start: Instant = startsAt) {
    this.#now = fromInstant(start)
    if (!(this.#now >= firstTime && this.#now <= lastTime))
      throw invalidMove('begin at something that is not a time', 'Give it as 2026-11-20T12:00:00.000Z')
  }

  now(): number {
    return this.#now
  }

  /** How many sleepers there are. */
  get sleeping(): number {
    return this.#sleepers.size
  }

  sleep(ms: number, signal?: AbortSignal, what?: string): Promise<void> {
    return this.#sleep(ms, signal, what)
  }

  /** The same time for a process that can end: then none of its sleepers is woken. */
  forProcess(): Clock & { end(): void } {
    const process = Symbol('process')
    let hasEnded = false
    return {
      now: () => this.#now,
      sleep: (ms, signal, what) =>
        hasEnded ? new Promise(() => undefined) : this.#sleep(ms, signal, what, process),
      end: () => {
        hasEnded = true
        for (const each of this.#sleepers) if (each.process === process) this.#sleepers.delete(each)
      },
    }
  }

  #sleep(ms: number, signal?: AbortSignal, what = `a timer of ${ms} ms`, process?: symbol): Promise<void> {
    if (Number.isNaN(ms)) throw invalidMove('sleep for no number of milliseconds', 'Look at what computed it')
    if (signal?.aborted) return Promise.resolve()
    if (ms <= 0) return this.arrive()
    return new Promise(resolve => {
      const sleeper: Sleeper = {
        process,
        what,
        dueAt: this.#now + ms,
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

  /**
   * Resolves when all is quiet, for one caller after the other: each arrives after everything before it has had its
   * effect. So the order of events depends neither on the runtime nor on how long its promises take.
   */
  arrive(): Promise<void> {
    return new Promise(resolve => {
      this.#arrivals.push(resolve)
      void this.quiet()
    })
  }

  /** Counts work of the outside as something that happens: the clock is not quiet until it has ended. */
  hold<T>(work: Promise<T>): Promise<T> {
    const end = () => void this.#held.delete(ended)
    const ended: Promise<void> = work.then(end, end)
    this.#held.add(ended)
    return work
  }

  /** Resolves when nothing is left that could happen before this clock moves. */
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
   * Moves forward by milliseconds, waking every sleeper at its own time.
   *
   * @throws {AverbaError} `INVALID_INPUT` when that is not a number, below 0, or beyond the year 9999
   */
  async advance(ms: number): Promise<void> {
    if (ms < 0) throw invalidMove(`advance by ${ms} ms`, 'jump shows an earlier time')
    const end = this.#timeAfter(ms, 'advance')
    await this.#move({ end, step: () => this.#wakeNext() })
  }

  /**
   * Moves forward until the predicate holds. It is asked whenever all is quiet, before anybody is woken.
   *
   * @throws {AverbaError} `NOTHING_DUE` when nobody is left to wake, `ENDLESS` when more than `wakesMax` were
   */
  async runUntil(
    predicate: () => boolean | Promise<boolean>,
    { wakesMax = wakesDefault }: RunLimit = {},
  ): Promise<void> {
    const woken = new Map<string, number>()
    const step = () => {
      this.#checkWakes(woken, wakesMax)
      if (this.#wakeNext(woken)) return true
      throw new AverbaError(
        'NOTHING_DUE',
        `Cannot run on from ${toInstant(this.#now)}: nothing is due any more`,
        {
          hint: 'What is waited for needs somebody who acts, or work that was begun: averba.run, or averba.settle',
        },
      )
    }
    await this.#move({ step, isOver: predicate })
  }

  /**
   * Moves forward until nobody sleeps.
   *
   * @throws {AverbaError} `ENDLESS` when more than `wakesMax` were woken: it names who was woken most often
   */
  async runToIdle({ wakesMax = wakesDefault }: RunLimit = {}): Promise<void> {
    const woken = new Map<string, number>()
    const step = () => {
      if (woken.size > 0 && this.#sleepers.size > 0) this.#checkWakes(woken, wakesMax)
      return this.#wakeNext(woken)
    }
    await this.#move({ step })
  }

  /**
   * Lets time pass until the work has ended, and no longer. Where nobody sleeps, the work waits for the outside, and so
   * does this: for ever, if it was asked of an engine that died. Throws what the work throws.
   *
   * @throws {AverbaError} `ENDLESS` when more than `wakesMax` were woken meanwhile
   */
  async finish<T>(work: Promise<T>, limit: RunLimit = {}): Promise<T> {
    let hasEnded = false
    const ended = work.finally(() => {
      hasEnded = true
    })
    const passing = this.runUntil(() => hasEnded, limit).catch((error: unknown) => {
      if (error instanceof AverbaError && error.code === 'ENDLESS') throw error
    })
    return Promise.race([ended, passing.then(() => ended)])
  }

  /**
   * Shows another time from now on, later or earlier by milliseconds. Sleepers sleep for as long as before.
   *
   * @throws {AverbaError} `INVALID_INPUT` when that is not a number, or leads out of the years 0 to 9999
   */
  jump(ms: number): void {
    this.#now = this.#timeAfter(ms, 'jump')
    for (const sleeper of this.#sleepers) sleeper.dueAt += ms
  }

  #timeAfter(ms: unknown, what: string): number {
    const time = typeof ms === 'number' ? this.#now + ms : Number.NaN
    if (time >= firstTime && time <= lastTime) return time
    const given = typeof ms === 'number' ? `${ms} ms` : 'something that is not a number'
    throw invalidMove(
      `${what} by ${given}`,
      'Give a number of milliseconds that stays within the years 0 to 9999',
    )
  }

  /**
   * Takes steps, each when all is quiet, until one says that it was the last. Of several that move the clock at once
   * the newest does, and nobody past the end of another: two would wake two sleepers where one was meant.
   */
  async #move({ end = Number.POSITIVE_INFINITY, step, isOver = () => false }: ClockMove): Promise<void> {
    const mover: ClockMover = { end, isAsking: false }
    this.#movers.push(mover)
    try {
      for (;;) {
        const moves = this.#moves
        await this.quiet()
        mover.isAsking = true
        if (await isOver()) return
        mover.isAsking = false
        // Another has moved it since: what that woke has to come to rest first.
        if (moves !== this.#moves) continue
        const firstEnd = Math.min(...this.#movers.map(each => each.end))
        if (firstEnd < (this.#first()?.dueAt ?? Number.POSITIVE_INFINITY)) {
          if (end > firstEnd) continue
          this.#now = Math.max(this.#now, end)
          return
        }
        // Who asks whether it is over may wait for this clock.
        if (this.#movers.findLast(each => !each.isAsking) === mover && !step()) return
      }
    } finally {
      this.#moves += 1
      this.#movers.splice(this.#movers.indexOf(mover), 1)
    }
  }

  /** The sleeper that is due first; of several, the one that has slept longest. */
  #first(): Sleeper | undefined {
    let first: Sleeper | undefined
    for (const each of this.#sleepers) if (!first || each.dueAt < first.dueAt) first = each
    return first
  }

  /** Wakes the sleeper that is due first. False when none ever comes due. */
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
    throw new AverbaError(
      'ENDLESS',
      `Cannot run to an end: at ${toInstant(this.#now)} "${most?.[0]}" has been woken ${most?.[1]} times, of ${total}`,
      {
        hint: 'End what repeats first, as by the signal of averba.run, or say how far to go: advance, runUntil, wakesMax',
      },
    )
  }
}

function invalidMove(what: string, hint: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot ${what}`, { hint })
}
