import type { Event } from '../../vocabulary/message.ts'
import { isOfFormer, type SubscriptionContext, type SubscriptionState } from './chart.ts'
import type { LostOperation, SubscriptionEvent, SubscriptionReading } from './messages.ts'

type EffectEnding = Pick<Event, 'resolves'>

/** The calls to the portal: the chart states during each, while its answer is lost, and after it was done. */
const stagesOfCalls = {
  subscribe: {
    during: { registration: 'registering' },
    uncertain: { registration: { registering: 'uncertain' } },
    done: { registration: 'registered' },
  },
  changeSubscription: {
    during: { registration: { registered: 'changing' } },
    uncertain: { registration: { registered: { changing: 'uncertain' } } },
    done: { registration: { registered: 'active' } },
  },
  deleteSubscription: {
    during: { registration: { registered: 'deleting' } },
    uncertain: { registration: { registered: { deleting: 'uncertain' } } },
    done: { registration: { deleted: 'byUs' } },
  },
} as const

/** Ends the call whose answer was lost. */
export function endCall(call: string, isDone: boolean): EffectEnding {
  return { resolves: { effect: `portal.${call}`, as: isDone ? 'settled' : 'declined' } }
}

/** A call before the registration was deleted: a deletion was done, and a change was not. */
function endByDeletion(call: string): EffectEnding {
  return endCall(call, call === 'deleteSubscription')
}

/** Returns the call whose answer was lost, if there is one. */
export function findUncertainCall(state: SubscriptionState): string | undefined {
  return Object.entries(stagesOfCalls).find(([, { uncertain }]) => state.matches(uncertain))?.[0]
}

/** How a lost call ended, if a list has shown it: its process died unnoticed. `undefined` while that is unknown. */
export function findKnownOutcome(state: SubscriptionState, lost: LostOperation): EffectEnding | undefined {
  const { operation } = lost
  if (isOfFormer(lost, state.context)) return endByDeletion(operation)
  const stage = Object.entries(stagesOfCalls).find(([name]) => name === operation)?.[1]
  if (!stage || state.matches(stage.during)) return undefined
  return endCall(operation, state.matches(stage.done))
}

/** Ends an uncertain change or deletion when the subscription was deleted. */
export function resolveByDeletion(state: SubscriptionState): EffectEnding {
  const call = findUncertainCall(state)
  return call === undefined ? {} : endByDeletion(call)
}

/** Checks that the portal shows what the change requested. */
export function matchesRequest({ evento, asked }: SubscriptionContext, shown: SubscriptionReading): boolean {
  return shown.evento === evento && shown.endpoint === asked.endpoint && shown.generation === asked.generation
}

/** Ends an uncertain change or deletion by what the list shows: a change was done if it shows what was requested. */
export function resolveUncertain(state: SubscriptionState, shown: SubscriptionReading): SubscriptionEvent[] {
  const { context } = state
  const call = findUncertainCall(state)
  if (call === undefined) return []
  if (call === 'changeSubscription' && matchesRequest(context, shown))
    return [{ type: 'subscription.changed', data: context.asked, ...endCall(call, true) }]
  return [{ type: 'subscription.changeNotMade', data: {}, ...endCall(call, false) }]
}
