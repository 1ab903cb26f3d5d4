import { healthAfterDelivery, healthAfterFailure, isRelevantFailure } from '../machines/subscription/health.ts'
import { areSecretsOurs, latestGeneration } from '../machines/subscription/messages.ts'
import type { SubscriptionEvent } from '../machines/subscription/subscription.ts'
import type { Instant, PartAddress } from '../vocabulary/message.ts'
import { defineView, integer, type RecordedOf, type RowOf, text } from '../vocabulary/view.ts'
import { partAddressIn } from './recorded-answer.ts'

const columns = {
  subscription: text(),
  evento: text(),
  /** The event that the portal last showed: it differs when somebody changed it there. */
  evento_at_portal: text(),
  endpoint: text(),
  /** The portal's id; null while not registered. */
  remote_id: integer<number | null>(),
  /** The portal's id of the former registration, which was deleted or not listed; null once it is listed again. */
  former_id: integer<number | null>(),
  state: text<'declared' | 'registering' | 'active' | 'changing' | 'deleting' | 'deleted'>(),
  health: text<'unknown' | 'healthy' | 'failing'>(),
  failures: integer(),
  /** The generation of our secrets that the portal has. */
  generation: integer(),
  /** 0 when the portal showed secrets that are not ours. */
  secrets_are_ours: integer(),
  failing_since: text<Instant | null>(),
  last_failure_at: text<Instant | null>(),
  last_success_at: text<Instant | null>(),
  /** When the portal registered it: earlier failures belong to another registration. Null if unknown. */
  registered_at: text<Instant | null>(),
  deleted_by: text<'us' | 'portal' | null>(),
  deleted_at: text<Instant | null>(),
  /** The part with the portal's reason for the deletion. */
  reason: text<PartAddress | null>(),
  changed_at: text<Instant>(),
}

/** A subscription at the portal. */
export type SubscriptionRow = RowOf<typeof columns>

/** The view of subscriptions. */
export const subscriptions = defineView<SubscriptionRow, RecordedOf<SubscriptionEvent>>({
  name: 'subscriptions',
  version: 1,
  kinds: ['subscription'],
  columns,
  key: event => event.stream,
  fold(row, event) {
    if (event.type === 'subscription.declared')
      return {
        subscription: event.stream,
        evento: event.data.evento,
        evento_at_portal: event.data.evento,
        endpoint: event.data.endpoint,
        remote_id: null,
        former_id: null,
        state: 'declared',
        health: 'unknown',
        generation: 1,
        secrets_are_ours: 1,
        ...healthy,
        registered_at: null,
        deleted_by: null,
        deleted_at: null,
        reason: null,
        changed_at: event.at,
      }
    if (!row || event.type === 'subscription.unexpected') return row
    return { ...row, changed_at: event.at, ...changedColumns(row, event) }
  },
})

const healthy = { failures: 0, failing_since: null, last_failure_at: null, last_success_at: null } as const

const undeleted = { deleted_by: null, deleted_at: null, reason: null } as const

function changedColumns(row: SubscriptionRow, event: RecordedOf<SubscriptionEvent>): Partial<SubscriptionRow> {
  switch (event.type) {
    case 'subscription.registrationRequested':
      return { state: 'registering', endpoint: event.data.endpoint }
    case 'subscription.registered': {
      const { remoteId, endpoint, generation = 1, how } = event.data
      const { lastSuccessAt: last_success_at = null, registeredAt: registered_at = null } = event.data
      const secrets_are_ours = how === 'takenOver' ? 0 : 1
      const held = { evento_at_portal: row.evento, endpoint, generation, secrets_are_ours }
      const former_id = row.former_id === remoteId ? null : row.former_id
      const fresh = { ...healthy, last_success_at, registered_at, ...undeleted, former_id }
      return { state: 'active', health: 'healthy', remote_id: remoteId, ...held, ...fresh }
    }
    case 'subscription.changeRequested':
    case 'subscription.rotationRequested':
      return { state: 'changing' }
    case 'subscription.changed': {
      const { endpoint, generation = 1 } = event.data
      return { state: 'active', evento_at_portal: row.evento, endpoint, generation, secrets_are_ours: 1 }
    }
    case 'subscription.drifted': {
      const { evento, endpoint, generation, registeredAt: registered_at = row.registered_at } = event.data
      const secrets_are_ours = areSecretsOurs(row, generation) ? 1 : 0
      const atPortal = { evento_at_portal: evento, endpoint, secrets_are_ours } as const
      return { ...atPortal, generation: latestGeneration(row, generation), registered_at }
    }
    case 'subscription.deletionRequested':
      return { state: 'deleting' }
    case 'subscription.failing':
      return afterFailure(row, event.data.failedAt)
    case 'subscription.delivered':
      return afterDelivery(row, event.data.lastSuccessAt)
    case 'subscription.dated':
      return { registered_at: event.data.registeredAt }
    case 'subscription.recovered':
      return { ...healthy, health: 'healthy', last_success_at: event.data.lastSuccessAt }
    case 'subscription.declined':
      return { state: row.state === 'registering' ? 'declared' : 'active' }
    case 'subscription.changeNotMade':
      return { state: 'active' }
    case 'subscription.deleted': {
      const reason = partAddressIn(event, 'reason')
      const { by, deletedAt } = event.data
      const ids = { remote_id: null, former_id: row.remote_id ?? row.former_id }
      return { state: 'deleted', ...ids, deleted_by: by, deleted_at: deletedAt ?? event.at, reason }
    }
    case 'subscription.reappeared':
      return row.remote_id === null
        ? { state: 'active', remote_id: event.data.remoteId, former_id: null, ...undeleted }
        : { former_id: null }
    default:
      return {}
  }
}

function toHealthState(row: SubscriptionRow) {
  const { failing_since, last_failure_at, last_success_at, registered_at } = row
  return {
    failingSince: failing_since,
    lastFailureAt: last_failure_at,
    lastSuccessAt: last_success_at,
    registeredAt: registered_at,
    announced: 0,
  }
}

function afterFailure(row: SubscriptionRow, failedAt: Instant | null): Partial<SubscriptionRow> {
  const health = toHealthState(row)
  if (!isRelevantFailure(health, failedAt)) return {}
  const { failingSince, lastFailureAt } = { ...health, ...healthAfterFailure(health, failedAt) }
  return { health: 'failing', failures: row.failures + 1, failing_since: failingSince, last_failure_at: lastFailureAt }
}

function afterDelivery(row: SubscriptionRow, at: Instant): Partial<SubscriptionRow> {
  const { failingSince, lastSuccessAt } = healthAfterDelivery(at, toHealthState(row))
  return { failing_since: failingSince, last_success_at: lastSuccessAt }
}
