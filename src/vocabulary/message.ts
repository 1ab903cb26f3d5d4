/**
 * The vocabulary of averba: types only, with one meaning each.
 *
 *   Command --> machine --> Event[] --> log --> Effect --> adapter --> Outcome
 *                  ^                     |                                |
 *                  +------- replay ------+<----- Event <------------------+
 *
 * A command is what someone wants. An event is what happened. An effect is a call owed to the outside.
 * An outcome is how that call ended. A part is personal data, sealed, beside its event.
 */

/** An instant as ISO 8601 text in UTC with milliseconds, such as `2026-11-20T12:00:00.000Z`. */
export type Instant = string

/** What JSON can carry. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Anything said: a type, and clear data that holds no personal data. */
export interface Message<T extends string = string, D = unknown> {
  readonly type: T
  readonly data: D
}

/** Personal data on its way into the log, with the owner under whose key it is sealed. */
export interface Part {
  readonly owner: string
  readonly value: Json
}

/** Personal data by name, beside a message. */
export type Parts = Readonly<Record<string, Part>>

/**
 * A message that carries personal data beside it. The parts go with the first event that it makes.
 *
 * `isStale` says that it reads what stood before the newest event of its stream: a reading that was under way while
 * something happened tells of the past, and changes nothing.
 */
export type MessageWithParts<M extends Message = Message> = M & {
  readonly parts?: Parts
  readonly isStale?: boolean
}

/** Where a part stands: `<stream>/<version>/<name>`, or `./<name>` for a part of the event that says so. */
export type PartAddress = string

/** A call owed to the outside, recorded with the event that owes it. */
export interface Effect<T extends string = string, D = unknown> extends Message<T, D> {
  /** The parts that are opened just before the call, by the name that the adapter knows them by. */
  readonly opens?: Readonly<Record<string, PartAddress>>
  /** Not before this instant; at once when absent. */
  readonly dueAt?: Instant
}

/** How an effect ended, as an event records it. */
export type Settlement = 'settled' | 'declined' | 'unknown'

/** Something that happened, in the past participle. Never edited. */
export interface Event<T extends string = string, D = unknown> extends Message<T, D> {
  readonly effects?: readonly Effect[]
  /** Why a fact from outside was not expected here. Recorded all the same. */
  readonly anomaly?: string
  /** Ends the `unknown` effect of this type on the stream that became so last, once it is known what became of it. */
  readonly resolves?: { readonly effect: string; readonly as: 'settled' | 'declined' }
  /** Ends these effects for good: those of a person who was erased, or of a schedule that has ended. */
  readonly cancels?: readonly string[]
}

/** A part as its event's header names it: the sealed bytes stand beside the header, and can go. */
export interface PartMark {
  readonly name: string
  readonly owner: string
  /** SHA-256 of the sealed bytes, in hexadecimal. */
  readonly hash: string
  readonly bytes: number
  /** Where the owner's key was made with this event: what the key is known by, in hexadecimal. */
  readonly key?: string
  /** Where it is sealed under a key of its record: what that key is known by, in hexadecimal. */
  readonly recordKey?: string
}

/** An event as the log holds it. `id` is `<stream>/<version>`; positions and versions begin at 1. */
export interface RecordedEvent<T extends string = string, D = unknown> extends Event<T, D> {
  readonly id: string
  readonly position: number
  readonly stream: string
  readonly version: number
  /** When averba recorded it; never goes back along the log. */
  readonly at: Instant
  readonly machine: { readonly name: string; readonly version: number }
  /** The type of the command or fact that made the event. */
  readonly causedBy: string
  /** What replay needs of the command or fact; absent where its data is that of the event. */
  readonly input?: DecisionInput
  readonly commandId?: string
  readonly correlationId?: string
  readonly actor?: Actor
  readonly basis?: Basis
  /** The effect that this event ends, and how. */
  readonly settles?: { readonly effect: string; readonly as: Settlement }
  /** The effect that this event puts off, parks, releases, or begins an attempt at. */
  readonly moves?: { readonly effect: string; readonly to: 'deferred' | 'parked' | 'owed' | 'started' }
  readonly parts?: readonly PartMark[]
}

/** The clear data of the command or fact that led to an event, where it differs from the event's own. */
export interface DecisionInput {
  readonly data?: unknown
  readonly isStale?: true
  /** Which event of one decision it is, from the second on: that data stands with the first. */
  readonly nth?: number
}

/** Who acts. `ref` is opaque; one that looks like a CPF is refused with `PERSONAL_ID`. */
export interface Actor {
  readonly kind: 'subject' | 'person' | 'system'
  readonly ref: string
}

/** Why personal data is processed (LGPD articles 7, 8 and 37). Recorded with the event. */
export interface Basis {
  readonly purpose: string
  readonly legalBasis: string
}

/**
 * Where an owed effect stands in the ledger. `parked`: certainly not done, and waiting for an operator. `cancelled`:
 * its data subject was erased, or its schedule ended, before it had.
 */
export type EffectState = (typeof effectStates)[number]

/** Every state of an effect. */
export const effectStates = [
  'owed',
  'started',
  'deferred',
  'parked',
  'unknown',
  'settled',
  'declined',
  'cancelled',
] as const

/** An effect in the ledger. Its id is `<stream>/<version>/<n>`. */
export interface PendingEffect<D = unknown> extends Effect<string, D> {
  readonly id: string
  readonly stream: string
  readonly position: number
  readonly state: EffectState
  readonly dueAt: Instant
  readonly attempts: number
  /** Why it stands where it stands, in words without personal data. */
  readonly reason: string
  /** The position of the event that ended it. */
  readonly settledAt?: number
  /** The event that owes it cannot be read: what it was to do is not known, and it is not done. */
  readonly isDamaged?: true
}

/**
 * How one attempt at an effect ended. Across the adapter's seam nothing is thrown: the outside world is
 * a value. `deferred` means certainly not done, and says when to try again where the service said so;
 * `unknown` means perhaps done.
 */
export type AttemptOutcome =
  | { readonly status: Settlement; readonly fact: MessageWithParts; readonly reason?: string }
  | {
      readonly status: 'deferred'
      readonly afterMs?: number
      readonly reason: string
      /** Waiting does not help: after how many attempts it is given up, and why, in our own words. */
      readonly ends?: { readonly attemptsMax: number; readonly why: string }
      /** The service answered: it was told what the call carries, and did nothing about it. */
      readonly isAnswered?: true
    }

/** What a service said when it did not do what was asked, scrubbed of personal data. */
export interface Problem {
  readonly status: number
  readonly type?: string
  readonly title?: string
  readonly detail?: string
  readonly code?: string
}
