import { clocksDifferMaxMs, fromInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { SubscriptionContext } from './context.ts'
import { findThreat, healthAfterSuccess } from './health.ts'
import type { SubscriptionEvent, SubscriptionReading } from './messages.ts'

/** How the portal differs from what was last known: recorded once, until it shows something else again. */
export function findDrift(
  context: SubscriptionContext,
  { evento, endpoint, generation, registeredAt }: SubscriptionReading,
): SubscriptionEvent[] {
  const raised = laterGeneration(context, generation)
  const dated = correctedRegistration(context, registeredAt)
  const areSecretsOurs = raised !== undefined || generation === context.generation
  const isKnown =
    evento === context.eventoAtPortal &&
    endpoint === context.endpoint &&
    areSecretsOurs === context.areSecretsOurs &&
    raised === undefined &&
    dated === undefined
  const more = { ...(raised !== undefined && { generation: raised }), ...(dated && { registeredAt: dated }) }
  const data = { evento, endpoint, areSecretsOurs, ...more }
  return isKnown ? [] : [{ type: 'subscription.drifted', data }]
}

/**
 * A later generation of our secrets: a log before this one, or another one, rotated to it. It becomes ours, since an
 * earlier one may have leaked.
 */
export function laterGeneration(
  context: Pick<SubscriptionContext, 'generation'>,
  shown: number | null,
): number | undefined {
  return shown !== null && shown > context.generation ? shown : undefined
}

/** When the portal registered it, where our clock was far from the portal's when we asked for it. */
function correctedRegistration(
  { registeredAt }: SubscriptionContext,
  shown: Instant | null | undefined,
): Instant | undefined {
  if (!shown || registeredAt === null) return undefined
  return Math.abs(fromInstant(shown) - fromInstant(registeredAt)) > clocksDifferMaxMs ? shown : undefined
}

/**
 * What a reading of a failing subscription adds: a success after the failures ends the threat; without one it grows.
 */
export function healthEvents(
  context: SubscriptionContext,
  { evento, lastSuccessAt, readAt }: SubscriptionReading,
): SubscriptionEvent[] {
  // Successes of another event say nothing of ours.
  if (evento !== context.evento) return []
  const { failingSince, lastFailureAt } = context
  // Failures without a readable time end with any success.
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

/** The former registration is there again. The next reading tells its present form. */
export function findReappearance(
  { formerId }: SubscriptionContext,
  { remoteId, isDeleted }: SubscriptionReading,
): SubscriptionEvent[] {
  if (remoteId !== formerId || isDeleted) return []
  const anomaly = 'the portal lists one as active that it had deleted or not listed'
  return [{ type: 'subscription.reappeared', data: { remoteId }, anomaly }]
}
