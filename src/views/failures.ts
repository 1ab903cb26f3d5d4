import type { PortalEvent } from '../machines/portal.ts'
import type { SubscriptionEvent } from '../machines/subscription.ts'
import type { Instant, PartAddress } from '../message.ts'
import { defineView, type RecordedOf } from '../view.ts'

/** A delivery that failed, as the portal recorded it. */
export interface FailureRow {
  failure: string
  evento: string
  /** Our subscription for the event; null when it is not ours. */
  subscription: string | null
  failed_at: Instant | null
  read_at: Instant
  /** Where the portal's record stands, sealed: description and content. */
  record: PartAddress
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
  },
  key(event) {
    const isFailure = event.type === 'subscription.failing' || event.type === 'portal.foreignFailure'
    return isFailure ? event.data.failure : undefined
  },
  fold(row, event) {
    const common = { read_at: event.at, record: `${event.id}/failure` }
    switch (event.type) {
      case 'subscription.failing': {
        const { failure, evento, failedAt } = event.data
        return { failure, evento, subscription: event.stream, failed_at: failedAt, ...common }
      }
      case 'portal.foreignFailure': {
        const { failure, evento, failedAt } = event.data
        return { failure, evento, subscription: null, failed_at: failedAt, ...common }
      }
      default:
        return row
    }
  },
})
