import type { Event } from '../../vocabulary/message.ts'
import type { HeldEndpoint, RegistrationRef, SubscriptionEvent, SubscriptionReading } from './messages.ts'

type EffectEnding = Pick<Event, 'resolves'>

/** Ends the effect whose answer was lost. */
export function resolveEffect(as: 'settled' | 'declined', verb = 'subscribe'): EffectEnding {
  return { resolves: { effect: `portal.${verb}`, as } }
}

/** The chart states during each effect, and after it was done. */
const stagesOfEffects = {
  subscribe: { during: 'registering', done: 'active' },
  changeSubscription: { during: 'changing', done: 'active' },
  deleteSubscription: { during: 'deleting', done: { deleted: 'byUs' } },
} as const

type EffectStage = (typeof stagesOfEffects)[keyof typeof stagesOfEffects]

/**
 * Checks that an answer belongs to a former registration: the portal deleted it while a change was pending, and there
 * may be a new registration since.
 */
export function isOfFormerRegistration({ remoteId }: RegistrationRef, known: number | null): boolean {
  return remoteId !== undefined && remoteId !== known
}

/** Returns the event of an answer, or `answeredLate` when the answer belongs to a former registration. */
export function answerOrLate(
  operation: string,
  { remoteId }: RegistrationRef,
  known: { readonly remoteId: number | null },
  event: SubscriptionEvent,
): SubscriptionEvent {
  if (remoteId === undefined || remoteId === known.remoteId) return event
  return { type: 'subscription.answeredLate', data: { operation, remoteId } }
}

/**
 * Returns how a lost call ended, when a list already showed it: the process that made the call died unnoticed.
 * `undefined` while the outcome is unknown.
 */
export function findKnownOutcome(
  operation: string,
  isAt: (where: EffectStage['during'] | EffectStage['done']) => boolean,
  isFormer: boolean,
): EffectEnding | undefined {
  // The registration was deleted, so a deletion was done and a change was not.
  if (isFormer) return resolveEffect(operation === 'deleteSubscription' ? 'settled' : 'declined', operation)
  const stage = Object.entries(stagesOfEffects).find(([name]) => name === operation)?.[1]
  if (!stage || isAt(stage.during)) return undefined
  return resolveEffect(isAt(stage.done) ? 'settled' : 'declined', operation)
}

/** Ends an uncertain call when the subscription was deleted: a deletion was done, and a change was not. */
export function resolveByDeletion(
  isAt: (where: { changing: 'uncertain' } | { deleting: 'uncertain' }) => boolean,
): EffectEnding {
  if (isAt({ deleting: 'uncertain' })) return resolveEffect('settled', 'deleteSubscription')
  return isAt({ changing: 'uncertain' }) ? resolveEffect('declined', 'changeSubscription') : {}
}

interface RequestedChange {
  readonly evento: string
  readonly asked: HeldEndpoint
}

/** Checks that the portal shows what the change requested. */
export function matchesRequest(
  { evento, asked }: RequestedChange,
  shown: Pick<SubscriptionReading, 'evento' | 'endpoint' | 'generation'>,
): boolean {
  return shown.evento === evento && shown.endpoint === asked.endpoint && shown.generation === asked.generation
}

/** Ends an uncertain change: it was done if the portal shows what was requested. */
export function resolveChange(asking: RequestedChange, shown: SubscriptionReading): SubscriptionEvent {
  const isDone = matchesRequest(asking, shown)
  const ends = resolveEffect(isDone ? 'settled' : 'declined', 'changeSubscription')
  return isDone
    ? { type: 'subscription.changed', data: asking.asked, ...ends }
    : { type: 'subscription.confirmed', data: {}, ...ends }
}
