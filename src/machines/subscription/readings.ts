import { clocksDifferMaxMs, fromInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { SubscriptionContext, SubscriptionState } from './chart.ts'
import { endCall, findUncertainCall, matchesRequest, resolveByDeletion, resolveUncertain } from './doubt.ts'
import { findThreat, type HealthState, healthAfterDelivery } from './health.ts'
import { areSecretsOurs, latestGeneration, type SubscriptionEvent, type SubscriptionReading } from './messages.ts'

/** Returns the events of a row of the portal's list. */
export function eventsOfReading(state: SubscriptionState, shown: SubscriptionReading): SubscriptionEvent[] {
  const { context } = state
  // A pending registration is matched by its event and endpoint instead.
  if (shown.remoteId !== context.remoteId)
    return state.matches({ registration: 'registering' }) ? [] : findReappearance(context, shown)
  if (shown.isDeleted) {
    const by = state.matches({ registration: { registered: 'deleting' } }) ? 'us' : 'portal'
    // The next registration must not use an older secret than this one.
    const isRaised = latestGeneration(context, shown.generation) > context.generation
    const data = { by, deletedAt: shown.deletedAt } as const
    return [
      ...(isRaised ? findDrift(state, shown) : []),
      { type: 'subscription.deleted', data, ...resolveByDeletion(state) },
    ]
  }
  const isChanging = state.matches({ registration: { registered: 'changing' } })
  return [
    ...resolveUncertain(state, shown),
    ...(isChanging && matchesRequest(context, shown) ? [] : findDrift(state, shown)),
    ...healthEventsOfReading(state, shown),
  ]
}

/** Returns the events when the portal's list, which includes deleted subscriptions, does not have it. */
export function eventsIfMissing(state: SubscriptionState): SubscriptionEvent[] {
  if (findUncertainCall(state) === 'subscribe') {
    const data = { operation: 'subscribe', httpStatus: 0, code: 'NOT_DONE' }
    return [{ type: 'subscription.declined', data, ...endCall('subscribe', false) }]
  }
  if (state.context.remoteId === null) return []
  const anomaly = 'the portal lists it neither as active nor as deleted'
  const data = { by: 'portal', deletedAt: null } as const
  return [{ type: 'subscription.deleted', data, anomaly, ...resolveByDeletion(state) }]
}

/**
 * Returns the events of the deliveries that a reading shows: of a failing subscription a success ends the threat, and
 * without one it may grow. The time of a success counts even in a stale reading: failures are read with the list.
 */
export function healthEventsOfReading(state: SubscriptionState, shown: SubscriptionReading): SubscriptionEvent[] {
  const { context } = state
  const { lastSuccessAt, readAt } = shown
  if (shown.remoteId !== context.remoteId || shown.isDeleted) return []
  // Successes of another event do not concern ours.
  if (shown.evento !== context.evento) return []
  const isLater = lastSuccessAt !== null && lastSuccessAt > (context.lastSuccessAt ?? '')
  if (!state.matches({ health: 'failing' })) {
    const { registeredAt } = shown
    return [
      ...(isLater ? [{ type: 'subscription.delivered', data: { lastSuccessAt } } as const] : []),
      ...(context.registeredAt === null && registeredAt
        ? [{ type: 'subscription.dated', data: { registeredAt } } as const]
        : []),
    ]
  }
  const { failingSince, lastFailureAt } = context
  // Any new success ends failures without a readable time.
  if (isLater && lastSuccessAt > (lastFailureAt ?? ''))
    return [{ type: 'subscription.recovered', data: { lastSuccessAt } }]
  if (!isLater || lastSuccessAt < (failingSince ?? '')) return announceThreat(context, readAt)
  const delivered = { type: 'subscription.delivered', data: { lastSuccessAt } } as const
  return [delivered, ...announceThreat(healthAfterDelivery(lastSuccessAt, context), readAt)]
}

function announceThreat(health: HealthState, readAt: Instant): SubscriptionEvent[] {
  const threat = findThreat(health, readAt)
  return threat ? [{ type: 'subscription.threatened', data: threat }] : []
}

/** Returns how the portal differs from the known state. Each difference is recorded once. */
function findDrift(
  state: SubscriptionState,
  { evento, endpoint, generation, registeredAt }: SubscriptionReading,
): SubscriptionEvent[] {
  const { context } = state
  const newDate = correctedRegistration(context, registeredAt)
  const isKnown =
    evento === context.eventoAtPortal &&
    endpoint === context.endpoint &&
    areSecretsOurs(context, generation) === state.matches({ secrets: 'ours' }) &&
    latestGeneration(context, generation) === context.generation &&
    newDate === undefined
  if (isKnown) return []
  const data = { evento, endpoint, generation, ...(newDate && { registeredAt: newDate }) }
  return [{ type: 'subscription.drifted', data }]
}

/** Returns when the portal registered it, if our recorded time is far off. */
function correctedRegistration({ registeredAt }: SubscriptionContext, shown: Instant | null): Instant | undefined {
  if (!shown || registeredAt === null) return undefined
  return Math.abs(fromInstant(shown) - fromInstant(registeredAt)) > clocksDifferMaxMs ? shown : undefined
}

/** The former registration is listed again. The next reading shows its current state. */
function findReappearance(
  { formerId }: SubscriptionContext,
  { remoteId, isDeleted }: SubscriptionReading,
): SubscriptionEvent[] {
  if (remoteId !== formerId || isDeleted) return []
  const anomaly = 'the portal lists one as active that it had deleted or not listed'
  return [{ type: 'subscription.reappeared', data: { remoteId }, anomaly }]
}
