import type { Actor, Basis, EffectState, Instant } from '../vocabulary/message.ts'
import type { Language } from './language.ts'

/** When something was seen, from the first to the last event of something. */
export interface SeenPeriod {
  readonly first: Instant
  readonly last: Instant
}

/** Up to where a report looked at the log. What comes later is not in it. */
export interface ReportedLog {
  /** The log's own name. */
  readonly origin: string
  readonly position: number
  /** When the event at that position was recorded: the log's own time, not the time of the request. */
  readonly at: Instant
}

/** One kind of sealed personal data, with how many pieces of it there are. */
export interface HeldKind extends SeenPeriod {
  /** The type of the event and the name of the part, such as `consent.described/detail`. */
  readonly kind: string
  readonly label: string
  /** Who gave it. */
  readonly source: string
  readonly pieces: number
  /** How many of them are sealed in the store, or destroyed. */
  readonly held: number
  readonly gone: number
  readonly bytes: number
}

/** On what basis data was processed, and how often. Events that name none are counted under null. */
export interface UnderBasis extends SeenPeriod {
  readonly basis: Basis | null
  readonly events: number
}

/** Who acted, and how often. Events that name nobody are counted under null: facts from outside, and time. */
export interface ActorCount extends SeenPeriod {
  readonly actor: Actor | null
  readonly events: number
}

/** A call to a service: what is to leave for it, and what became of that. */
export interface ReportedCall {
  readonly effect: string
  readonly position: number
  readonly service: string
  readonly operation: string
  readonly label: string
  /** The kinds of sealed data that are opened for it, when it is made. */
  readonly opened: readonly string[]
  readonly owedAt: Instant
  readonly state: EffectState
  readonly outcome: string
  readonly endedAt: Instant | null
  readonly attempts: number
}

/** A consent as last known. */
export interface ReportedConsent {
  readonly consent: string
  readonly controller: string | null
  readonly status: string
  readonly knowledge: string
  readonly appearedAt: Instant
  readonly expiresAt: Instant | null
  readonly used: number
  readonly refused: number
}

/** Data that was used under a consent, or whose use was refused. */
export interface ReportedUse {
  readonly position: number
  readonly at: Instant
  /** Null for a consent that nobody had seen. */
  readonly consent: string | null
  readonly isAllowed: boolean
  readonly reason: string
  readonly basis: Basis | null
  readonly actor: Actor | null
}

/** A validation of the person's data. */
export interface ReportedValidation {
  readonly id: string
  readonly requestedAt: Instant
  readonly endedAt: Instant | null
  readonly state: string
  readonly outcome: string
  readonly basis: Basis | null
}

/** A notification addressed to the person. */
export interface ReportedNotification {
  readonly notification: string
  readonly evento: string
  readonly receivedAt: Instant
  readonly copies: number
  /** The handlers of the host that were given it. */
  readonly handlers: readonly string[]
}

/** One event, in words. */
export interface TimelineEntry {
  readonly position: number
  readonly at: Instant
  readonly type: string
  readonly stream: string
  readonly words: string
  readonly actor: Actor | null
  readonly basis: Basis | null
  readonly anomaly: string | null
  /** The kinds of sealed data that came with it. */
  readonly parts: readonly string[]
}

/** An erasure as its receipt has it, without the parts one by one: null where the person was not erased. */
export interface ReportedErasure {
  readonly requester: string
  readonly legalBasis: string
  readonly erasedAt: Instant
  /** Kinds of parts that the law requires to be kept. */
  readonly keeps: readonly string[]
  readonly parts: number
  readonly cancelledCalls: number
  /** The key stayed with what was kept: as long as it does, backups open what they hold. */
  readonly isKeyKept: boolean
  /** When the keys of all others were renewed and the file searched; null until then. */
  readonly completedAt: Instant | null
  /**
   * Until when a backup still opens with a backup of its keyring; null until the erasure is completed, and while the
   * key is kept.
   */
  readonly copiesOpenUntil: Instant | null
  /** Since when no backup opens what there was; null until then, and while the key is kept. */
  readonly epochsDestroyedAt: Instant | null
}

/** What is held of a data subject, since when, on what basis, who acted and who was told (LGPD articles 18 and 19). */
export interface SubjectReport {
  readonly format: 'averba subject report 1'
  readonly language: Language
  readonly log: ReportedLog
  readonly subject: string
  /** Masked as `***.456.789-**`; null when the report was asked for by ref, and nothing was opened. */
  readonly cpf: string | null
  /** Where the person was met first, and when. */
  readonly origin: string
  readonly enrolledAt: Instant
  readonly erasure: ReportedErasure | null
  readonly held: readonly HeldKind[]
  readonly bases: readonly UnderBasis[]
  readonly actors: readonly ActorCount[]
  readonly told: readonly ReportedCall[]
  readonly consents: readonly ReportedConsent[]
  readonly uses: readonly ReportedUse[]
  readonly validations: readonly ReportedValidation[]
  readonly notifications: readonly ReportedNotification[]
  readonly timeline: readonly TimelineEntry[]
}
