import {
  checkHandlerTime,
  failureLine,
  type HandlerCall,
  type HandlerTime,
} from '../../engine/following/handler-call.ts'
import { handlingStates } from '../../machines/notification.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { readHandlings } from '../../views/notifications.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Json } from '../../vocabulary/message.ts'
import { followerName, streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { checkId, checkOneOf } from '../arguments.ts'
import type { RegisteredHandler } from './call-handler.ts'
import { HandlerWorker } from './handler-worker.ts'
import { bodyOf, isDestroyed, type Notification, openListed } from './notification.ts'

/** What a handler may be registered with. */
export interface HandlerOptions<B = Json> extends HandlerTime {
  /** Checks the body each time, and says what the handler gets: anything with `parse`, such as a schema of zod. */
  readonly schema?: { parse(body: unknown): B }
  /**
   * Names what a notification is about: those of one key are handled in order; one that is parked no longer holds up
   * the next.
   */
  readonly key?: (notification: Notification) => string
}

/** The inbox: what the portal notified us of, stored before it was acknowledged. */
export interface Notifications {
  /**
   * Calls a handler for every notification of an event, from the beginning of the log on, after the commit and at least
   * once. It works while `run` or `settle` does, in one process at a time. One that fails is tried again with growing
   * waits, up to 12 times in about half an hour, and then parked; it does not hold up others, unless they have its
   * `key`. One that takes longer than `timeoutMs` has failed, and is told so by its `signal`: a handler that ignores it
   * may still be at work when it is called again. Copies call no handler.
   *
   * @throws {AverbaError} `INVALID_INPUT` when there is no handler, the event has one of this name in this process, the
   * name has a slash, or `timeoutMs` is not a whole number up to a day
   */
  handle<B = Json>(
    evento: string,
    name: string,
    handler: (notification: Notification<B>, call: HandlerCall) => Promise<void>,
    options?: HandlerOptions<B>,
  ): void
  /**
   * Notifications, the oldest first. Those whose body was destroyed or damaged come without it.
   *
   * @throws {AverbaError} `INVALID_INPUT` for an unknown state, `VIEW_STOPPED` while their view stands still
   */
  list(filter?: { state?: Notification['state']; evento?: string }): AsyncIterable<Notification>
  /**
   * Calls handlers again, as if for the first time, in the order in which the notifications came: those that are
   * parked, of one notification or of all; or, of one, all that were called. Gives how many notifications it was. Of
   * all, those whose body was destroyed stay parked: no handler can be called for them.
   *
   * @throws {AverbaError} `INVALID_INPUT`, `NOT_FOUND`, and `REFUSED` when no handler of the one is to be called again,
   * `PART_DESTROYED` when its body was destroyed
   */
  replay(
    filter: { readonly id: string; readonly parked?: boolean } | { readonly parked: true },
    commandOptions?: Pick<CommandOptions, 'actor' | 'basis' | 'correlationId'>,
  ): Promise<number>
}

const pageRows = 100
const failedOrParked = ['a handler failed at a notification', 'a notification is parked'] as const

/** Makes the area `notifications`. */
export function createNotifications(context: ApiContext): Notifications {
  const { followers } = context
  const registered = new Map<string, string[]>()

  function add(handler: RegisteredHandler): void {
    const { evento, name } = handler
    const handlers = registered.get(evento) ?? []
    const worker = new HandlerWorker({
      context,
      followers,
      registered: handler,
      handlers: () => handlers,
      onFailed(notification, failure) {
        const line = failureLine(failure, failedOrParked, { evento, handler: name, notification })
        if (line) context.log(line)
      },
    })
    followers.attach(followerName(handler), closing => worker.work(closing))
    handlers.push(name)
    registered.set(evento, handlers)
  }

  async function* rowsOf(filter: Parameters<Notifications['list']>[0] = {}) {
    const { state, evento } = filter
    if (state !== undefined) checkOneOf(state, handlingStates, 'state of a notification')
    let last = ''
    for (;;) {
      let query = context.views.selectFrom('notifications').selectAll().where('notification', '>', last)
      if (evento !== undefined) query = query.where('evento', '=', evento)
      if (state !== undefined) query = query.where('state', '=', state)
      const rows = await query.orderBy('notification').limit(pageRows).execute()
      if (rows.length === 0) return
      yield* rows
      last = rows.at(-1)?.notification ?? ''
      await yieldToEventLoop()
    }
  }

  async function replayOne(
    stream: string,
    which: 'parked' | 'all',
    commandOptions: CommandOptions,
  ): Promise<void> {
    const message = { type: 'notification.replay', data: { which } }
    await context.commands.record(
      { ...message, stream },
      async () => ({ targets: [{ stream, message }] }),
      commandOptions,
    )
  }

  return {
    handle(evento, name, handler, { schema, key, ...time } = {}) {
      checkId(evento, 'evento')
      checkId(name, 'name of a handler')
      // Its place in the log is kept under both names: "a/b" of "c" would be that of "b" of "c/a".
      if (name.includes('/'))
        throw new AverbaError('INVALID_INPUT', `Cannot handle "${evento}" as "${name}": it has a slash`, {
          hint: 'Name the handler without one, such as erp-pedidos',
        })
      if (typeof handler !== 'function') {
        throw new AverbaError('INVALID_INPUT', `Cannot handle "${evento}": the handler is missing`, {
          hint: "Give an event, a name and a function: handle('dimp-situacao-import', 'mine', async notification => ...)",
        })
      }
      const { subscriptions = [] } = context.options
      if (subscriptions.length > 0 && !subscriptions.some(each => each.evento === evento))
        context.log({
          message: 'a handler is for an event that no subscription declares',
          evento,
          handler: name,
        })
      const timeoutMs = checkHandlerTime(time)
      // As its schema made it.
      const handle: RegisteredHandler['handle'] = (notification, call) => handler(notification as never, call)
      add({ evento, name, handle, timeoutMs, schema, key })
    },
    async *list(filter) {
      for await (const row of rowsOf(filter)) {
        const {
          notification: stream,
          evento,
          origin,
          copies,
          received_at: at,
          failed_at: failedAt,
          body,
        } = row
        const handlers = readHandlings(row)
        const clear = { stream, evento, origin, copies, at, failedAt, handlers, body }
        yield openListed(context, clear)
      }
    },
    async replay(filter, ask = {}) {
      if ('id' in filter) {
        const { id, parked = false } = filter
        checkId(id, 'id of a notification')
        const stream = streamOf('notification', id)
        const [first] = await context.store.read({ stream, limit: 1 })
        if (!first) {
          throw new AverbaError('NOT_FOUND', `Cannot replay "${id}": there is no such notification`, {
            hint: 'notifications.list has all of them, each with its id',
          })
        }
        if (await isDestroyed(context, bodyOf(first))) {
          throw new AverbaError('PART_DESTROYED', `Cannot replay "${id}": its body was destroyed`, {
            hint: 'It went with its person or by retention; what became of it is in the log',
          })
        }
        await replayOne(stream, parked ? 'parked' : 'all', ask)
        return 1
      }
      if (filter.parked !== true) {
        throw new AverbaError('INVALID_INPUT', 'Cannot replay: neither an id nor `parked: true` was given')
      }
      let count = 0
      for await (const { notification, body } of rowsOf({ state: 'parked' })) {
        // It would be parked again at once, and the log would grow each time.
        if (await isDestroyed(context, body)) continue
        count += 1
        await replayOne(notification, 'parked', ask).catch(error => {
          // Another process was faster: the view may lag by a moment, or a handler has finished.
          if (!(error instanceof AverbaError) || error.code !== 'REFUSED') throw error
          count -= 1
        })
      }
      return count
    },
  }
}
