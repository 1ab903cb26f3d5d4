import { type Clock, cancelReason } from '../../runtime/clock.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { WakeSignal } from '../../runtime/wake-signal.ts'
import { type Follower, followsTypes } from '../../store/ledger/followers.ts'
import type { Store } from '../../store/store.ts'
import { errorName } from '../../vocabulary/error-words.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { backoffMs, fromInstant, isWaitOver, toInstant } from '../../vocabulary/instant.ts'
import type { LogLine } from '../../vocabulary/log-line.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import {
  callInTime,
  checkHandlerTime,
  failureLine,
  type HandlerCall,
  HandlerScope,
  type HandlerTime,
} from './handler-call.ts'

/** Does what an event asks for. It may be called again for the same event: its id tells. */
export type FollowHandler = (event: RecordedEvent, call: HandlerCall) => Promise<void>

interface FollowerWork {
  readonly name: string
  /** Does what is there to do now, up to the signal. Gives why some of it cannot be done, where all else was. */
  readonly work: (closing: AbortSignal) => Promise<unknown>
}

const attemptsMax = 8
const backoffBaseMs = 1_000
const backoffMaxMs = 5 * 60_000
/** Other processes append without telling this one. */
const pollMs = 1_000
/** How many events of other types a follower stays behind before that is written down. */
const passedMax = 100
const closeWaitMs = 15_000
const failedOrParked = ['a follower failed', 'a follower failed too often and is parked'] as const
const cannotGoOn = ['a follower cannot go on, and is tried again', ''] as const

/**
 * Durable handlers of events: each is called for every event of its types, in order, at least once, by one process at
 * a time. One that fails is tried again with growing waits, then parked until a person lets it go on; it never passes
 * over an event by itself, and holds up no other follower.
 */
export class Followers {
  /** Every call of a handler is within it. */
  readonly scope = new HandlerScope()
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: (line: LogLine) => void
  readonly #following = new Map<string, FollowerWork>()
  readonly #working = new Map<string, Promise<void>>()
  readonly #taken = new Set<string>()
  /** How many `run` go on. */
  #runs = 0
  /** Followers that this process cannot go on with, and why. */
  readonly #troubles = new Map<string, unknown>()
  /** Work that `run` has waited for already: closing does not wait for it again. */
  readonly #waitedFor = new WeakSet<Promise<void>>()
  readonly #closing = new AbortController()
  readonly #wakes: WakeSignal

  constructor(store: Store, clock: Clock, log: (line: LogLine) => void) {
    this.#store = store
    this.#clock = clock
    this.#wakes = new WakeSignal(clock, pollMs)
    this.#log = log
    store.committed.add(() => this.wake())
  }

  /**
   * Adds a handler under a name that is its own for ever: its place in the log is kept under it.
   *
   * @throws {AverbaError} `INVALID_INPUT` when another handler of this process has the name, types or handler are
   * missing, or its time is out of range
   */
  follow(name: string, types: readonly string[], handler: FollowHandler, time?: HandlerTime): void {
    const timeoutMs = checkHandlerTime(time)
    if (!Array.isArray(types) || types.length === 0 || typeof handler !== 'function') {
      throw new AverbaError('INVALID_INPUT', 'Cannot follow: types or handler are missing', {
        hint: "Give a name, the types of events and a function: follow('mine', ['consent.revoked'], async event => ...)",
      })
    }
    const own = [...new Set(types)].sort()
    const call = (event: RecordedEvent) =>
      this.scope.within(() => callInTime(this.#clock, timeoutMs, given => handler(event, given)))
    this.attach(name, closing => this.#followOn(name, own, call, closing))
  }

  /**
   * Adds work of another kind that goes on along the log: called when there may be something new, one at a time. It
   * takes the follower of its name, and moves it, by itself. Throws as `follow` does.
   */
  attach(name: string, work: FollowerWork['work']): void {
    if (this.#following.has(name)) {
      throw new AverbaError('INVALID_INPUT', `Cannot follow as "${name}": another handler has this name`, {
        hint: 'Give each a name of its own, and begin with it once in a process',
      })
    }
    this.#following.set(name, { name, work })
    this.wake()
  }

  /** Says that there may be new events. */
  wake(): void {
    this.#wakes.wake()
  }

  /**
   * Calls every handler for what is there now, until the signal. Those that fail wait for their time, or for a person.
   * What this process cannot go on with is thrown, once the others have done theirs.
   */
  async settle(signal: AbortSignal): Promise<void> {
    const over = AbortSignal.any([this.#closing.signal, signal])
    const all = [...this.#following.values()].map(following => this.#work(following, over))
    const failed = (await Promise.allSettled(all)).find(each => each.status === 'rejected')
    if (failed) throw failed.reason
  }

  /** Goes on until the signal: at once when this process appends, and every second for the others. */
  async run(signal: AbortSignal): Promise<void> {
    const over = AbortSignal.any([signal, this.#closing.signal])
    const loops = new Map<string, Promise<void>>()
    this.#runs += 1
    try {
      while (!over.aborted) {
        const wakes = this.#wakes.count
        for (const following of this.#following.values()) {
          if (!loops.has(following.name)) loops.set(following.name, this.#runOne(following, over))
        }
        await this.#wakes.rest(wakes, over)
      }
      await Promise.all(loops.values())
    } finally {
      this.#runs -= 1
    }
    // Not under the hands of another `run` or `settle` of this process: others would call the same handlers.
    if (this.#runs === 0) await this.#release([...this.#taken].filter(name => !this.#working.has(name)))
  }

  /** Each follower has a loop of its own: one that is slow or stuck holds up no other. */
  async #runOne(following: FollowerWork, over: AbortSignal): Promise<void> {
    const { name } = following
    for (let failures = 0; !over.aborted; ) {
      const wakes = this.#wakes.count
      try {
        await this.#work(following, over)
        failures = 0
        await this.#wakes.rest(wakes, over)
      } catch (error) {
        const waitMs = backoffMs(failures, backoffBaseMs, backoffMaxMs)
        failures += 1
        const failure = { attempt: failures, reason: errorName(error), isParked: false }
        const line = failureLine(failure, cannotGoOn, { follower: name })
        if (line) this.#log(line)
        await this.#clock.sleep(waitMs, over, 'a follower that cannot go on')
      }
    }
  }

  /** Notes what is under way now; calling the result keeps closing from waiting for that again. */
  noteUnderWay(): () => void {
    const noted = [...this.#working.values()]
    return () => {
      for (const each of noted) this.#waitedFor.add(each)
    }
  }

  /** Lets handlers finish, within a bound, and other processes take over at once. */
  async close(): Promise<void> {
    this.#closing.abort()
    const stop = new AbortController()
    const left = [...this.#working.values()].filter(each => !this.#waitedFor.has(each))
    const working = Promise.allSettled(left)
    await Promise.race([working, this.#clock.sleep(closeWaitMs, stop.signal, 'the end of handlers')])
    stop.abort()
    await this.#release([...this.#taken])
  }

  async #release(names: readonly string[]): Promise<void> {
    await Promise.all(names.map(name => this.#letGo(name)))
  }

  /** What this process cannot go on with, and why: the log is no help there, or cannot be written. */
  get troubles(): ReadonlyMap<string, unknown> {
    return this.#troubles
  }

  /** Where every follower stands. */
  list(): Promise<Follower[]> {
    return this.#store.followers.list()
  }

  /** One at a time for each follower. What runs for another caller may end early: this caller's follows it. */
  #work(following: FollowerWork, closing: AbortSignal): Promise<void> {
    const running = this.#working.get(following.name)
    if (running) return running.then(() => (closing.aborted ? undefined : this.#work(following, closing)))
    const work = this.#try(following, closing).finally(() => this.#working.delete(following.name))
    this.#working.set(following.name, work)
    return work
  }

  /** Releases a follower that this process cannot go on with: another process may be able to. */
  async #try({ name, work }: FollowerWork, closing: AbortSignal): Promise<void> {
    try {
      const trouble = await work(closing)
      if (trouble === undefined) this.#troubles.delete(name)
      else this.#troubles.set(name, trouble)
    } catch (error) {
      this.#troubles.set(name, error)
      await this.#letGo(name)
      throw error
    }
  }

  /** A lease that cannot be released runs out by itself: no error. */
  async #letGo(name: string): Promise<void> {
    if (this.#taken.delete(name)) await this.#store.followers.release(name).catch(() => undefined)
  }

  /** Takes a follower for this process, until it closes or stops running; `undefined` while another has it. */
  async take(name: string): Promise<Follower | undefined> {
    const taken = await this.#store.followers.take(name)
    if (taken) this.#taken.add(name)
    return taken
  }

  /** Gives each event to a call that says why it failed. */
  async #followOn(
    name: string,
    types: readonly string[],
    call: (event: RecordedEvent) => Promise<string | undefined>,
    closing: AbortSignal,
  ): Promise<void> {
    if (closing.aborted || !(await this.mayHaveWork(name, types))) return
    const taken = await this.take(name)
    if (!taken || !this.isDue(taken)) return
    await this.#store.followers.keepTypes(taken, types)
    let follower = taken
    for (;;) {
      const page = await this.#store.readWithEnd({ after: follower.position, types }).catch(unlessDamaged)
      if (page instanceof AverbaError) return this.failAtNext(follower, types, page)
      const { events, end } = page
      for (const event of events) {
        const failure = await this.keep(name, () => call(event))
        if (failure !== undefined) return this.#fail(follower, event.position, failure)
        if (!(await this.#store.followers.move(follower, event.position))) return
        follower = { ...follower, position: event.position, attempts: 0 }
        // A handler that never waits would keep everything else from its turn.
        await yieldToEventLoop()
        if (closing.aborted) return
      }
      if (events.length > 0) continue
      // Nothing between here and the end is of its types: next time it need not be looked at again.
      if (end > follower.position) await this.#store.followers.move(follower, end)
      return
    }
  }

  /** Looks before it takes: a process that waits for such events writes nothing. */
  async mayHaveWork(name: string, types: readonly string[]): Promise<boolean> {
    if (this.#closing.signal.aborted) return false
    const follower = await this.#store.followers.find(name)
    if (!follower) return true
    if (!this.isDue(follower)) return false
    return (
      (follower.types !== null && !followsTypes(follower, types)) || this.hasNews(follower.position, types)
    )
  }

  /** Whether there are events of some types after a position, or so many others that it should move past them. */
  async hasNews(position: number, types: readonly string[]): Promise<boolean> {
    const { followers } = this.#store
    if ((await followers.next(position + passedMax - 1)) !== undefined) return true
    return (await followers.next(position, types)) !== undefined
  }

  /** Fails at the next event, which cannot be read. A process that can read it gets a turn in between. */
  async failAtNext(follower: Follower, types: readonly string[], error: AverbaError): Promise<void> {
    const at = await this.#store.followers.next(follower.position, types)
    if (at === undefined) throw error
    await this.#fail(follower, at, error.code)
    await this.#letGo(follower.name)
  }

  /** Reports whether a follower is neither parked nor has to wait. */
  isDue({ isParked, dueAt }: Follower): boolean {
    return !isParked && (dueAt === null || isWaitOver(fromInstant(dueAt), this.#clock.now(), backoffMaxMs))
  }

  /** Keeps the lease of a follower while work goes on. */
  async keep<T>(name: string, work: () => Promise<T>): Promise<T> {
    const done = new AbortController()
    const keeping = this.#renew(name, done.signal)
    try {
      return await work()
    } finally {
      done.abort(cancelReason)
      await keeping
    }
  }

  async #renew(name: string, done: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(this.#store.leaseMs / 3, done, 'a lease to be renewed')
      if (done.aborted) return
      // A lost lease shows when the follower is moved on.
      await this.#store.followers.keep(name).catch(() => undefined)
    }
  }

  async #fail(follower: Follower, at: number, reason: string): Promise<void> {
    const isOver = follower.attempts + 1 >= attemptsMax
    const dueAt = isOver
      ? null
      : toInstant(this.#clock.now() + backoffMs(follower.attempts, backoffBaseMs, backoffMaxMs))
    if (!(await this.#store.followers.fail(follower, at, dueAt, reason))) return
    const failure = { attempt: follower.attempts + 1, reason, isParked: isOver }
    const line = failureLine(failure, failedOrParked, { follower: follower.name })
    if (line) this.#log(line)
  }
}

/** A damaged event fails like a handler: nobody can read it. Any other error may be this process's alone: thrown. */
export function unlessDamaged(error: unknown): AverbaError {
  if (error instanceof AverbaError && error.code === 'CORRUPT') return error
  throw error
}
