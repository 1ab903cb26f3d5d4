import type { Event } from '../../vocabulary/message.ts'
import { isOfFormer, type SubscriptionContext, type SubscriptionState } from './chart.ts'
import type { RegistrationRef, SubscriptionEvent, SubscriptionReading } from './messages.ts'

type EffectEnding = Pick<Event, 'resolves'>

/** Ends the effect whose answer was lost. */
export function resolveEffect(as: 'settled' | 'declined', verb = 'subscribe'): EffectEnding {
  return { resolves: { effect: `portal.${verb}`, as } }
}

const uncertainChange = { registration: { registered: { changing: 'uncertain' } } } as const
const uncertainDeletion = { registration: { registered: { deleting: 'uncertain' } } } as const

/** The chart states during each effect, and after it was done. */
const stagesOfEffects = {
  subscribe: { during: { registration: 'registering' }, done: { registration: 'registered' } },
  changeSubscription: {
    during: { registration: { registered: 'changing' } },
    done: { registration: { registered: 'active' } },
  },
  deleteSubscription: {
    during: { registration: { registered: 'deleting' } },
    done: { registration: { deleted: 'byUs' } },
  },
} as const

/**
 * Returns how a lost call ended, when a list already showed it: the process that made the call died unnoticed.
 * `undefined` while the outcome is unknown.
 */
export function findKnownOutcome(
  state: SubscriptionState,
  { operation, ...registration }: { readonly operation: string } & RegistrationRef,
): EffectEnding | undefined {
  // The registration was deleted, so a deletion was done and a change was not.
  if (isOfFormer(registration, state.context))
    return resolveEffect(operation === 'deleteSubscription' ? 'settled' : 'declined', operation)
  const stage = Object.entries(stagesOfEffects).find(([name]) => name === operation)?.[1]
  if (!stage || state.matches(stage.during)) return undefined
  return resolveEffect(state.matches(stage.done) ? 'settled' : 'declined', operation)
}

/** Ends an uncertain call when the subscription was deleted: a deletion was done, and a change was not. */
export function resolveByDeletion(state: SubscriptionState): EffectEnding {
  if (state.matches(uncertainDeletion)) return resolveEffect('settled', 'deleteSubscription')
  return state.matches(uncertainChange) ? resolveEffect('declined', 'changeSubscription') : {}
}

/** Checks that the portal shows what the change requested. */
export function matchesRequest(
  { evento, asked }: Pick<SubscriptionContext, 'evento' | 'asked'>,
  shown: Pick<SubscriptionReading, 'evento' | 'endpoint' | 'generation'>,
): boolean {
  return shown.evento === evento && shown.endpoint === asked.endpoint && shown.generation === asked.generation
}

/** Ends an uncertain change or deletion by what the list shows: a change was done if it shows what was requested. */
export function resolveUncertain(state: SubscriptionState, shown: SubscriptionReading): SubscriptionEvent[] {
  const { context } = state
  const notDone = (verb: string): SubscriptionEvent[] => [
    { type: 'subscription.confirmed', data: {}, ...resolveEffect('declined', verb) },
  ]
  if (state.matches(uncertainDeletion)) return notDone('deleteSubscription')
  if (!state.matches(uncertainChange)) return []
  if (!matchesRequest(context, shown)) return notDone('changeSubscription')
  return [{ type: 'subscription.changed', data: context.asked, ...resolveEffect('settled', 'changeSubscription') }]
}
