import { type Clock, systemClock, waitAtMost } from '../../runtime/clock.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { WorkInProgress } from '../../runtime/work-in-progress.ts'
import { type Follower, followsTypes } from '../../store/ledger/follower-table.ts'
import type { Store } from '../../store/store.ts'
import { errorName } from '../../vocabulary/error-words.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import { backoffMs, dayMs, fromInstant, isWaitOver, toInstant, wrongClockMs } from '../../vocabulary/instant.ts'
import type { LogLine } from '../../vocabulary/log-line.ts'
import type { EventMap, RecordedIn } from '../../vocabulary/log-types.ts'
import type { Instant, RecordedEvent } from '../../vocabulary/message.ts'
import {
  callInTime,
  checkHandlerTime,
  failureLine,
  type HandlerCall,
  type HandlerError,
  HandlerScope,
  type HandlerTime,
} from './handler-call.ts'

/** Handles an event. The same event may be delivered more than once: use its id to recognise it. */
export type FollowHandler<R extends RecordedEvent = RecordedEvent> = (event: R, call: HandlerCall) => Promise<void>

/** How far a follower has come, and since when an event waits for it. */
export interface KnownFollower extends Follower {
  /** The time of the next event of its types, which it has not handled; null when there is none. */
  readonly waitingSince: Instant | null
}

interface FollowerWork {
  readonly name: string
  /** Does the work that is available now, until the signal. */
  readonly work: (closing: AbortSignal) => Promise<WorkDone>
}

export interface WorkDone {
  /** When there is more to do, unless an event comes before. */
  readonly nextAt: number
  /** The error of a part that it had to leave out. */
  readonly trouble?: unknown
}

/** Nothing more to do before an event comes. */
export const onlyAfterEvents: WorkDone = { nextAt: Number.POSITIVE_INFINITY }

const attemptsMax = 8
const backoffBaseMs = 1_000
const backoffMaxMs = 5 * 60_000
/** How many events of other types a follower may skip before its position is saved. */
const skippedMax = 100
const closeWaitMs = 15_000
/** How long it waits for the release of its leases, which expire by themselves. */
const releaseMaxMs = 2_000
const failedOrParked = ['a follower failed', 'a follower failed too often and is parked'] as const
const cannotContinue = ['a follower cannot continue; it is tried again', ''] as const

/**
 * Durable event handlers. Each receives every event of its types, in order, at least once, in one process at a time. A
 * failing handler is retried with growing waits, then parked; it skips no event by itself and blocks no other follower.
 */
export class Followers<E extends EventMap = EventMap> {
  readonly scope = new HandlerScope()
  readonly #store: Store<E>
  readonly #clock: Clock
  readonly #log: (line: LogLine) => void
  readonly #onError: (failed: HandlerError) => void
  readonly #registered = new Map<string, FollowerWork>()
  readonly #inProgress = new Map<string, Promise<WorkDone>>()
  readonly #claimed = new Set<string>()
  #activeRuns = 0
  readonly #troubles = new Map<string, unknown>()
  readonly #work = new WorkInProgress()
  readonly #closing = new AbortController()

  constructor(store: Store<E>, clock: Clock, log: (line: LogLine) => void, onError: (failed: HandlerError) => void) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#onError = onError
  }

  /**
   * Registers a handler under a permanent, unique name: its position in the log is stored under it.
   *
   * @throws {AverbaError} `INVALID_INPUT` when another handler has the name, or for invalid types, handler or time
   */
  follow<T extends string>(
    name: string,
    types: readonly T[],
    handler: FollowHandler<RecordedIn<E, T>>,
    time?: HandlerTime,
  ): void {
    const timeoutMs = checkHandlerTime(time)
    if (!Array.isArray(types) || types.length === 0 || typeof handler !== 'function')
      throw new AverbaError('INVALID_INPUT', 'Cannot follow: types or handler are missing', {
        hint: "Give a name, the types of events and a function: follow('mine', ['consent.revoked'], async event => ...)",
      })
    const own = [...new Set(types)].sort()
    const call = (event: RecordedIn<E, T>) =>
      this.scope.within(() => {
        const onError = (error: unknown) => this.#onError({ handler: name, position: event.position, error })
        return callInTime(this.#clock, timeoutMs, given => handler(event, given), onError)
      })
    this.attach(name, closing => this.#deliverEvents(name, own, call, closing))
  }

  /** Registers other work along the log, which claims and moves its follower by itself. Throws as `follow` does. */
  attach(name: string, work: FollowerWork['work']): void {
    if (this.#registered.has(name))
      throw new AverbaError('INVALID_INPUT', `Cannot follow as "${name}": another handler has this name`, {
        hint: 'Give each handler a name of its own, and register it once per process',
      })
    this.#registered.set(name, { name, work })
    this.#store.changes.wake()
  }

  /** Calls every handler for the events available now. Errors of this process are thrown once all are done. */
  async settle(signal: AbortSignal): Promise<void> {
    const over = AbortSignal.any([this.#closing.signal, signal])
    const all = [...this.#registered.values()].map(following => this.#runWork(following, over))
    const failed = (await Promise.allSettled(all)).find(each => each.status === 'rejected')
    if (failed) throw failed.reason
  }

  /** Runs until the signal, and wakes when the store does. */
  async run(signal: AbortSignal): Promise<void> {
    const over = AbortSignal.any([signal, this.#closing.signal])
    const loops = new Map<string, Promise<void>>()
    this.#activeRuns += 1
    try {
      while (!over.aborted) {
        const { count } = this.#store.changes
        for (const following of this.#registered.values()) {
          if (!loops.has(following.name)) loops.set(following.name, this.#runLoop(following, over))
        }
        await this.#store.changes.rest(count, Number.POSITIVE_INFINITY, over, 'run: new followers')
      }
      await Promise.all(loops.values())
    } finally {
      this.#activeRuns -= 1
    }
    // If another `run` or `settle` of this process still uses a follower, releasing it would let two processes call it.
    if (this.#activeRuns === 0) await this.#release([...this.#claimed].filter(name => !this.#inProgress.has(name)))
  }

  /** Each follower has its own loop, so a slow or stuck one blocks no other. */
  async #runLoop(following: FollowerWork, over: AbortSignal): Promise<void> {
    const { name } = following
    for (let failures = 0; !over.aborted; ) {
      const { count } = this.#store.changes
      try {
        const { nextAt } = await this.#runWork(following, over)
        failures = 0
        await this.#store.changes.rest(count, nextAt, over, 'run: a look at the log')
      } catch (error) {
        const waitMs = backoffMs(failures, backoffBaseMs, backoffMaxMs)
        failures += 1
        const failure = { attempt: failures, reason: errorName(error), isParked: false }
        const line = failureLine(failure, cannotContinue, { follower: name })
        if (line) this.#log(line)
        await this.#clock.sleep(waitMs, over, 'the retry of a follower')
      }
    }
  }

  noteInFlight(): () => void {
    return this.#work.note()
  }

  /** Waits for handlers, up to a limit, and releases their leases so that other processes can take over at once. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#work.waitForAll(this.#clock, closeWaitMs, 'handlers to end')
    await this.#release([...this.#claimed])
  }

  async #release(names: readonly string[]): Promise<void> {
    await waitAtMost(systemClock, releaseMaxMs, Promise.all(names.map(name => this.#releaseLease(name))))
  }

  /** The followers that this process cannot continue, with the error. */
  get troubles(): ReadonlyMap<string, unknown> {
    return this.#troubles
  }

  async list(): Promise<KnownFollower[]> {
    const all = await this.#store.followers.list()
    return Promise.all(all.map(async each => ({ ...each, waitingSince: await this.#waitingSince(each) })))
  }

  /** The time of the next event of its types: it is not handled yet. */
  async #waitingSince({ types, position }: Follower): Promise<Instant | null> {
    const next = types === null ? undefined : await this.#store.followers.next(position, types)
    return (next === undefined ? undefined : await this.#store.readAt(next).catch(() => undefined))?.at ?? null
  }

  /** Whether a handler of this process has a name that begins so. */
  isRegistered(prefix: string): boolean {
    return [...this.#registered.keys()].some(name => name.startsWith(prefix))
  }

  /** Lists those that no process has run for a day although an event waits for them: their handler may be gone. */
  async listAbandoned(all?: readonly KnownFollower[]): Promise<KnownFollower[]> {
    const isLongAgo = (at: Instant) => this.#clock.now() - fromInstant(at) > dayMs
    return (all ?? (await this.list())).filter(({ name, isParked, lastTakenAt, waitingSince }) => {
      if (isParked || waitingSince === null || this.#registered.has(name)) return false
      return isLongAgo(waitingSince) && (lastTakenAt === null || isLongAgo(lastTakenAt))
    })
  }

  /** Runs one call per follower at a time. A running call may end early for its own caller, so another follows it. */
  #runWork(following: FollowerWork, closing: AbortSignal): Promise<WorkDone> {
    const running = this.#inProgress.get(following.name)
    if (running) return running.then(done => (closing.aborted ? done : this.#runWork(following, closing)))
    const trying = this.#tryWork(following, closing).finally(() => this.#inProgress.delete(following.name))
    const work = this.#work.track(trying)
    this.#inProgress.set(following.name, work)
    return work
  }

  /** Releases a follower that this process cannot continue: another process may be able to. */
  async #tryWork({ name, work }: FollowerWork, closing: AbortSignal): Promise<WorkDone> {
    try {
      const done = await work(closing)
      if (done.trouble === undefined) this.#troubles.delete(name)
      else this.#troubles.set(name, done.trouble)
      return done
    } catch (error) {
      this.#troubles.set(name, error)
      await this.#releaseLease(name)
      throw error
    }
  }

  /** A failed release is no error, since leases expire. */
  async #releaseLease(name: string): Promise<void> {
    if (this.#claimed.delete(name)) await this.#store.followers.release(name).catch(() => undefined)
  }

  /**
   * Claims a follower until this process closes or stops running; `undefined` while another process has it, or the
   * clock of this one is wrong: what it records of a result would have that time.
   */
  async claim(name: string): Promise<Follower | undefined> {
    if ((await this.#store.findClockFault(wrongClockMs)) !== undefined) return undefined
    const claimed = await this.#store.followers.take(name)
    if (claimed) this.#claimed.add(name)
    return claimed
  }

  async #deliverEvents<T extends string>(
    name: string,
    types: readonly T[],
    call: (event: RecordedIn<E, T>) => Promise<string | undefined>,
    closing: AbortSignal,
  ): Promise<WorkDone> {
    const idle = await this.whenIdle(name, types)
    if (closing.aborted || idle) return idle ?? onlyAfterEvents
    const claimed = await this.claim(name)
    if (!claimed || !this.isDue(claimed)) return this.lookAgain()
    await this.#store.followers.keepTypes(claimed, types)
    let follower = claimed
    for (;;) {
      const page = await this.#store.readWithEnd({ after: follower.position, types }).catch(damageOrThrow)
      if (page instanceof AverbaError) return this.failAtNext(follower, types, page)
      const { events, end } = page
      for (const event of events) {
        const failure = await this.#store.leaseKeeper.keep({ follower: name }, () => call(event))
        if (failure !== undefined) return this.#fail(follower, event.position, failure)
        if (!(await this.#store.followers.move(follower, event.position))) return this.lookAgain()
        follower = { ...follower, position: event.position, attempts: 0 }
        // Otherwise a handler that never waits would block the event loop.
        await yieldToEventLoop()
        if (closing.aborted) return onlyAfterEvents
      }
      if (events.length > 0) continue
      // No event up to the end is of its types: the next read starts there.
      if (end > follower.position) await this.#store.followers.move(follower, end)
      return onlyAfterEvents
    }
  }

  /** Until when a follower has nothing to do. Reads before claiming, so that an idle process writes nothing. */
  async whenIdle(name: string, types: readonly string[]): Promise<WorkDone | undefined> {
    if (this.#closing.signal.aborted) return onlyAfterEvents
    const follower = await this.#store.followers.find(name)
    if (!follower) return undefined
    const { isParked, dueAt, takenUntil, position } = follower
    if (isParked) return onlyAfterEvents
    if (dueAt !== null && !this.isDue(follower)) return { nextAt: fromInstant(dueAt) }
    if (takenUntil !== null) return { nextAt: fromInstant(takenUntil) }
    const mayHaveWork =
      (follower.types !== null && !followsTypes(follower, types)) || (await this.hasNewEvents(position, types))
    return mayHaveWork ? undefined : onlyAfterEvents
  }

  /** After another process came first: when to look what is left to do. */
  lookAgain(): WorkDone {
    return { nextAt: this.#clock.now() + backoffBaseMs }
  }

  /** Whether events of these types follow a position, or so many others that the position should move past them. */
  async hasNewEvents(position: number, types: readonly string[]): Promise<boolean> {
    const { followers } = this.#store
    if ((await followers.next(position + skippedMax - 1)) !== undefined) return true
    return (await followers.next(position, types)) !== undefined
  }

  /** Fails at the next event, which cannot be read. Releases the follower: another process may be able to read it. */
  async failAtNext(follower: Follower, types: readonly string[], error: AverbaError): Promise<WorkDone> {
    const at = await this.#store.followers.next(follower.position, types)
    if (at === undefined) throw error
    const done = await this.#fail(follower, at, error.code)
    await this.#releaseLease(follower.name)
    return done
  }

  isDue({ isParked, dueAt }: Follower): boolean {
    return !isParked && (dueAt === null || isWaitOver(fromInstant(dueAt), this.#clock.now(), backoffMaxMs))
  }

  async #fail(follower: Follower, at: number, reason: string): Promise<WorkDone> {
    const isOver = follower.attempts + 1 >= attemptsMax
    const nextAt = this.#clock.now() + backoffMs(follower.attempts, backoffBaseMs, backoffMaxMs)
    const dueAt = isOver ? null : toInstant(nextAt)
    if (!(await this.#store.followers.fail(follower, at, dueAt, reason))) return this.lookAgain()
    const failure = { attempt: follower.attempts + 1, reason, isParked: isOver }
    const line = failureLine(failure, failedOrParked, { follower: follower.name })
    if (line) this.#log(line)
    return isOver ? onlyAfterEvents : { nextAt }
  }
}

/** Returns a damaged event's error, which counts as a handler failure. Others may be this process's: thrown. */
export function damageOrThrow(error: unknown): AverbaError {
  if (hasCode(error, 'CORRUPT')) return error
  throw error
}
