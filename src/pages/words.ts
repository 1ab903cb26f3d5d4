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

/** How a call ends without an answer: an event by its type, or what was found out of one whose answer was lost. */
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

/** Words for every event that a report may show, by its clear data. */
export type EventWords = { readonly [E in ReportedEvent as E['type']]: (data: E['data']) => string }

/** Who gave a piece of data. */
export type DataSource = 'host' | 'consentService' | 'validationService' | 'portal'

/** What a language has to say. */
export interface LanguageWords {
  readonly events: EventWords
  /** An event of a type that has no words yet. */
  readonly otherEvent: (type: string) => string
  /** Sealed data by the name of its part, or by the type of its event and that name. */
  readonly kinds: Readonly<Record<string, string>>
  readonly sources: Readonly<Record<DataSource, string>>
  readonly services: Readonly<Record<string, string>>
  readonly operations: Readonly<Record<string, string>>
  readonly effectStates: Readonly<Record<EffectState, string>>
  readonly callEndings: Readonly<Record<CallEnding, string>>
  readonly reasons: Readonly<Record<StandingReason, string>>
  readonly validationStates: Readonly<Record<string, string>>
  readonly origins: Readonly<Record<string, string>>
  /** Whom data is about, by the kind of its owner. */
  readonly owners: Readonly<Record<string, string>>
  readonly retention: string
  /** What the rules of an organisation are called, before them. */
  readonly retentionRules: string
  /** How long a kind of sealed data is kept, in days or until what it belongs to is settled. */
  readonly retentionRule: (kind: string, days: number | null) => string
  readonly security: string
  /** What a proof of events in a log does not prove. */
  readonly unproven: readonly string[]
}
