import {
  type HandlerState,
  type HandlingState,
  handlingsAfter,
  type NotificationEvent,
  overallState,
  overallTrouble,
} from '../machines/notification.ts'
import type { Instant, PartAddress } from '../vocabulary/message.ts'
import { defineView, integer, type RecordedOf, type RowOf, text } from '../vocabulary/view.ts'

const columns = {
  notification: text(),
  evento: text(),
  recipient_kind: text<string | null>(),
  origin: text<'delivered' | 'recovered'>(),
  state: text<HandlingState>(),
  /** Whether a handler is failing, or parked for what can be fixed; else null, so that the index has few rows. */
  trouble: text<'failing' | 'parked' | null>(),
  /** How often the same content was delivered, including the first time. */
  copies: integer(),
  received_at: text<Instant>(),
  /** When the delivery of a recovered notification failed, if the portal's record says so. */
  failed_at: text<Instant | null>(),
  body_bytes: integer(),
  body: text<PartAddress>(),
  /** Every handler that was called or is waiting, as JSON: see `readHandlings`. */
  handlers: text(),
}

/** A notification in the inbox. */
export type NotificationRow = RowOf<typeof columns>

export function readHandlings({ handlers }: Pick<NotificationRow, 'handlers'>): readonly HandlerState[] {
  return JSON.parse(handlers) // The fold below writes it.
}

/** The view of the inbox. */
export const notifications = defineView<NotificationRow, RecordedOf<NotificationEvent>>({
  name: 'notifications',
  version: 1,
  kinds: ['notification'],
  columns,
  isByStream: true,
  indexes: ['trouble'],
  key: event => event.stream,
  fold(row, event) {
    if (event.type === 'notification.copied') return row && { ...row, copies: row.copies + 1 }
    if (event.type !== 'notification.received' && event.type !== 'notification.recovered') {
      if (!row) return undefined
      const handlings = handlingsAfter(readHandlings(row), event)
      const [state, trouble] = [overallState(handlings), overallTrouble(handlings)]
      return { ...row, state, trouble, handlers: JSON.stringify(handlings) }
    }
    const common = {
      notification: event.stream,
      evento: event.data.evento,
      state: 'received',
      trouble: null,
      copies: 1,
      received_at: event.at,
      body_bytes: event.data.bodyBytes,
      body: `${event.id}/body`,
      handlers: '[]',
    } as const
    return event.type === 'notification.recovered'
      ? { ...common, origin: 'recovered', recipient_kind: null, failed_at: event.data.failedAt }
      : { ...common, origin: 'delivered', recipient_kind: event.data.recipientKind, failed_at: null }
  },
})
