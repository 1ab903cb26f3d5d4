import { clocksDifferMaxMs, fromInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { SubscriptionContext, SubscriptionState } from './chart.ts'
import { findThreat, healthAfterSuccess } from './health.ts'
import type { SubscriptionEvent, SubscriptionReading } from './messages.ts'

/** Returns how the portal differs from the known state. Each difference is recorded once. */
export function findDrift(
  state: SubscriptionState,
  { evento, endpoint, generation, registeredAt }: SubscriptionReading,
): SubscriptionEvent[] {
  const { context } = state
  const newGeneration = laterGeneration(context, generation)
  const newDate = correctedRegistration(context, registeredAt)
  const areSecretsOurs = newGeneration !== undefined || generation === context.generation
  const isKnown =
    evento === context.eventoAtPortal &&
    endpoint === context.endpoint &&
    areSecretsOurs === state.matches({ secrets: 'ours' }) &&
    newGeneration === undefined &&
    newDate === undefined
  if (isKnown) return []
  const data = {
    ...{ evento, endpoint, areSecretsOurs },
    ...(newGeneration !== undefined && { generation: newGeneration }),
    ...(newDate && { registeredAt: newDate }),
  }
  return [{ type: 'subscription.drifted', data }]
}

/**
 * Returns the portal's generation if it is later than ours: an earlier log, or another one, rotated to it. We use it,
 * since an older generation may have leaked.
 */
export function laterGeneration(
  context: Pick<SubscriptionContext, 'generation'>,
  shown: number | null,
): number | undefined {
  return shown !== null && shown > context.generation ? shown : undefined
}

/** Returns when the portal registered it, if our recorded time is far off. */
function correctedRegistration(
  { registeredAt }: SubscriptionContext,
  shown: Instant | null | undefined,
): Instant | undefined {
  if (!shown || registeredAt === null) return undefined
  return Math.abs(fromInstant(shown) - fromInstant(registeredAt)) > clocksDifferMaxMs ? shown : undefined
}

/** Returns the events of a reading of a failing subscription: a success ends the threat; without one it may grow. */
export function healthEvents(
  context: SubscriptionContext,
  { evento, lastSuccessAt, readAt }: SubscriptionReading,
): SubscriptionEvent[] {
  // Successes of another event do not concern ours.
  if (evento !== context.evento) return []
  const { failingSince, lastFailureAt } = context
  // Any new success ends failures without a readable time.
  if (lastSuccessAt !== null && lastSuccessAt > (context.lastSuccessAt ?? '')) {
    const failsAgain = lastSuccessAt <= (lastFailureAt ?? '')
    if (!failsAgain || lastSuccessAt >= (failingSince ?? '')) {
      const data = { lastSuccessAt, failsAgain }
      const threat = findThreat(healthAfterSuccess(lastSuccessAt, failsAgain, context), readAt)
      const threatened = threat ? [{ type: 'subscription.threatened', data: threat } as const] : []
      return [{ type: 'subscription.recovered', data }, ...threatened]
    }
  }
  const threat = findThreat(context, readAt)
  return threat ? [{ type: 'subscription.threatened', data: threat }] : []
}

/** The former registration is listed again. The next reading shows its current state. */
export function findReappearance(
  { formerId }: SubscriptionContext,
  { remoteId, isDeleted }: SubscriptionReading,
): SubscriptionEvent[] {
  if (remoteId !== formerId || isDeleted) return []
  const anomaly = 'the portal lists one as active that it had deleted or not listed'
  return [{ type: 'subscription.reappeared', data: { remoteId }, anomaly }]
}
