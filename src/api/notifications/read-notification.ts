import { type HandlerState, handlingsAfter, type NotificationEvent } from '../../machines/notification.ts'
import { logPageRows } from '../../store/log/read.ts'
import type { Store } from '../../store/store.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { RegisteredHandler } from './call-handler.ts'
import { bodyAddress, type ClearNotification } from './notification.ts'

/**
 * Reads the clear data of a notification from its stream, and the version of the last event that concerns the handler.
 */
export async function readClearNotification(
  store: Pick<Store, 'read'>,
  stream: string,
  { evento, name }: Pick<RegisteredHandler, 'evento' | 'name'>,
): Promise<{ clear: ClearNotification; version: number }> {
  let handlers: readonly HandlerState[] = []
  let [copies, version] = [1, 0]
  let first: (RecordedEvent & NotificationEvent) | undefined
  for (let after = 0; ; ) {
    const page = await store.read({ stream, after })
    // The stream has no other events.
    for (const event of page as (RecordedEvent & NotificationEvent)[]) {
      first ??= event
      if (event.type === 'notification.copied') copies += 1
      handlers = handlingsAfter(handlers, event)
      after = event.position
      if (concernsHandler(name, event)) version = event.version
    }
    if (page.length < logPageRows) break
  }
  if (!first) throw new TypeError(`The notification "${stream}" is not in the log`)
  const clear = { stream, evento, copies, at: first.at, handlers, body: bodyAddress(first) }
  return first.type === 'notification.recovered'
    ? { clear: { ...clear, origin: 'recovered', failedAt: first.data.failedAt }, version }
    : { clear: { ...clear, origin: 'delivered', failedAt: null }, version }
}

function concernsHandler(handler: string, { data }: RecordedEvent): boolean {
  const named = data as { handler?: string; handlers?: readonly string[] } // As the machine of notifications writes it.
  return named.handler === handler || (named.handlers ?? []).includes(handler)
}
