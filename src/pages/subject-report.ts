import type { Actor, Basis, EffectState, Instant, Json } from '../vocabulary/message.ts'
import type { Language } from './labels.ts'

/** The times of the first and the last event of something. */
export interface SeenPeriod {
  readonly first: Instant
  readonly last: Instant
}

/** The log of a report, and the last position that the report covers. */
export interface ReportedLog {
  /** The log's own name. */
  readonly origin: string
  readonly position: number
  /** When the event at that position was recorded. It is not the time of the request. */
  readonly at: Instant
}

/** One kind of sealed personal data, with the number of its pieces. */
export interface HeldKind extends SeenPeriod {
  /** The type of the event and the name of the part, such as `consent.described/detail`. */
  readonly kind: string
  readonly label: string
  /** Who gave it. */
  readonly source: string
  readonly pieces: number
  /** The number of pieces in the store. */
  readonly held: number
  /** The number of destroyed pieces. */
  readonly gone: number
  readonly bytes: number
}

/** The basis on which data was processed, and how often. Null counts the events without a basis. */
export interface UnderBasis extends SeenPeriod {
  readonly basis: Basis | null
  readonly events: number
}

/** Who acted, and how often. Null counts the events without an actor: facts from outside, and timers. */
export interface ActorCount extends SeenPeriod {
  readonly actor: Actor | null
  readonly events: number
}

/** A call to a service: the data that it opens, and its outcome. */
export interface ReportedCall {
  readonly effect: string
  readonly position: number
  readonly service: string
  readonly operation: string
  readonly label: string
  /** The kinds of sealed data that are opened for the call. */
  readonly opened: readonly string[]
  readonly owedAt: Instant
  readonly state: EffectState
  readonly outcome: string
  readonly endedAt: Instant | null
  readonly attempts: number
}

/** A piece of sealed personal data, opened. */
export interface OpenedPiece {
  /** As in `HeldKind`. */
  readonly kind: string
  readonly label: string
  readonly position: number
  readonly at: Instant
  readonly value: Json
}

/** The last known state of a consent. */
export interface ReportedConsent {
  readonly consent: string
  /** The CNPJ of the controller. */
  readonly controller: string | null
  /** Its name, and what the data is used for, in the service's words; null unless a full record is kept. */
  readonly controllerName: string | null
  readonly purpose: string | null
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
  /** Null for an unknown consent. */
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
  /** The handlers of the host that received it. */
  readonly handlers: readonly string[]
}

/** One event, described in a sentence. */
export interface TimelineEntry {
  readonly position: number
  readonly at: Instant
  readonly type: string
  readonly stream: string
  readonly words: string
  readonly actor: Actor | null
  readonly basis: Basis | null
  readonly anomaly: string | null
  /** The kinds of sealed data in the event. */
  readonly parts: readonly string[]
}

/** An erasure: the members of its receipt, without the single parts. */
export interface ReportedErasure {
  readonly requester: string
  readonly legalBasis: string
  readonly erasedAt: Instant
  /** Kinds of parts that the law requires to be kept. */
  readonly keeps: readonly string[]
  readonly parts: number
  readonly cancelledCalls: number
  /** Whether the key was kept, together with the kept parts. As long as it is, backups can still be opened. */
  readonly isKeyKept: boolean
  /** When the keys of all other people were renewed and the file was searched; null until then. */
  readonly completedAt: Instant | null
  /** Until when a backup opens with one of its keyring; null until completed, and while the key is kept. */
  readonly copiesOpenUntil: Instant | null
  /** Since when no backup can open the erased data; null until then, and while the key is kept. */
  readonly epochsDestroyedAt: Instant | null
}

/** What is held about a person, since when, on what basis, who acted and who received it (LGPD articles 18 and 19). */
export interface SubjectReport {
  readonly format: 'averba subject report 1'
  readonly language: Language
  readonly log: ReportedLog
  /** The organisation that answers to the person, by the option. */
  readonly organisation: { readonly name: string; readonly contact: string } | null
  readonly subject: string
  /** Masked as `***.456.789-**`; null when the report was requested by ref, which opens no CPF. */
  readonly cpf: string | null
  /** How the person was enrolled. */
  readonly origin: string
  readonly enrolledAt: Instant
  /** Null when the person was not erased. */
  readonly erasure: ReportedErasure | null
  readonly held: readonly HeldKind[]
  /** The data itself, where the report was asked to reveal it; null otherwise. */
  readonly data: readonly OpenedPiece[] | null
  readonly bases: readonly UnderBasis[]
  readonly actors: readonly ActorCount[]
  readonly told: readonly ReportedCall[]
  readonly consents: readonly ReportedConsent[]
  readonly uses: readonly ReportedUse[]
  readonly validations: readonly ReportedValidation[]
  readonly notifications: readonly ReportedNotification[]
  readonly timeline: readonly TimelineEntry[]
}
