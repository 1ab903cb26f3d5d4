import type { NotificationEvent } from '../machines/notification.ts'
import type { Instant, PartAddress } from '../message.ts'
import { defineView, type RecordedOf } from '../view.ts'

/** A notification in the inbox. */
export interface NotificationRow {
  notification: string
  evento: string
  recipient_kind: string | null
  state: 'received'
  /** How often the same content came, the first time included. */
  copies: number
  received_at: Instant
  body_bytes: number
  /** Where the body stands, and who was addressed, sealed. */
  body: PartAddress
  recipient: PartAddress
}

/** The view of the inbox. */
export const notifications = defineView<NotificationRow, RecordedOf<NotificationEvent>>({
  name: 'notifications',
  version: 1,
  columns: {
    notification: 'text',
    evento: 'text',
    recipient_kind: 'text',
    state: 'text',
    copies: 'integer',
    received_at: 'text',
    body_bytes: 'integer',
    body: 'text',
    recipient: 'text',
  },
  isByStream: true,
  key: event => (event.type.startsWith('notification.') ? event.stream : undefined),
  fold(row, event) {
    if (event.type === 'notification.copied') return row && { ...row, copies: row.copies + 1 }
    const { evento, recipientKind, bodyBytes } = event.data
    return {
      notification: event.stream,
      evento,
      recipient_kind: recipientKind,
      state: 'received',
      copies: 1,
      received_at: event.at,
      body_bytes: bodyBytes,
      body: `${event.id}/body`,
      recipient: `${event.id}/recipient`,
    }
  },
})
