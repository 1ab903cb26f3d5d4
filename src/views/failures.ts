import type { PortalEvent } from '../machines/portal.ts'
import type { SubscriptionEvent } from '../machines/subscription/subscription.ts'
import type { Instant, PartAddress } from '../vocabulary/message.ts'
import { defineView, type RecordedOf } from '../vocabulary/view.ts'

/** A failed delivery, as recorded by the portal. */
export interface FailureRow {
  failure: string
  evento: string
  /** Our subscription to the event; null when we have none. */
  subscription: string | null
  failed_at: Instant | null
  read_at: Instant
  /** The part with the portal's record, without its content. */
  record: PartAddress
  /** The part with its content; null without content, or when it was put into the inbox at once. */
  content: PartAddress | null
  /** The notification with this content, and whether it was stored before or recovered from the record. */
  notification: string | null
  recovery: 'stored' | 'recovered' | null
}

/** The view of failed deliveries. */
export const failures = defineView<FailureRow, RecordedOf<SubscriptionEvent | PortalEvent>>({
  name: 'failures',
  version: 1,
  columns: {
    failure: 'text',
    evento: 'text',
    subscription: 'text',
    failed_at: 'text',
    read_at: 'text',
    record: 'text',
    content: 'text',
    notification: 'text',
    recovery: 'text',
  },
  indexes: ['failed_at'],
  key(event) {
    switch (event.type) {
      case 'subscription.failing':
      case 'subscription.failureRecovered':
      case 'portal.foreignFailure':
        return event.data.failure
      default:
        return undefined
    }
  },
  fold(row, event) {
    const common = {
      read_at: event.at,
      record: `${event.id}/failure`,
      content: event.parts?.some(part => part.name === 'content') ? `${event.id}/content` : null,
      notification: null,
      recovery: null,
    }
    switch (event.type) {
      case 'subscription.failing': {
        const { failure, evento, failedAt } = event.data
        return { failure, evento, subscription: event.stream, failed_at: failedAt, ...common }
      }
      case 'subscription.failureRecovered':
        return row && { ...row, notification: event.data.notification, recovery: event.data.how }
      case 'portal.foreignFailure': {
        const { failure, evento, failedAt } = event.data
        return { failure, evento, subscription: null, failed_at: failedAt, ...common }
      }
      default:
        return row
    }
  },
})
