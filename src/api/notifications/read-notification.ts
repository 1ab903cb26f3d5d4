import { type HandlerState, handlingsAfter, type NotificationEvent } from '../../machines/notification.ts'
import { logPageRows } from '../../store/log/read.ts'
import type { Store } from '../../store/store.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import type { RegisteredHandler } from './call-handler.ts'
import { bodyOf, type ClearNotification } from './notification.ts'

/**
 * Reads what the log says of a notification in clear, from its own stream, and at which version it last told of the
 * handler.
 */
export async function readClear(
  store: Pick<Store, 'read'>,
  stream: string,
  { evento, name }: Pick<RegisteredHandler, 'evento' | 'name'>,
): Promise<{ clear: ClearNotification; version: number }> {
  let handlers: readonly HandlerState[] = []
  let [copies, version] = [1, 0]
  let first: (RecordedEvent & NotificationEvent) | undefined
  for (let after = 0; ; ) {
    const page = await store.read({ stream, after })
    // Its stream has no others.
    for (const event of page as (RecordedEvent & NotificationEvent)[]) {
      first ??= event
      if (event.type === 'notification.copied') copies += 1
      handlers = handlingsAfter(handlers, event)
      after = event.position
      if (tellsOf(name, event)) version = event.version
    }
    if (page.length < logPageRows) break
  }
  if (!first) throw new TypeError(`The notification "${stream}" is not in the log`)
  const clear = { stream, evento, copies, at: first.at, handlers, body: bodyOf(first) }
  return first.type === 'notification.recovered'
    ? { clear: { ...clear, origin: 'recovered', failedAt: first.data.failedAt }, version }
    : { clear: { ...clear, origin: 'delivered', failedAt: null }, version }
}

function tellsOf(handler: string, { data }: RecordedEvent): boolean {
  const told = data as { handler?: string; handlers?: readonly string[] } // As the machine of notifications has it.
  return told.handler === handler || (told.handlers ?? []).includes(handler)
}
