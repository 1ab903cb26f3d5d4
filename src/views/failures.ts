import type { PortalEvent } from '../machines/portal.ts'
import type { SubscriptionEvent } from '../machines/subscription/subscription.ts'
import type { Instant, PartAddress } from '../vocabulary/message.ts'
import { defineView, type RecordedOf, type RowOf, text } from '../vocabulary/view.ts'
import { partAddressIn } from './recorded-answer.ts'

const columns = {
  failure: text(),
  evento: text(),
  /** Our subscription to the event; null when we have none. */
  subscription: text<string | null>(),
  failed_at: text<Instant | null>(),
  read_at: text<Instant>(),
  /** The part with the portal's record, without its content. */
  record: text<PartAddress>(),
  /** The part with its content; null without content, or when it was put into the inbox at once. */
  content: text<PartAddress | null>(),
  /** The notification with this content, and whether it was stored before or recovered from the record. */
  notification: text<string | null>(),
  recovery: text<'stored' | 'recovered' | null>(),
}

/** A failed delivery, as recorded by the portal. */
export type FailureRow = RowOf<typeof columns>

/** The view of failed deliveries. */
export const failures = defineView<FailureRow, RecordedOf<SubscriptionEvent | PortalEvent>>({
  name: 'failures',
  version: 1,
  kinds: ['subscription', 'portal'],
  columns,
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
    if (event.type === 'subscription.failureRecovered')
      return row && { ...row, notification: event.data.notification, recovery: event.data.how }
    if (event.type !== 'subscription.failing' && event.type !== 'portal.foreignFailure') return row
    const { failure, evento, failedAt } = event.data
    return {
      failure,
      evento,
      subscription: event.type === 'subscription.failing' ? event.stream : null,
      failed_at: failedAt,
      read_at: event.at,
      record: `${event.id}/failure`,
      content: partAddressIn(event, 'content'),
      notification: null,
      recovery: null,
    }
  },
})
