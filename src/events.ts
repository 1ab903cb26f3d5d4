import type { BudgetEvent } from './machines/budget.ts'
import type { CertificateEvent } from './machines/certificate.ts'
import type { ConsentEvent } from './machines/consent-events.ts'
import type { EffectEvent } from './machines/effect.ts'
import type { NotificationEvent } from './machines/notification.ts'
import type { PortalEvent } from './machines/portal.ts'
import type { SubjectEvent } from './machines/subject.ts'
import type { SubscriptionEvent } from './machines/subscription.ts'
import type { TokenEvent } from './machines/token.ts'
import type { ValidationEvent } from './machines/validation.ts'
import type { Recorded as AnyRecorded } from './message.ts'
import type { PartsMoved } from './store/moved-parts.ts'

type AnyEvent =
  | CertificateEvent
  | BudgetEvent
  | ConsentEvent
  | EffectEvent
  | NotificationEvent
  | PortalEvent
  | SubjectEvent
  | SubscriptionEvent
  | TokenEvent
  | ValidationEvent

/** Every type of event, with its clear data. */
export type Events = { [E in AnyEvent as E['type']]: E['data'] } & {
  'log.began': { origin: string; keyring: string }
  /** Parts of events at positions `from` to `to` were moved out to the bundle with this SHA-256, or put back. */
  'log.partsArchived': PartsMoved
  'log.partsRestored': PartsMoved
}

/** An event as the log holds it. */
export type Recorded<T extends keyof Events = keyof Events> = { [K in T]: AnyRecorded<K, Events[K]> }[T]
