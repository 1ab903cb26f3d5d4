import type { Event, Instant, Message } from '../../vocabulary/message.ts'
import type { UnexpectedFact } from '../definition/machine.ts'
import type { DeletionThreat } from './health.ts'

/** The subscription that we want at the portal. The host supplies the secrets when a request is sent. */
interface DeclaredSubscription {
  readonly subscription: string
  readonly evento: string
  readonly endpoint: string
}

export type SubscriptionEvent =
  | Event<'subscription.declared', DeclaredSubscription>
  | Event<'subscription.registrationRequested' | 'subscription.changeRequested', HeldEndpoint>
  /** New secrets are requested: the generation is one more than the current one. */
  | Event<'subscription.rotationRequested', HeldEndpoint>
  /** `takenOver`: it was somebody else's, and a person decided to make it ours. */
  | Event<'subscription.registered', HeldEndpoint & RegisteredAtPortal>
  | Event<'subscription.changed', HeldEndpoint & RegistrationRef>
  /** The portal has another event, endpoint or other secrets than last known. It does not show which secrets. */
  | Event<'subscription.drifted', DriftedSubscription>
  | Event<'subscription.deletionRequested', unknown>
  /** Its part `reason` holds the portal's text, if there is one. */
  | Event<'subscription.deleted', RegistrationRef & { by: 'us' | 'portal'; deletedAt: Instant | null }>
  /** The portal lists a deleted or missing registration as active again: it is ours unless we have a new one. */
  | Event<'subscription.reappeared', { remoteId: number }>
  | Event<'subscription.declined', DeclinedOperation>
  | Event<'subscription.lost', LostOperation>
  /** After a change or deletion whose answer was lost, the portal shows the old state: it was not done. */
  | Event<'subscription.changeNotMade', unknown>
  /** A delivery failed. Its part `failure` holds the portal's record, its part `content` the content. */
  | Event<'subscription.failing', FailureRecord>
  /** The content of a failure record was in the inbox already (`stored`), or was added to it (`recovered`). */
  | Event<'subscription.failureRecovered', FailureRecovered>
  /** A list shows a later success, which ends no failures, or when the portal registered it. */
  | Event<'subscription.delivered', { lastSuccessAt: Instant }>
  | Event<'subscription.dated', { registeredAt: Instant }>
  /** A delivery succeeded after all known failures. */
  | Event<'subscription.recovered', { lastSuccessAt: Instant }>
  /** 50, 75 or 90 percent of the thirty days have passed with errors only. */
  | Event<'subscription.threatened', DeletionThreat>
  /** A late answer: a list had shown its outcome, or it was to a change or deletion of a former registration. */
  | Event<'subscription.unexpected', UnexpectedFact>

interface DriftedSubscription {
  readonly evento: string
  readonly endpoint: string
  /** The generation of our secrets at the portal; null when the secrets are not ours. */
  readonly generation: number | null
  /** When the portal registered it, if our clock had recorded another time. */
  readonly registeredAt?: Instant
}

interface RegisteredAtPortal {
  readonly remoteId: number
  readonly how: 'created' | 'adopted' | 'takenOver'
  /** The last successful delivery of an existing registration, if any. */
  readonly lastSuccessAt?: Instant
  /** When the portal registered it; for a new one that follows another, when we sent the request. */
  readonly registeredAt?: Instant
}

/** The portal's id of the registration to change or delete; absent for a new registration. */
export interface RegistrationRef {
  readonly remoteId?: number
}

interface DeclinedOperation extends RegistrationRef {
  readonly operation: string
  readonly httpStatus: number
  readonly code: string | null
}

/** A call whose answer was lost. */
export interface LostOperation extends RegistrationRef {
  readonly operation: string
}

/** Where notifications go, and the generation of the secrets they carry. */
export interface HeldEndpoint {
  readonly endpoint: string
  readonly generation: number
}

/** Checks that the portal has our secrets of the known generation, or of a later one, by another log's rotation. */
export function areSecretsOurs(known: Pick<HeldEndpoint, 'generation'>, shown: number | null): boolean {
  return shown !== null && shown >= known.generation
}

/** The generation that is known after the portal has shown one: the older one may have leaked. */
export function latestGeneration(known: Pick<HeldEndpoint, 'generation'>, shown: number | null): number {
  return Math.max(known.generation, shown ?? 0)
}

interface FailureRecovered {
  readonly failure: string
  readonly evento: string
  readonly notification: string
  readonly how: 'stored' | 'recovered'
}

interface FailureRecord {
  /** Our id of the failure record; `remoteId` is the portal's. */
  readonly failure: string
  readonly remoteId: number
  readonly failedAt: Instant | null
  readonly evento: string
}

/** A row of the portal's list, without its secrets. */
export interface SubscriptionReading {
  readonly remoteId: number
  readonly evento: string
  readonly endpoint: string
  /** The generation of our secrets at the portal; null when the secrets are not ours. */
  readonly generation: number | null
  readonly isDeleted: boolean
  readonly deletedAt: Instant | null
  readonly lastSuccessAt: Instant | null
  readonly registeredAt: Instant | null
  /** When we read it, by our clock. */
  readonly readAt: Instant
}

/** Makes a listed registration ours: it matches the declaration (`adopt`), or a person decided so (`takeOver`). */
export type AdoptMessage = Message<'subscription.adopt' | 'subscription.takeOver', SubscriptionReading>

/** The commands, and the facts from outside, of a subscription. */
export type SubscriptionMessage =
  | Message<'subscription.declare', DeclaredSubscription>
  | Message<'subscription.register', { endpoint: string; follows?: boolean }>
  | Message<'subscription.change' | 'subscription.rotate', { endpoint: string }>
  | Message<'subscription.delete', unknown>
  | AdoptMessage
  | Message<'subscription.observe', SubscriptionReading>
  | Message<'subscription.miss', unknown>
  | Message<'subscription.observeFailure', FailureRecord>
  | Message<'subscription.recoverFailure', FailureRecovered>
  | Message<'portal.subscribed', HeldEndpoint & { remoteId: number; registeredAt?: Instant }>
  | Message<'portal.subscriptionChanged', HeldEndpoint & RegistrationRef>
  | Message<'portal.subscriptionDeleted', RegistrationRef>
  | Message<'portal.declined', DeclinedOperation>
  | Message<'portal.lost', LostOperation>
