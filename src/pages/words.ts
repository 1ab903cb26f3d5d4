import type { ConsentEvent } from '../machines/consent/events.ts'
import type { StandingReason } from '../machines/consent/standing.ts'
import type { EffectEvent } from '../machines/effect.ts'
import type { NotificationEvent } from '../machines/notification.ts'
import type { RetentionEvent } from '../machines/retention.ts'
import type { RevealEvent } from '../machines/reveal.ts'
import type { SubjectEvent } from '../machines/subject/messages.ts'
import type { ValidationEvent } from '../machines/validation.ts'
import type { EffectState } from '../vocabulary/message.ts'

type ReportedEvent =
  | ConsentEvent
  | EffectEvent
  | NotificationEvent
  | RetentionEvent
  | RevealEvent
  | SubjectEvent
  | ValidationEvent

/** How a call ended without an answer: the type of the event, or what was found out after the answer was lost. */
export type CallEnding =
  | 'subject.erased'
  | 'subject.scheduled'
  | 'subject.unscheduled'
  | 'subject.syncRequested'
  | 'subject.awarenessRequested'
  | 'subject.loginRequested'
  | 'effect.withdrawn'
  | 'validation.withheld'
  | 'validation.withheld, sent before'
  | 'consent.changeWithheld'
  | 'consent.changeWithheld, sent before'
  | 'consent.changeWithheld, done'
  | 'consent.changeWithheld, sent before, done'
  | 'validation.resolved'
  | 'found done'
  | 'found not done'

/** The texts of every event that a report may show, made from its clear data. */
export type EventWords = { readonly [E in ReportedEvent as E['type']]: (data: E['data']) => string }

/** Who gave a piece of data. */
export type DataSource = 'host' | 'consentService' | 'validationService' | 'portal'

/** The texts of reports in one language. */
export interface LanguageWords {
  readonly events: EventWords
  /** The text of an event whose type has no text here. */
  readonly otherEvent: (type: string) => string
  /** Names of sealed data, by the name of the part, or by `<event type>/<part name>`. */
  readonly kinds: Readonly<Record<string, string>>
  readonly sources: Readonly<Record<DataSource, string>>
  readonly services: Readonly<Record<string, string>>
  readonly operations: Readonly<Record<string, string>>
  readonly effectStates: Readonly<Record<EffectState, string>>
  readonly callEndings: Readonly<Record<CallEnding, string>>
  readonly reasons: Readonly<Record<StandingReason, string>>
  readonly validationStates: Readonly<Record<string, string>>
  readonly origins: Readonly<Record<string, string>>
  /** The categories of people that data is about, by the kind of its owner. */
  readonly owners: Readonly<Record<string, string>>
  readonly retention: string
  /** The heading before the retention rules of an organisation. */
  readonly retentionRules: string
  /** How long a kind of sealed data is kept: a number of days, or null for until it is settled. */
  readonly retentionRule: (kind: string, days: number | null) => string
  readonly security: string
  /** What a proof of events in a log does not prove. */
  readonly unproven: readonly string[]
}
