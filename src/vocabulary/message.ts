/**
 * The vocabulary of averba: types only, each with one meaning.
 *
 *   Command --> machine --> Event[] --> log --> Effect --> adapter --> Outcome
 *                  ^                     |                                |
 *                  +------- replay ------+<----- Event <------------------+
 *
 * A command is what someone wants. An event is what happened. An effect is a call to make to the outside world. An
 * outcome is how that call ended. A part is encrypted personal data, stored beside its event.
 */

import type { UnreadAnswer } from './foreign-answer.ts'

/** An instant as ISO 8601 text in UTC with milliseconds, such as `2026-11-20T12:00:00.000Z`. */
export type Instant = string

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A command, an event or an effect: a type, and data that holds no personal data. */
export interface Message<T extends string = string, D = unknown> {
  readonly type: T
  readonly data: D
}

/** Personal data to be stored, with the owner under whose key it is encrypted. */
export interface Part {
  readonly owner: string
  readonly value: Json
}

/** The parts of a message by name. */
export type Parts = Readonly<Record<string, Part>>

/**
 * A message with its parts, which are stored with the first event it leads to.
 *
 * `isStale`: the message reports a reading that began before the stream's latest event, so it changes nothing.
 */
export type MessageWithParts<M extends Message = Message> = M & {
  readonly parts?: Parts
  readonly isStale?: boolean
}

/** A message about what happened outside, such as how a call ended. It is always recorded. */
export type Fact<T extends string = string, D = unknown> = MessageWithParts<Message<T, D>>

/** The address of a part: `<stream>/<version>/<name>`, or `./<name>` for a part of the same event. */
export type PartAddress = string

/** A call to make to the outside world, recorded with the event that requests it. */
export interface Effect<T extends string = string, D = unknown> extends Message<T, D> {
  /** The parts to decrypt just before the call, by the name the adapter uses. */
  readonly opens?: Readonly<Record<string, PartAddress>>
  /** The earliest instant; immediately when absent. */
  readonly dueAt?: Instant
  /** Why it waits until then, in words without personal data. */
  readonly reason?: string
}

/** How an effect ended, as recorded by an event. */
export type Settlement = 'settled' | 'declined' | 'unknown'

/** Something that happened. Its type is in the past participle, and it is never edited. */
export interface Event<T extends string = string, D = unknown> extends Message<T, D> {
  readonly effects?: readonly Effect[]
  /** Why a fact from outside was unexpected. It is recorded all the same. */
  readonly anomaly?: string
  /** Ends the latest `unknown` effect of this type on the stream, once its outcome is known. */
  readonly resolves?: { readonly effect: string; readonly as: 'settled' | 'declined' }
  /** Cancels these effects: their data subject was erased, or their schedule ended. */
  readonly cancels?: readonly string[]
}

/** A part as listed in its event's header. The encrypted bytes are stored beside the header and can be deleted. */
export interface PartMark {
  readonly name: string
  readonly owner: string
  readonly hash: string
  readonly bytes: number
  /** The commitment of the owner's key, in hexadecimal, when the key was created with this event. */
  readonly key?: string
  /** The commitment of the record's own key, in hexadecimal, when the part is encrypted under one. */
  readonly recordKey?: string
}

/** An event as stored in the log. `id` is `<stream>/<version>`; positions and versions begin at 1. */
export interface RecordedEvent<T extends string = string, D = unknown> extends Event<T, D> {
  readonly id: string
  readonly position: number
  readonly stream: string
  readonly version: number
  /** When averba recorded it; never decreases along the log. */
  readonly at: Instant
  readonly machine: { readonly name: string; readonly version: number }
  /** The type of the command or fact that caused the event. */
  readonly causedBy: string
  /** What a replay needs of the command or fact; absent when its data equals the event's. */
  readonly input?: DecisionInput
  readonly commandId?: string
  readonly correlationId?: string
  readonly actor?: Actor
  readonly basis?: Basis
  readonly settles?: { readonly effect: string; readonly as: Settlement }
  /** The effect that this event defers, parks, releases or attempts. */
  readonly moves?: { readonly effect: string; readonly to: 'deferred' | 'parked' | 'pending' | 'started' }
  readonly parts?: readonly PartMark[]
}

/** The data of the command or fact that led to an event, where it differs from the event's. */
export interface DecisionInput {
  readonly data?: unknown
  readonly isStale?: true
  /** The number of the event within its decision, from the second on; only the first has the data. */
  readonly nth?: number
}

/** Who acts. `ref` is the host's own reference; one that contains a CPF is refused with `PERSONAL_ID`. */
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
 * The state of an effect in the ledger. `parked`: certainly not done, and waiting for an operator. `cancelled`: its
 * data subject was erased or its schedule ended first.
 */
export type EffectState = (typeof effectStates)[number]

/** Every state of an effect. */
export const effectStates = [
  'pending',
  'started',
  'deferred',
  'parked',
  'unknown',
  'settled',
  'declined',
  'cancelled',
] as const

/** The states of a call that has not ended. */
export const openStates: readonly EffectState[] = ['pending', 'started', 'deferred', 'parked', 'unknown']

/** The states of a call that was not sent, or certainly did nothing. */
export const unsentStates: readonly EffectState[] = ['pending', 'deferred', 'parked']

/** An effect in the ledger. Its id is `<stream>/<version>/<n>`. */
export interface PendingEffect<T extends string = string, D = unknown> extends Effect<T, D> {
  readonly id: string
  readonly stream: string
  readonly position: number
  readonly state: EffectState
  /** When it is tried next. Absent when it has ended, is `unknown` or is parked. */
  readonly dueAt?: Instant
  readonly attempts: number
  /** Why it is in this state, without personal data. */
  readonly reason: string
  readonly settledAt?: number
  /** The event that requests it cannot be read, so it is not performed. */
  readonly isDamaged?: true
}

/** Why a call has not ended, until when that is known, and what a person can do about it. */
export interface Waiting {
  /**
   * - `process`: it is due, and a process that runs performs it.
   * - `otherProcess`: only a process that is configured for it can continue it.
   * - `time`: it is due later, or its service asked for a pause until then.
   * - `answer`: an attempt is under way.
   * - `release`: it is parked.
   * - `reading`: it may have been done, and a reading will show it.
   * - `person`: it may have been done, and only a person can find out.
   * - `repair`: the event that requests it is damaged.
   */
  readonly for: 'process' | 'otherProcess' | 'time' | 'answer' | 'release' | 'reading' | 'person' | 'repair'
  readonly until: Instant | null
  /** `resolve` is `validations.resolve`; the others are those of `effects`. */
  readonly actions: readonly ('retry' | 'park' | 'withdraw' | 'resolve')[]
}

/**
 * How one attempt at an effect ended. Adapters return this and do not throw for what the outside world does. `deferred`
 * means certainly not done, with the time of the next attempt if the service gave one. `unknown` means perhaps done.
 */
export type AttemptOutcome<F extends Fact = Fact> =
  | { readonly status: Settlement; readonly fact: F; readonly reason?: string; readonly unread?: UnreadAnswer }
  | DeferredOutcome

/** An attempt that certainly had no effect, and when it may be repeated. */
export interface DeferredOutcome {
  readonly status: 'deferred'
  readonly afterMs?: number
  /** The service asks for this wait: no due call to it begins meanwhile. */
  readonly isServiceBusy?: true
  readonly reason: string
  /** Waiting does not help: the number of attempts after which to give up, and why. */
  readonly ends?: { readonly attemptsMax: number; readonly why: string }
  /** The service answered, so it received the call's data, but did nothing. */
  readonly isAnswered?: true
  readonly unread?: UnreadAnswer
}

/** Why a call that a person gave up ended: nothing was done, and nothing will be. */
export const withdrawnProblem: Problem = {
  status: 0,
  code: 'WITHDRAWN',
  title: 'It was given up, or replaced by another command, before it was done',
}

/** Why a service did not do what it was asked to, without personal data. */
export interface Problem {
  readonly status: number
  readonly type?: string
  readonly title?: string
  readonly detail?: string
  readonly code?: string
}
