import type { ErrorCode } from '../../vocabulary/errors.ts'
import type { Event, Message } from '../../vocabulary/message.ts'

/**
 * A machine's decision: the events to record, or why it refuses. A refusal with its own code is not recorded under the
 * command id, so the same command may be accepted later.
 */
export type Decision<E extends Event = Event> =
  | { readonly events: readonly E[] }
  | { readonly refused: string; readonly code?: ErrorCode }

/** The state of a machine. Opaque outside this folder. */
export interface MachineState {
  readonly value: unknown
  readonly context: unknown
}

/** A state machine that decides commands and facts. Pure: no clock, no randomness, no I/O. */
export interface Machine {
  readonly name: string
  /** Raised by hand when the same history would be decided differently. */
  readonly version: number
  readonly initial: MachineState
  /** Checks that an event changes nothing a reading shows: a reading that began before it stays valid. */
  isSilent(event: Message): boolean
  /** Types of silent events that change no state: a replay can skip them. */
  readonly skippedInReplay: readonly string[]
  /** Returns the state after an event. Events that the chart does not expect change nothing. */
  evolve(state: MachineState, event: Message): MachineState
  decide(state: MachineState, message: Message): Decision
  /** The xstate chart, for tests and audits; its types stay in this folder. */
  readonly chart: object
}

/** Decides to record these events. */
export function record<E extends Event>(...events: E[]): Decision<E> {
  return { events }
}

/** Decides to record nothing, with a reason. */
export function refuse(reason: string, code?: ErrorCode): Decision<never> {
  return { refused: reason, ...(code !== undefined && { code }) }
}
