import { type HealthState, healthAfterFailure, healthAfterSuccess, initialHealth } from './health.ts'
import type { HeldEndpoint, SubscriptionEvent } from './messages.ts'

/** The context of a subscription's chart. */
export interface SubscriptionContext extends HeldEndpoint, HealthState {
  readonly evento: string
  /** The event that the portal last showed: it differs when somebody changed it there. */
  readonly eventoAtPortal: string
  readonly remoteId: number | null
  /** The portal's id of the former registration, which was deleted or not listed: the portal may list it again. */
  readonly formerId: number | null
  readonly asked: HeldEndpoint
  readonly areSecretsOurs: boolean
}

const noEndpoint: HeldEndpoint = { endpoint: '', generation: 1 }

/** The context before the declaration. */
export const emptyContext: SubscriptionContext = {
  evento: '',
  eventoAtPortal: '',
  remoteId: null,
  formerId: null,
  ...noEndpoint,
  asked: noEndpoint,
  areSecretsOurs: true,
  ...initialHealth,
}

/** Returns what an event changes in the context. */
export function contextAfter(context: SubscriptionContext, event: SubscriptionEvent): Partial<SubscriptionContext> {
  switch (event.type) {
    case 'subscription.declared':
      return { evento: event.data.evento, eventoAtPortal: event.data.evento, endpoint: event.data.endpoint }
    case 'subscription.registered': {
      const { remoteId, endpoint, generation, how } = event.data
      const { lastSuccessAt = null, registeredAt = null } = event.data
      const held = { eventoAtPortal: context.evento, endpoint, generation }
      const formerId = context.formerId === remoteId ? null : context.formerId
      const areSecretsOurs = how !== 'takenOver'
      return { remoteId, formerId, ...held, areSecretsOurs, ...initialHealth, lastSuccessAt, registeredAt }
    }
    case 'subscription.changeRequested':
    case 'subscription.rotationRequested':
      return { asked: event.data }
    case 'subscription.changed':
      return { ...pickEndpoint(event.data), eventoAtPortal: context.evento, areSecretsOurs: true }
    case 'subscription.drifted': {
      const { evento, endpoint, areSecretsOurs, generation = context.generation } = event.data
      const { registeredAt = context.registeredAt } = event.data
      return { eventoAtPortal: evento, endpoint, areSecretsOurs, generation, registeredAt }
    }
    case 'subscription.failing':
      return healthAfterFailure(context, event.data.failedAt)
    case 'subscription.recovered':
      return healthAfterSuccess(event.data.lastSuccessAt, event.data.failsAgain, context)
    case 'subscription.threatened':
      return { announced: event.data.percent }
    case 'subscription.deleted':
      return { remoteId: null, formerId: context.remoteId ?? context.formerId }
    case 'subscription.reappeared':
      return { remoteId: context.remoteId ?? event.data.remoteId, formerId: null }
    default:
      return {}
  }
}

/** Picks the endpoint and the generation of secrets from a larger object. */
export function pickEndpoint({ endpoint, generation }: HeldEndpoint): HeldEndpoint {
  return { endpoint, generation }
}
