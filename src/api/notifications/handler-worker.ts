import { damageOrThrow, onlyAfterEvents, type WorkDone } from '../../engine/following/followers.ts'
import { callInTime, failureLine, type HandlerCall, type HandlerFailure } from '../../engine/following/handler-call.ts'
import { arrivals, bodyMissing, type HandlerState, handlingsAfter } from '../../machines/notification.ts'
import type { Clock } from '../../runtime/clock.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { Follower } from '../../store/ledger/follower-table.ts'
import { errorName } from '../../vocabulary/error-words.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import { backoffMs, fromInstant, isWaitOver, toInstant } from '../../vocabulary/instant.ts'
import type { Json } from '../../vocabulary/message.ts'
import { followerName, idOfStream } from '../../vocabulary/names.ts'
import { type ApiContext, readEvents } from '../api-context.ts'
import { isBy, type LogStore, type RecordedBy } from '../events.ts'
import {
  bodyAddress,
  type ClearNotification,
  isBodyMissing,
  type Notification,
  openNotification,
} from './notification.ts'

interface PendingNotification {
  readonly position: number
  dueAt: number
  key?: string
  /** Set when its stream is damaged: a result could not be recorded. */
  damage?: { readonly error: AverbaError; readonly attempts: number }
}

interface CallResult {
  /** The stream's version for this handler when it was called; a later event, such as a replay, needs another call. */
  readonly version: number
  readonly key: string | undefined
  readonly message: { readonly type: 'host.handled' | 'host.failed'; readonly data: object }
  /** Absent when it was handled, or was parked because its body was destroyed, which is no failure to report. */
  readonly failure?: HandlerFailure
}

interface WorkerState {
  follower: Follower
  cursor: number
  readonly pending: Map<string, PendingNotification>
  /** Why the event after the cursor cannot be read: the follower fails there once everything before it is done. */
  damage?: AverbaError
}

/** In order: the follower keeps them so. */
const followedTypes = [...arrivals, 'notification.replayed'] as const
const attemptsMax = 12
const backoffBaseMs = 1_000
const backoffMaxMs = 15 * 60_000
/** How many notifications may be pending for one handler; then the log is read no further. */
const pendingMax = 10_000
const eventsPerPage = 1_000
/** After how many notifications the worker yields to the event loop. */
const checkedPerTurn = 50
/** How many results may be waiting for their commit while more calls are made: fast handlers share a commit. */
const recordingsMax = 16
const failureMessages = ['a handler failed for a notification', 'a notification is parked'] as const

/**
 * Calls one handler for the notifications of its event, in one process at a time. A failed notification is retried with
 * growing waits and then parked; it delays only notifications with its key.
 *
 * The follower's position is just before the first notification that is neither handled nor parked. The state of later
 * ones is read from their own streams, so a crash loses nothing and repeats nothing that was recorded.
 *
 * @param handlers the names of all handlers of the event, this one included; more may be added
 */
export function createHandlerWorker(
  context: ApiContext,
  registered: RegisteredHandler,
  handlers: readonly string[],
): (closing: AbortSignal) => Promise<WorkDone> {
  const { clock, followers, store } = context
  const { evento, key: keyOf, name } = registered
  const ownName = followerName(registered)
  let current: WorkerState | undefined
  const recordings: Promise<void>[] = []
  /** Results that could not be committed, as on a full disk: they are recorded later without another call. */
  const unrecorded = new Map<string, CallResult>()

  /** Does the work that is due now, until the signal. The trouble is the damage of a postponed notification. */
  async function work(closing: AbortSignal): Promise<WorkDone> {
    const idle = await whenIdle()
    const done = closing.aborted || idle ? (idle ?? onlyAfterEvents) : await runHandler(closing)
    for (const { damage } of current?.pending.values() ?? []) if (damage) return { ...done, trouble: damage.error }
    return done
  }

  async function runHandler(closing: AbortSignal): Promise<WorkDone> {
    const follower = await followers.claim(ownName)
    if (follower?.position !== current?.follower.position) current = undefined
    if (!follower) unrecorded.clear()
    if (!follower || !followers.isDue(follower)) return followers.lookAgain()
    await store.followers.keepTypes(follower, followedTypes)
    const state = current ?? { follower, cursor: follower.position, pending: new Map() }
    current = state
    return store.leaseKeeper.keep({ follower: ownName }, () => processPages(state, closing))
  }

  /** Until when there is nothing to do. Does not take the follower, so that an idle process writes nothing. */
  async function whenIdle(): Promise<WorkDone | undefined> {
    if (!current) return followers.whenIdle(ownName, followedTypes)
    const { pending, cursor, damage } = current
    const retry = nextRetry(current)
    if (pending.size > 0 && isDue({ dueAt: retry.nextAt })) return undefined
    const hasMore = damage ? pending.size === 0 : await followers.hasNewEvents(cursor, followedTypes)
    return hasMore ? undefined : retry
  }

  async function processPages(state: WorkerState, closing: AbortSignal): Promise<WorkDone> {
    for (;;) {
      const isAtEnd = await readPage(state)
      await yieldToEventLoop()
      if (!(await callDue(state, closing)) || !(await advanceFollower(state))) current = undefined
      if (!current) return followers.lookAgain()
      if (state.damage && state.pending.size === 0) {
        current = undefined
        return followers.failAtNext(state.follower, followedTypes, state.damage)
      }
      if (isAtEnd || closing.aborted) return nextRetry(state)
    }
  }

  /** Reads a page of the log. True at the end of the log, or when `pending` is full. */
  async function readPage(state: WorkerState): Promise<boolean> {
    const { pending, cursor } = state
    const limit = Math.min(pendingMax - pending.size, eventsPerPage)
    if (limit <= 0) return true
    const page = await store.readWithEnd({ after: cursor, types: followedTypes, limit }).catch(damageOrThrow)
    if (page instanceof AverbaError) {
      state.damage = page
      return true
    }
    const { events, end } = page
    for (const event of events) {
      const isFor = event.type !== 'notification.replayed' || event.data.handlers.includes(name)
      if (!isFor || event.data.evento !== evento) continue
      const known = pending.get(event.stream)
      // A replay ends the wait of a failing one. It is called only if its stream says so too.
      if (known) known.dueAt = 0
      else pending.set(event.stream, { position: event.position, dueAt: 0 })
    }
    state.cursor = events.at(-1)?.position ?? Math.max(cursor, end)
    return events.length === 0
  }

  /** Calls the handler for all that are due. False when another process has taken the follower. */
  async function callDue({ pending, follower }: WorkerState, closing: AbortSignal): Promise<boolean> {
    const blockedKeys = new Set<string>()
    try {
      let checked = 0
      for (const [stream, one] of pending) {
        if (closing.aborted) return true
        // Recording yields too, but not every notification leads to a recording.
        if (++checked % checkedPerTurn === 0) await yieldToEventLoop()
        const isBlocked = one.key !== undefined && blockedKeys.has(one.key)
        const isNext = !isBlocked && isDue(one)
        if (isNext && !(await store.followers.holds(follower))) return false
        if (isNext && (await callFor(stream, one, blockedKeys))) pending.delete(stream)
        else if (one.key !== undefined) blockedKeys.add(one.key)
        if (recordings.length === recordingsMax) await awaitRecordings()
      }
      return true
    } finally {
      await awaitRecordings()
    }
  }

  /** Waits until the results are in the log. On a failure the log is read again from the follower's position. */
  async function awaitRecordings(): Promise<void> {
    try {
      await Promise.all(recordings.splice(0))
    } catch (error) {
      current = undefined
      throw error
    }
  }

  /** Calls the handler for a notification that is due. True when it is handled or parked. */
  async function callFor(stream: string, one: PendingNotification, blockedKeys: ReadonlySet<string>): Promise<boolean> {
    const read = await readClearNotification(store, stream, registered).catch(damageOrThrow)
    if (read instanceof AverbaError) return postponeDamaged(stream, one, read)
    const { clear, version } = read
    delete one.damage
    const before = clear.handlers.find(each => each.handler === name)
    if (before && before.state !== 'waiting' && before.state !== 'failing') {
      unrecorded.delete(stream)
      return true
    }
    if (before?.retryAt) one.dueAt = fromInstant(before.retryAt)
    const kept = unrecorded.get(stream)
    if (kept?.version === version) {
      if (kept.key !== undefined) one.key = kept.key
      return recordResult(stream, kept)
    }
    const opened = await openNotification(context, clear).catch(openFailure)
    const isOpen = typeof opened === 'object'
    const destroyed = isOpen && isBodyMissing(opened) ? bodyMissing : undefined
    const unkeyed = isOpen && destroyed === undefined ? assignKey(one, opened) : undefined
    if (!isDue(one) || (one.key !== undefined && blockedKeys.has(one.key))) return false
    const onError = (error: unknown) =>
      context.engine.emit('handlerFailed', { handler: name, evento, notification: idOfStream(stream), error })
    const call = (found: Notification) => followers.scope.within(() => callHandler(clock, registered, found, onError))
    if (unkeyed) onError(unkeyed.error)
    const reason = destroyed ?? (unkeyed ? errorName(unkeyed.error) : isOpen ? await call(opened) : opened)
    const called = { version, key: one.key }
    if (reason === undefined) return recordResult(stream, { ...called, message: { type: 'host.handled', data: {} } })
    const attempts = (before?.attempts ?? 0) + 1
    const isOver = destroyed !== undefined || attempts >= attemptsMax
    // No jitter: one worker calls one handler in sequence.
    one.dueAt = clock.now() + backoffMs(attempts - 1, backoffBaseMs, backoffMaxMs)
    const retryAt = isOver ? null : toInstant(one.dueAt)
    const failure = destroyed === undefined && { failure: { attempt: attempts, reason, isParked: isOver } }
    const message = { type: 'host.failed', data: { reason, retryAt } } as const
    return recordResult(stream, { ...called, message, ...failure })
  }

  /** Records a result, and keeps it until it is committed. True when no further call is needed. */
  async function recordResult(stream: string, result: CallResult): Promise<boolean> {
    unrecorded.set(stream, result)
    const { message, failure } = result
    let isReplayed = false
    const createRequest = async () => {
      const newest = failure?.isParked ? await readClearNotification(store, stream, registered) : result
      isReplayed = newest.version !== result.version
      const data = { ...message.data, ...(isReplayed && { retryAt: toInstant(clock.now()) }), handler: name, handlers }
      return { targets: [{ stream, message: { type: message.type, data } }] }
    }
    const recording = context.engine.record(createRequest).then(() => void unrecorded.delete(stream))
    if (message.type === 'host.handled') {
      recording.catch(() => undefined) // awaitRecordings throws it.
      recordings.push(recording)
      return true
    }
    await recording
    // A replay during the call asks for another call, so this one does not park it.
    const isParked = failure?.isParked === true && !isReplayed
    if (failure) logFailure(stream, { ...failure, isParked })
    return failure === undefined || isParked
  }

  function logFailure(stream: string, failure: HandlerFailure): void {
    const line = failureLine(failure, failureMessages, { evento, handler: name, notification: idOfStream(stream) })
    if (line) context.log(line)
  }

  function isDue({ dueAt }: Pick<PendingNotification, 'dueAt'>): boolean {
    return isWaitOver(dueAt, clock.now(), backoffMaxMs)
  }

  /** Retries a notification with a damaged stream later, in this process only: nothing can be recorded in it. */
  function postponeDamaged(stream: string, one: PendingNotification, error: AverbaError): false {
    const attempts = (one.damage?.attempts ?? 0) + 1
    one.damage = { error, attempts }
    one.dueAt = clock.now() + backoffMs(attempts - 1, backoffBaseMs, backoffMaxMs)
    logFailure(stream, { attempt: attempts, reason: error.code, isParked: false })
    return false
  }

  /** Sets the notification's key, or returns what the key function threw. */
  function assignKey(one: PendingNotification, notification: Notification): { error: unknown } | undefined {
    try {
      if (keyOf && one.key === undefined) one.key = keyOf(notification)
      return undefined
    } catch (error) {
      return { error }
    }
  }

  /** Moves the follower before the first pending notification. False when another process has taken it. */
  async function advanceFollower(state: WorkerState): Promise<boolean> {
    const [first] = state.pending.values()
    const position = first ? first.position - 1 : state.cursor
    const { follower } = state
    if (position === follower.position) return true
    state.follower = { ...follower, position, attempts: 0 }
    return store.followers.move(follower, position)
  }

  return work
}

/** When the next notification is tried, of those that no earlier one with the same key delays. */
function nextRetry({ pending }: WorkerState): WorkDone {
  const keys = new Set<string>()
  let nextAt = Number.POSITIVE_INFINITY
  for (const { dueAt, key } of pending.values()) {
    if (key !== undefined && keys.has(key)) continue
    if (key !== undefined) keys.add(key)
    nextAt = Math.min(nextAt, dueAt)
  }
  return { nextAt }
}

/** Why a body cannot be opened. It is retried, since the part may be put back or a backup restored. */
function openFailure(error: unknown): string {
  if (hasCode(error, 'STORE_UNSAFE', 'STORE_BUSY', 'CLOSED', 'NOT_OURS')) throw error
  return errorName(error)
}

/** Reads a notification's clear data from its stream, and the version of the last event that concerns the handler. */
async function readClearNotification(
  store: Pick<LogStore, 'read'>,
  stream: string,
  { evento, name }: Pick<RegisteredHandler, 'evento' | 'name'>,
): Promise<{ clear: ClearNotification; version: number }> {
  let handlers: readonly HandlerState[] = []
  let [copies, version] = [1, 0]
  let first: RecordedBy<'notification'> | undefined
  for await (const event of readEvents(store, { stream })) {
    if (!isBy(event, 'notification')) continue
    first ??= event
    if (event.type === 'notification.copied') copies += 1
    handlers = handlingsAfter(handlers, event)
    if (concernsHandler(name, event)) version = event.version
  }
  if (!first) throw new TypeError(`The notification "${stream}" is not in the log`)
  const clear = { stream, evento, copies, at: first.at, handlers, body: bodyAddress(first) }
  return first.type === 'notification.recovered'
    ? { clear: { ...clear, origin: 'recovered', failedAt: first.data.failedAt }, version }
    : { clear: { ...clear, origin: 'delivered', failedAt: null }, version }
}

function concernsHandler(handler: string, event: RecordedBy<'notification'>): boolean {
  switch (event.type) {
    case 'notification.handled':
    case 'notification.failed':
    case 'notification.parked':
      return event.data.handler === handler
    case 'notification.replayed':
    case 'notification.skipped':
      return event.data.handlers.includes(handler)
    default:
      return false
  }
}

export interface RegisteredHandler {
  readonly evento: string
  readonly name: string
  handle(notification: Notification, call: HandlerCall): Promise<void>
  readonly timeoutMs: number
  readonly schema: { parse(body: unknown): unknown } | undefined
  /** Notifications with the same key are handled in order. */
  readonly key: ((notification: Notification) => string) | undefined
}

/** Parses the body with the schema and calls the handler. Returns why that failed, without any content of the body. */
async function callHandler(
  clock: Clock,
  { schema, handle, timeoutMs }: RegisteredHandler,
  notification: Notification,
  onError: (error: unknown) => void,
): Promise<string | undefined> {
  let { body } = notification
  try {
    if (schema) body = schema.parse(body) as Json // The host's schema returns what the host's handler expects.
  } catch (error) {
    onError(error)
    return schemaFailure(error)
  }
  return callInTime(clock, timeoutMs, call => handle({ ...notification, body }, call), onError)
}

/** The issue codes of zod. Other texts of its errors, paths included, may quote the value. */
const zodIssueCodes = new Set([
  ...['invalid_type', 'too_big', 'too_small', 'invalid_format', 'not_multiple_of', 'unrecognized_keys'],
  ...['invalid_union', 'invalid_key', 'invalid_element', 'invalid_value', 'custom'],
])

function schemaFailure(error: unknown): string {
  const found = new Set<string>()
  try {
    const issues = typeof error === 'object' && error !== null && 'issues' in error ? error.issues : []
    for (const issue of Array.isArray(issues) ? issues : []) {
      const { code } = issue
      if (zodIssueCodes.has(code)) found.add(code)
    }
  } catch {
    // A thrown value may have a throwing getter: no issue is reported then.
  }
  return `the body does not fit its schema${found.size > 0 ? `: ${[...found].join(', ')}` : ''}`
}
