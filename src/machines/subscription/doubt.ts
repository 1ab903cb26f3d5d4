import type { Event } from '../../vocabulary/message.ts'
import type { HeldEndpoint, RegistrationRef, SubscriptionEvent, SubscriptionReading } from './messages.ts'

type EffectEnding = Pick<Event, 'resolves'>

/** Ends the call whose answer was lost. */
export function resolveEffect(as: 'settled' | 'declined', verb = 'subscribe'): EffectEnding {
  return { resolves: { effect: `portal.${verb}`, as } }
}

/** Where a subscription stands while a call is out, and where once it is done. */
const stagesOfEffects = {
  subscribe: { during: 'registering', done: 'active' },
  changeSubscription: { during: 'changing', done: 'active' },
  deleteSubscription: { during: 'deleting', done: { deleted: 'byUs' } },
} as const

type EffectStage = (typeof stagesOfEffects)[keyof typeof stagesOfEffects]

/**
 * Whether an answer is about a registration that is gone: a change of it was still owed when the portal deleted it, and
 * another may have come since, with changes of its own.
 */
export function isOfFormerRegistration({ remoteId }: RegistrationRef, known: number | null): boolean {
  return remoteId !== undefined && remoteId !== known
}

/** What an answer is recorded as: as it reads, unless it is about a registration that is gone. */
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
 * How a call ended whose loss is reported after a list has told its outcome: the process that made it had died
 * unnoticed. `undefined` while nothing has been told.
 */
export function findKnownOutcome(
  operation: string,
  isAt: (where: EffectStage['during'] | EffectStage['done']) => boolean,
  isBefore: boolean,
): EffectEnding | undefined {
  // It went with its registration: a deletion was made, a change had nothing left to change.
  if (isBefore) return resolveEffect(operation === 'deleteSubscription' ? 'settled' : 'declined', operation)
  const station = Object.entries(stagesOfEffects).find(([name]) => name === operation)?.[1]
  if (!station || isAt(station.during)) return undefined
  return resolveEffect(isAt(station.done) ? 'settled' : 'declined', operation)
}

/**
 * Ends a call whose answer was lost when its subscription is gone: a deletion was made, a change had nothing left to
 * change.
 */
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

/** Whether the portal shows what a change asked for. */
export function matchesRequest(
  { evento, asked }: RequestedChange,
  shown: Pick<SubscriptionReading, 'evento' | 'endpoint' | 'generation'>,
): boolean {
  return shown.evento === evento && shown.endpoint === asked.endpoint && shown.generation === asked.generation
}

/** A change whose answer was lost was made when the portal shows what was asked for. */
export function resolveChange(asking: RequestedChange, shown: SubscriptionReading): SubscriptionEvent {
  const isDone = matchesRequest(asking, shown)
  const ends = resolveEffect(isDone ? 'settled' : 'declined', 'changeSubscription')
  return isDone
    ? { type: 'subscription.changed', data: asking.asked, ...ends }
    : { type: 'subscription.confirmed', data: {}, ...ends }
}
