import type { ErrorCode } from '../../vocabulary/errors.ts'
import type { Event, Message } from '../../vocabulary/message.ts'

export interface Recording<E extends Event = Event> {
  readonly events: readonly E[]
}

/**
 * A machine's decision: the events to record, or why it refuses. A refusal with its own code is not recorded under the
 * command id, so the same command may be accepted later.
 */
export type Decision<E extends Event = Event> = Recording<E> | Refusal

export interface Refusal {
  readonly refused: string
  readonly code?: ErrorCode
}

/** The state of a machine. Opaque outside this folder. */
export interface MachineState {
  readonly value: unknown
  readonly context: unknown
}

/** An event that a message may lead to; with `if`, only with these members in its data. */
export type MadeEvent<T extends string = string> = T | { readonly event: T; readonly if: EventCondition }

/** Members of an event's data and their values. */
export type EventCondition = Readonly<Record<string, string | boolean | null>>

/** What no chart can say: which events a command or fact may lead to, and which effects an event may request. */
export interface MachineMessages {
  /** Commands are refused where the chart does not take their events. */
  readonly commands: Readonly<Record<string, readonly MadeEvent[]>>
  /** Facts are recorded as `<machine>.unexpected` where the chart does not take their events. */
  readonly facts: Readonly<Record<string, readonly MadeEvent[]>>
  readonly effects: Readonly<Record<string, readonly string[]>>
}

/** The data of `<machine>.unexpected`: the fact, and the event that the state does not take. */
export interface UnexpectedFact {
  readonly fact: string
  readonly event: string
}

/** A state machine that decides commands and facts. Pure: no clock, no randomness, no I/O. */
export interface Machine<E extends Event = Event> {
  readonly name: string
  /** What it decides, in a sentence. */
  readonly description: string
  /** Raised by hand when the same history would be decided differently. */
  readonly version: number
  readonly initial: MachineState
  readonly messages: MachineMessages
  /** Checks that an event changes nothing a reading shows: a reading that began before it stays valid. */
  isSilent(event: Message): boolean
  /** Types of silent events that change no state: a replay can skip them. */
  readonly skippedInReplay: readonly string[]
  /**
   * Whether a replay reads what it skips too. Whoever can write the file may give a row a skipped type, and it would be
   * missed: in a consent it may be the revocation.
   */
  readonly isReadWhole: boolean
  /** Returns the state after an event that the state takes, as `decide` makes sure of. */
  evolve(state: MachineState, event: Message): MachineState
  /** Decides a message. Each event of the decision is one that the state takes; a fact is never refused. */
  decide(state: MachineState, message: Message): Decision
  /** The xstate chart; `undefined` for a machine of one state. */
  readonly chart: object | undefined
  /** Never there: it only carries the type of its events. */
  readonly event?: E
}
