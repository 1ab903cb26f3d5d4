import type { Event, Instant, Message } from '../../vocabulary/message.ts'
import type { DeletionThreat } from './health.ts'

// Events

/** What we want the portal to hold. The host is asked for the secrets themselves when they are sent. */
export interface DesiredEndpoint {
  readonly evento: string
  readonly endpoint: string
}

/** What is recorded of a subscription. */
export type SubscriptionEvent =
  /** Always the first. */
  | Event<'subscription.declared', DesiredEndpoint & { subscription: string }>
  | Event<'subscription.registrationRequested' | 'subscription.changeRequested', HeldEndpoint>
  /** New secrets are asked for: the generation is one more than that in use. */
  | Event<'subscription.rotationRequested', HeldEndpoint>
  /** `takenOver`: it was somebody else's, and a person wanted it to be ours. */
  | Event<'subscription.registered', HeldEndpoint & RegisteredAtPortal>
  | Event<'subscription.changed', HeldEndpoint & RegistrationRef>
  /** The portal holds another event, endpoint or other secrets than last known. Never tells which secrets. */
  | Event<'subscription.drifted', DriftedSubscription>
  | Event<'subscription.deletionRequested', unknown>
  /** Its part `reason`, where the portal gave one, holds its text. */
  | Event<'subscription.deleted', { by: 'us' | 'portal'; deletedAt: Instant | null }>
  /** The portal lists one as active that it had deleted or left out: ours again, unless another has come since. */
  | Event<'subscription.reappeared', { remoteId: number }>
  | Event<'subscription.declined', DeclinedOperation>
  /** The answer to a change or deletion of a registration that is gone: it says nothing of what is there now. */
  | Event<'subscription.answeredLate', LostOperation>
  | Event<'subscription.lost', LostOperation>
  /** The portal shows it as it was before a change or deletion whose answer was lost. */
  | Event<'subscription.confirmed', unknown>
  /** A delivery failed; its part `failure` holds the portal's record of it, content included. */
  | Event<'subscription.failing', FailureRecord>
  /** What became of a failure record: its content was in the inbox already (`stored`), or is now (`recovered`). */
  | Event<'subscription.failureRecovered', FailureRecovered>
  /** A delivery succeeded after the failures; `failsAgain` when others failed after it. */
  | Event<'subscription.recovered', { lastSuccessAt: Instant; failsAgain: boolean }>
  /** 50, 75 or 90 percent of the thirty days have passed with nothing but errors. */
  | Event<'subscription.threatened', DeletionThreat>

interface DriftedSubscription {
  readonly evento: string
  readonly endpoint: string
  readonly areSecretsOurs: boolean
  /** The generation of our secrets that it carries, where that is later than the one that was known. */
  readonly generation?: number
  /** When the portal registered it, where our clock had said something else. */
  readonly registeredAt?: Instant
}

interface RegisteredAtPortal {
  readonly remoteId: number
  readonly how: 'created' | 'adopted' | 'takenOver'
  /** Of an existing one: the last successful delivery, where there was one. */
  readonly lastSuccessAt?: Instant
  /** When the portal registered it; of a created one that follows another, when it was asked to. */
  readonly registeredAt?: Instant
}

/** The registration that a change or deletion was asked for; a registration itself has none. */
export interface RegistrationRef {
  readonly remoteId?: number
}

interface DeclinedOperation extends RegistrationRef {
  readonly operation: string
  readonly httpStatus: number
  readonly code: string | null
}

interface LostOperation extends RegistrationRef {
  readonly operation: string
}

/** Where notifications go, and which generation of our secrets they carry. */
export interface HeldEndpoint {
  readonly endpoint: string
  readonly generation: number
}

interface FailureRecovered {
  readonly failure: string
  readonly evento: string
  readonly notification: string
  readonly how: 'stored' | 'recovered'
}

interface FailureRecord {
  /** Our id of the failure record, and the portal's. */
  readonly failure: string
  readonly remoteId: number
  readonly failedAt: Instant | null
  readonly evento: string
}

// Commands, and facts from outside

/** One row of the portal's list, without its secrets. */
export interface SubscriptionReading {
  readonly remoteId: number
  readonly evento: string
  readonly endpoint: string
  /** The generation of our secrets that it carries; null when its secrets are not ours. */
  readonly generation: number | null
  readonly isDeleted: boolean
  readonly deletedAt: Instant | null
  readonly lastSuccessAt: Instant | null
  readonly registeredAt: Instant | null
  /** When it was read, by our clock. */
  readonly readAt: Instant
}

/** Makes ours what the portal lists already: it matches, or a person wants it, whosever it was. */
export type AdoptMessage = Message<'subscription.adopt' | 'subscription.takeOver', SubscriptionReading>

/** What the machine of a subscription decides: commands, and facts from outside. */
export type SubscriptionMessage =
  | Message<'subscription.declare', DesiredEndpoint & { subscription: string }>
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
