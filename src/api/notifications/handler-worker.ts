import { damageOrThrow, type Followers } from '../../engine/following/followers.ts'
import type { HandlerFailure } from '../../engine/following/handler-call.ts'
import { arrivals, bodyMissing, type NotificationEvent } from '../../machines/notification.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Follower } from '../../store/ledger/followers.ts'
import { errorName } from '../../vocabulary/error-words.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { backoffMs, fromInstant, isWaitOver, toInstant } from '../../vocabulary/instant.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import { followerName, idOfStream } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { callHandler, type RegisteredHandler } from './call-handler.ts'
import { isGone, type Notification, openNotification } from './notification.ts'
import { readClear } from './read-notification.ts'

/** What a worker is made of. */
export interface WorkerParts {
  readonly context: Pick<ApiContext, 'store' | 'engine' | 'clock'>
  readonly followers: Followers
  readonly registered: RegisteredHandler
  /** The names of all handlers of the event, this one among them. */
  readonly handlers: () => readonly string[]
  readonly onFailed: (notification: string, failure: HandlerFailure) => void
}

/** A notification that is not done yet. */
interface PendingNotification {
  readonly position: number
  dueAt: number
  key?: string
  /** Its stream is damaged: the handler's result could not be recorded. */
  damage?: { readonly error: AverbaError; readonly attempts: number }
}

/** What a call of the handler came to, until it is in the log. */
interface CallResult {
  /** The version at which the handler stood when it was called: what came since, such as a replay, asks for another. */
  readonly version: number
  readonly key: string | undefined
  readonly message: { readonly type: string; readonly data: object }
  /** Absent where it was handled. */
  readonly failed?: { readonly isOver: boolean; readonly failure?: HandlerFailure }
}

/** Where the worker stands while it has the follower. */
interface WorkerState {
  follower: Follower
  /** How far the log was read. */
  cursor: number
  readonly pending: Map<string, PendingNotification>
  /** Why the event after the cursor cannot be read: the follower fails there once everything before it is done. */
  damage?: AverbaError
}

const types = [...arrivals, 'notification.replayed']
const attemptsMax = 12
const backoffBaseMs = 1_000
const backoffMaxMs = 15 * 60_000
/** How many notifications may be under way for one handler: the log is read on when some of them are done. */
const pendingMax = 10_000
const pageEvents = 1_000
/** Errors of the file as a whole, which say nothing of one notification. */
const ofTheFile: ReadonlySet<string> = new Set(['STORE_UNSAFE', 'STORE_BUSY', 'CLOSED', 'NOT_OURS'])
/** After how many notifications others have their turn. */
const lookedAtOnce = 50
/** So many calls are made while the results of earlier ones are being committed: fast handlers share a commit. */
const recordedAtOnce = 16

/**
 * Calls one handler for the notifications of its event, in one process at a time. One that fails is tried again with
 * growing waits and then parked; others pass it, unless they have its key.
 *
 * The follower stands before the first notification that is neither done nor parked. What became of those behind it
 * is read from their own streams, so that nothing is lost with the process, and nothing done is done again.
 */
export class HandlerWorker {
  readonly #parts: WorkerParts
  readonly #name: string
  #standing: WorkerState | undefined
  /** What is on its way into the log. */
  readonly #recording: Promise<void>[] = []
  /** What a full disk keeps out of the log: the handler is not called again for it. */
  readonly #unrecorded = new Map<string, CallResult>()

  constructor(parts: WorkerParts) {
    this.#parts = parts
    this.#name = followerName(parts.registered)
  }

  /** Does what is there to do now, up to the signal. Gives the damage of a notification that was set aside. */
  async work(closing: AbortSignal): Promise<AverbaError | undefined> {
    if (!closing.aborted && (await this.#mayHaveWork())) await this.#workOn(closing)
    for (const { damage } of this.#standing?.pending.values() ?? []) if (damage) return damage.error
    return undefined
  }

  async #workOn(closing: AbortSignal): Promise<void> {
    const { followers } = this.#parts
    const follower = await followers.claim(this.#name)
    if (follower?.position !== this.#standing?.follower.position) this.#standing = undefined
    // Another process calls the handler now.
    if (!follower) this.#unrecorded.clear()
    if (!follower || !followers.isDue(follower)) return
    this.#standing ??= { follower, cursor: follower.position, pending: new Map() }
    const standing = this.#standing
    await followers.withLease(this.#name, () => this.#goOn(standing, closing))
  }

  /** Looks before it takes: a process that waits writes nothing. */
  async #mayHaveWork(): Promise<boolean> {
    const { followers } = this.#parts
    if (!this.#standing) return followers.mayHaveWork(this.#name, types)
    const { pending, cursor, damage } = this.#standing
    for (const { dueAt } of pending.values()) if (this.#isDue({ dueAt })) return true
    if (damage) return pending.size === 0
    return followers.hasNewEvents(cursor, types)
  }

  async #goOn(standing: WorkerState, closing: AbortSignal): Promise<void> {
    for (;;) {
      const isAtEnd = await this.#readOn(standing)
      await yieldToEventLoop()
      if (!(await this.#tryAll(standing, closing)) || !(await this.#moveOn(standing)))
        this.#standing = undefined
      if (this.#standing && standing.damage && standing.pending.size === 0) {
        this.#standing = undefined
        return this.#parts.followers.failAtNext(standing.follower, types, standing.damage)
      }
      if (isAtEnd || closing.aborted || !this.#standing) return
    }
  }

  /** Reads a page of the log. True when there is no more, or no room for more. */
  async #readOn(standing: WorkerState): Promise<boolean> {
    const { evento, name } = this.#parts.registered
    const { pending, cursor } = standing
    const limit = Math.min(pendingMax - pending.size, pageEvents)
    if (limit <= 0) return true
    const page = await this.#parts.context.store
      .readWithEnd({ after: cursor, types, limit })
      .catch(damageOrThrow)
    if (page instanceof AverbaError) {
      standing.damage = page
      return true
    }
    const { events, end } = page
    // Only the machine of notifications makes events of these types.
    for (const event of events as (RecordedEvent & NotificationEvent)[]) {
      const isFor = event.type !== 'notification.replayed' || event.data.handlers.includes(name)
      // All data is an object, and where it has an `evento`, that is a text.
      if (!('evento' in (event.data as object)) || !isFor) continue
      if ((event.data as { evento: string }).evento !== evento || pending.has(event.stream)) continue
      pending.set(event.stream, { position: event.position, dueAt: 0 })
    }
    standing.cursor = events.at(-1)?.position ?? Math.max(cursor, end)
    return events.length === 0
  }

  /** False when another process has taken the follower: it calls the handler now, and this process stops. */
  async #tryAll({ pending, follower }: WorkerState, closing: AbortSignal): Promise<boolean> {
    const { context } = this.#parts
    const held = new Set<string>()
    try {
      let looked = 0
      for (const [stream, one] of pending) {
        if (closing.aborted) return true
        // Where nothing is recorded, nothing else lets others have their turn.
        if (++looked % lookedAtOnce === 0) await yieldToEventLoop()
        const isHeld = one.key !== undefined && held.has(one.key)
        const isDue = this.#isDue(one)
        if (!isHeld && isDue && !(await context.store.followers.holds(follower))) return false
        if (!isHeld && isDue && (await this.#tryOne(stream, one, held))) pending.delete(stream)
        else if (one.key !== undefined) held.add(one.key)
        if (this.#recording.length === recordedAtOnce) await this.#recorded()
      }
      return true
    } finally {
      await this.#recorded()
    }
  }

  /** Waits until the results are in the log. A notification whose result cannot be recorded is read anew. */
  async #recorded(): Promise<void> {
    try {
      await Promise.all(this.#recording.splice(0))
    } catch (error) {
      this.#standing = undefined
      throw error
    }
  }

  /** Calls the handler for a notification whose turn it is. True when it is done or parked. */
  async #tryOne(stream: string, one: PendingNotification, held: ReadonlySet<string>): Promise<boolean> {
    const { context, registered } = this.#parts
    const read = await readClear(context.store, stream, registered).catch(damageOrThrow)
    if (read instanceof AverbaError) return this.#setAside(stream, one, read)
    const { clear, version } = read
    delete one.damage
    const before = clear.handlers.find(each => each.handler === registered.name)
    if (before?.state === 'handled' || before?.state === 'parked') {
      this.#unrecorded.delete(stream)
      return true
    }
    if (before?.retryAt) one.dueAt = fromInstant(before.retryAt)
    const unrecorded = this.#unrecorded.get(stream)
    if (unrecorded?.version === version) {
      if (unrecorded.key !== undefined) one.key = unrecorded.key
      return this.#end(stream, unrecorded)
    }
    const opened = await openNotification(context, clear).catch(whyNotOpened)
    const isOpen = typeof opened === 'object'
    const unkeyed = isOpen ? this.#putKey(one, opened) : opened
    if (!this.#isDue(one) || (one.key !== undefined && held.has(one.key))) return false
    const gone = isOpen && isGone(opened) ? bodyMissing : undefined
    const call = (found: Notification) =>
      this.#parts.followers.scope.within(() => callHandler(context.clock, registered, found))
    const reason = gone ?? unkeyed ?? (isOpen ? await call(opened) : opened)
    if (reason === undefined)
      return this.#end(stream, { version, key: one.key, message: { type: 'host.handled', data: {} } })
    const attempts = (before?.attempts ?? 0) + 1
    const isOver = gone !== undefined || attempts >= attemptsMax
    // One worker calls one handler in sequence: there is no crowd to spread by jitter.
    one.dueAt = context.clock.now() + backoffMs(attempts - 1, backoffBaseMs, backoffMaxMs)
    const retryAt = isOver ? null : toInstant(one.dueAt)
    const failure = { attempt: attempts, reason, isParked: isOver }
    return this.#end(stream, {
      ...{ version, key: one.key },
      message: { type: 'host.failed', data: { reason, retryAt } },
      // Where it is gone nothing failed, and nobody could mend it: a rule or an erasure destroyed it.
      failed: { isOver, ...(gone === undefined && { failure }) },
    })
  }

  /** Gets into the log what a call came to, and keeps it until it is there. True when that was the last call. */
  async #end(stream: string, came: CallResult): Promise<boolean> {
    this.#unrecorded.set(stream, came)
    const recording = this.#record(stream, came.message).then(() => void this.#unrecorded.delete(stream))
    const { failed } = came
    if (!failed) {
      recording.catch(() => undefined) // Whoever waits for all of them is told.
      this.#recording.push(recording)
      return true
    }
    await recording
    if (failed.failure) this.#parts.onFailed(idOfStream(stream), failed.failure)
    return failed.isOver
  }

  #isDue({ dueAt }: Pick<PendingNotification, 'dueAt'>): boolean {
    return isWaitOver(dueAt, this.#parts.context.clock.now(), backoffMaxMs)
  }

  /** It can neither be read nor recorded: this process tries again by itself, and the others pass it. */
  #setAside(stream: string, one: PendingNotification, error: AverbaError): false {
    const attempts = (one.damage?.attempts ?? 0) + 1
    one.damage = { error, attempts }
    one.dueAt = this.#parts.context.clock.now() + backoffMs(attempts - 1, backoffBaseMs, backoffMaxMs)
    const failure = { attempt: attempts, reason: error.code, isParked: false }
    this.#parts.onFailed(idOfStream(stream), failure)
    return false
  }

  /** Gives the notification its key; says why where there is none. */
  #putKey(one: PendingNotification, notification: Notification): string | undefined {
    const { key } = this.#parts.registered
    try {
      if (key && one.key === undefined) one.key = key(notification)
      return undefined
    } catch (error) {
      return errorName(error)
    }
  }

  async #record(stream: string, { type, data }: { type: string; data: object }): Promise<void> {
    const { context, registered, handlers } = this.#parts
    const message = { type, data: { ...data, handler: registered.name, handlers: handlers() } }
    await context.engine.record(async () => ({ targets: [{ stream, message }] }))
  }

  /** False when another process has taken the follower. */
  async #moveOn(standing: WorkerState): Promise<boolean> {
    const [first] = standing.pending.values()
    const position = first ? first.position - 1 : standing.cursor
    const { follower } = standing
    if (position === follower.position) return true
    standing.follower = { ...follower, position, attempts: 0 }
    return this.#parts.context.store.followers.move(follower, position)
  }
}

/** A body that cannot be opened has failed by itself: it may be put back, or a backup restored. */
function whyNotOpened(error: unknown): string {
  if (error instanceof AverbaError && ofTheFile.has(error.code)) throw error
  return errorName(error)
}
