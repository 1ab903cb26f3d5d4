import type { SubscriptionEvent } from '../machines/subscription.ts'
import type { Instant, PartAddress } from '../message.ts'
import { defineView, type RecordedOf } from '../view.ts'

/** A subscription at the portal. */
export interface SubscriptionRow {
  subscription: string
  evento: string
  endpoint: string
  /** The portal's id; null while it has none. */
  remote_id: number | null
  state: 'declared' | 'registering' | 'active' | 'changing' | 'deleting' | 'deleted'
  health: 'unknown' | 'healthy' | 'failing'
  failures: number
  deleted_by: 'us' | 'portal' | null
  deleted_at: Instant | null
  /** Where the portal's reason stands, sealed. */
  reason: PartAddress | null
  changed_at: Instant
}

/** The view of subscriptions. */
export const subscriptions = defineView<SubscriptionRow, RecordedOf<SubscriptionEvent>>({
  name: 'subscriptions',
  version: 1,
  columns: {
    subscription: 'text',
    evento: 'text',
    endpoint: 'text',
    remote_id: 'integer',
    state: 'text',
    health: 'text',
    failures: 'integer',
    deleted_by: 'text',
    deleted_at: 'text',
    reason: 'text',
    changed_at: 'text',
  },
  key: event => (event.type.startsWith('subscription.') ? event.stream : undefined),
  fold(row, event) {
    if (event.type === 'subscription.declared') {
      return {
        subscription: event.stream,
        evento: event.data.evento,
        endpoint: event.data.endpoint,
        remote_id: null,
        state: 'declared',
        health: 'unknown',
        failures: 0,
        deleted_by: null,
        deleted_at: null,
        reason: null,
        changed_at: event.at,
      }
    }
    return row && { ...row, changed_at: event.at, ...change(row, event) }
  },
})

function change(row: SubscriptionRow, event: RecordedOf<SubscriptionEvent>): Partial<SubscriptionRow> {
  switch (event.type) {
    case 'subscription.registrationRequested':
      return { state: 'registering' }
    case 'subscription.registered': {
      const { remoteId, endpoint } = event.data
      const fresh = { failures: 0, deleted_by: null, deleted_at: null, reason: null } as const
      return { state: 'active', health: 'healthy', remote_id: remoteId, endpoint, ...fresh }
    }
    case 'subscription.changeRequested':
      return { state: 'changing' }
    case 'subscription.changed':
    case 'subscription.drifted':
      return { state: 'active', endpoint: event.data.endpoint }
    case 'subscription.deletionRequested':
      return { state: 'deleting' }
    case 'subscription.failing':
      return { health: 'failing', failures: row.failures + 1 }
    case 'subscription.recovered':
      return { health: 'healthy', failures: 0 }
    case 'subscription.declined':
      return { state: row.state === 'registering' ? 'declared' : 'active' }
    case 'subscription.confirmed':
      return { state: 'active' }
    case 'subscription.deleted': {
      const reason = event.parts?.some(part => part.name === 'reason') ? `${event.id}/reason` : null
      const { by, deletedAt } = event.data
      return { state: 'deleted', remote_id: null, deleted_by: by, deleted_at: deletedAt ?? event.at, reason }
    }
    default:
      return {}
  }
}
