import { checkHandlerTime, type HandlerCall, type HandlerTime } from '../../engine/following/handler-call.ts'
import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { handlingStates } from '../../machines/notification.ts'
import { readPages } from '../../runtime/lazy-list.ts'
import { type NotificationRow, readHandlings } from '../../views/notifications.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import type { Json } from '../../vocabulary/message.ts'
import { checkKnownNames, followerName, idOfStream, isStreamOf, streamOf } from '../../vocabulary/names.ts'
import type { RecordOptions } from '../../vocabulary/outcome.ts'
import type { PartKind } from '../../vocabulary/part-kinds.ts'
import { type ApiContext, expectUnchanged } from '../api-context.ts'
import { checkId, checkOneOf } from '../arguments.ts'
import { createHandlerWorker, type RegisteredHandler } from './handler-worker.ts'
import { bodyAddress, isBodyDestroyed, type Notification, openListedNotification } from './notification.ts'

/** The options of a handler. */
export interface HandlerOptions<B = Json> extends HandlerTime {
  /** Parses the body before each call: anything with `parse`, such as a zod schema. The handler gets its result. */
  readonly schema?: { parse(body: unknown): B }
  /** Returns the key of a notification. Those with the same key are handled in order; a parked one is skipped. */
  readonly key?: (notification: Notification) => string
}

/** The inbox: the portal's notifications, each stored before it was acknowledged. */
export interface Notifications {
  /**
   * Calls a handler for every notification of an event, from the beginning of the log on, after the commit and at least
   * once. This happens during `run` or `settle`, in one process at a time. Copies are not handled.
   *
   * A failed call is retried with growing waits, up to 12 calls in about half an hour; then the notification is parked.
   * It delays only notifications with its `key`. A call that takes longer than `timeoutMs` has failed, and its `signal`
   * is aborted; a handler that ignores the signal may still run when it is called again.
   *
   * @throws {AverbaError} `INVALID_INPUT` when the handler is missing, the event already has one of this name in this
   * process, the name has a slash, or `timeoutMs` is not a whole number up to a day
   */
  handle<B = Json>(
    evento: string,
    name: string,
    handler: (notification: Notification<B>, call: HandlerCall) => Promise<void>,
    options?: HandlerOptions<B>,
  ): void
  /**
   * Lists notifications, the oldest first. A destroyed or damaged body is left out.
   *
   * @throws {AverbaError} `INVALID_INPUT` for an unknown state, `VIEW_STOPPED` while their view is stopped
   */
  list(filter?: { state?: Notification['state']; evento?: string }): AsyncIterable<Notification>
  /**
   * Calls handlers again, as if for the first time, in the order in which the notifications arrived. With `id`: all
   * handlers of that notification that were called, or with `failed` only those that are failing or parked. Without:
   * the failing and parked handlers of all notifications, except those whose body was destroyed. Returns how many.
   *
   * @throws {AverbaError} `INVALID_INPUT`, `NOT_FOUND`; `REFUSED` when no handler of the notification is to be called
   * again; `PART_DESTROYED` when its body was destroyed
   */
  replay(
    filter: { readonly id: string; readonly failed?: boolean } | { readonly failed: true },
    commandOptions?: RecordOptions,
  ): Promise<number>
  /**
   * Lets the handlers of a notification that are failing or parked go on without it: a person has dealt with it, or the
   * handler is gone. They are `skipped` then, and are called again only by a replay.
   *
   * @throws {AverbaError} `NOT_FOUND`; `REFUSED` when no handler of it is failing or parked
   */
  skip(id: string, commandOptions?: RecordOptions): Promise<void>
}

const notificationsPerPage = 100

export function createNotifications(context: ApiContext): Notifications {
  const registered = new Map<string, string[]>()

  function addHandler(handler: RegisteredHandler): void {
    const { evento, name } = handler
    const handlers = registered.get(evento) ?? []
    context.followers.attach(followerName(handler), createHandlerWorker(context, handler, handlers))
    handlers.push(name)
    registered.set(evento, handlers)
  }

  async function* selectRows(filter: Parameters<Notifications['list']>[0] & { failed?: boolean } = {}) {
    const { state, evento, failed = false } = filter
    if (state !== undefined) checkOneOf(state, handlingStates, 'state of a notification')
    const all = context.views.selectFrom('notifications').selectAll()
    let query = all.orderBy('notification').limit(notificationsPerPage)
    if (evento !== undefined) query = query.where('evento', '=', evento)
    if (state !== undefined) query = query.where('state', '=', state)
    if (failed) query = query.where('trouble', 'is not', null)
    const read = (last?: NotificationRow) => query.where('notification', '>', last?.notification ?? '').execute()
    for await (const rows of readPages(notificationsPerPage, read)) yield* rows
  }

  async function readFirst(id: string) {
    checkId(id, 'id of a notification')
    const stream = streamOf('notification', id)
    const [first] = await context.store.read({ stream, limit: 1 })
    if (first) return { stream, first }
    throw new AverbaError('NOT_FOUND', `Cannot find the notification "${id}": it does not exist`, {
      hint: 'See notifications.list for all of them, each with its id',
    })
  }

  async function replayOne(id: string, which: 'failed' | 'all', ask: RecordOptions): Promise<void> {
    const { stream, first } = await readFirst(id)
    const message = { type: 'notification.replay', data: { which } }
    const owners = (first.parts ?? []).flatMap(({ owner }) => (isStreamOf('subject', owner) ? owner : []))
    // The events that destroy the body are in these streams. Without it no handler could be called.
    const destroying = [...owners, streamOf('retention', 'notification.body' satisfies PartKind)]
    const createRequest = async (): Promise<DecisionRequest> => {
      const preconditions = await Promise.all(destroying.map(each => expectUnchanged(context.store, each)))
      if (!(await isBodyDestroyed(context, bodyAddress(first))))
        return { targets: [{ stream, message }], preconditions }
      throw new AverbaError('PART_DESTROYED', `Cannot replay "${id}": its body was destroyed`, {
        hint: 'Retention or the erasure of its person destroyed it; the log has its events',
      })
    }
    await context.commands.record({ ...message, stream }, createRequest, ask)
  }

  return {
    handle(evento, name, handler, options = {}) {
      checkKnownNames(options, ['schema', 'key', 'timeoutMs'], { noun: 'option', of: 'the handler' })
      const { schema, key, ...time } = options
      checkId(evento, 'evento')
      checkId(name, 'name of a handler')
      // Its follower has both names: "b" for the event "c/a" would be the same as "a/b" for "c".
      if (name.includes('/'))
        throw new AverbaError('INVALID_INPUT', `Cannot handle "${evento}" as "${name}": it has a slash`, {
          hint: 'Use a name without a slash, such as erp-pedidos',
        })
      if (typeof handler !== 'function')
        throw new AverbaError('INVALID_INPUT', `Cannot handle "${evento}": the handler is missing`, {
          hint: "Give an event, a name and a function: handle('dimp-situacao-import', 'mine', async notification => ...)",
        })
      const { subscriptions = [] } = context.options
      if (subscriptions.length > 0 && !subscriptions.some(each => each.evento === evento))
        context.log({
          level: 'warn',
          message: 'a handler is for an event that no subscription declares',
          evento,
          handler: name,
        })
      const timeoutMs = checkHandlerTime(time)
      // The body is what its schema returned.
      const handle: RegisteredHandler['handle'] = (notification, call) => handler(notification as never, call)
      addHandler({ evento, name, handle, timeoutMs, schema, key })
    },
    async *list(filter = {}) {
      checkKnownNames(filter, ['state', 'evento'], { noun: 'member', of: 'the filter' })
      for await (const row of selectRows(filter)) {
        const { notification: stream, evento, origin, copies, received_at: at, failed_at: failedAt, body } = row
        const handlers = readHandlings(row)
        const clear = { stream, evento, origin, copies, at, failedAt, handlers, body }
        yield openListedNotification(context, clear)
      }
    },
    async replay(filter, ask = {}) {
      checkKnownNames(filter, ['id', 'failed'], { noun: 'member', of: 'the filter' })
      if ('id' in filter) {
        const { id, failed = false } = filter
        await replayOne(id, failed ? 'failed' : 'all', ask)
        return 1
      }
      if (filter.failed !== true)
        throw new AverbaError('INVALID_INPUT', 'Cannot replay: neither an id nor `failed: true` was given')
      let count = 0
      for await (const { notification } of selectRows({ failed: true })) {
        count += 1
        await replayOne(idOfStream(notification), 'failed', ask).catch(error => {
          // Another process has replayed it, or a handler has finished: the view may lag.
          if (!hasCode(error, 'REFUSED', 'PART_DESTROYED')) throw error
          count -= 1
        })
      }
      return count
    },
    async skip(id, ask = {}) {
      const { stream } = await readFirst(id)
      const message = { type: 'notification.skip', data: {} }
      await context.commands.record({ ...message, stream }, async () => ({ targets: [{ stream, message }] }), ask)
    },
  }
}
