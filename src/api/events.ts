import type { BudgetEvent } from '../machines/budget.ts'
import type { CertificateEvent } from '../machines/certificate.ts'
import type { ConsentEvent } from '../machines/consent/events.ts'
import type { MachineTable } from '../machines/definition/machine-table.ts'
import type { EffectEvent } from '../machines/effect.ts'
import type { FollowerEvent } from '../machines/follower.ts'
import type { NotificationEvent } from '../machines/notification.ts'
import type { PortalEvent } from '../machines/portal.ts'
import type { RetentionEvent } from '../machines/retention.ts'
import type { RevealEvent } from '../machines/reveal.ts'
import type { SubjectEvent } from '../machines/subject/messages.ts'
import type { SubscriptionEvent } from '../machines/subscription/subscription.ts'
import type { TokenEvent } from '../machines/token.ts'
import type { ValidationEvent } from '../machines/validation.ts'
import type { ResumeRecord } from '../store/checkpoints/resuming.ts'
import type { RecordedEvent } from '../vocabulary/message.ts'

type AnyEvent =
  | CertificateEvent
  | BudgetEvent
  | ConsentEvent
  | EffectEvent
  | FollowerEvent
  | NotificationEvent
  | PortalEvent
  | RetentionEvent
  | RevealEvent
  | SubjectEvent
  | SubscriptionEvent
  | TokenEvent
  | ValidationEvent

/** Every type of event, with its clear data. */
export type Events = { [E in AnyEvent as E['type']]: E['data'] } & {
  /** `key` is the verifier key line of its checkpoints; `machines` says what each machine may decide. */
  'log.began': { origin: string; keyring: string; key: string; machines?: readonly MachineTable[] }
  /** The machines of newer versions, as in `log.began`. */
  'log.machinesAdded': { machines: readonly MachineTable[] }
  /** The log continues from a backup under another name. */
  'log.resumed': ResumeRecord
}

/** An event as the log holds it. */
export type Recorded<T extends keyof Events = keyof Events> = { [K in T]: RecordedEvent<K, Events[K]> }[T]
