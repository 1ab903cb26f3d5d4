import type { ErrorCode } from '../../vocabulary/errors.ts'
import type { Event, Message } from '../../vocabulary/message.ts'

/**
 * What a machine answers: events to record, or why it refuses. A refusal with a code of its own holds for now only: it
 * is not remembered, and the same command may be accepted later.
 */
export type Decision<E extends Event = Event> =
  | { readonly events: readonly E[] }
  | { readonly refused: string; readonly code?: ErrorCode }

/** Where a machine stands. Opaque outside this folder. */
export interface MachineState {
  readonly value: unknown
  readonly context: unknown
}

/** A machine as the engine drives it: pure, without clock, randomness or I/O. */
export interface Machine {
  readonly name: string
  /** Raised by hand when the same history would be decided differently. */
  readonly version: number
  readonly initial: MachineState
  /** Reports whether an event changes nothing a reading shows: a reading that was under way stays valid. */
  isSilent(event: Message): boolean
  /** Types of events that are silent and change no state: a replay may leave them out. */
  readonly skippedInReplay: readonly string[]
  /** The state after an event. An event that the chart does not expect changes nothing. */
  evolve(state: MachineState, event: Message): MachineState
  /** What a command or a fact from outside leads to. */
  decide(state: MachineState, message: Message): Decision
  /** The chart itself, for tests and audits: an xstate machine, whose types stay in this folder. */
  readonly chart: object
}

/** The answer that records these events. */
export function record<E extends Event>(...events: E[]): Decision<E> {
  return { events }
}

/** The answer that records nothing and says why. */
export function refuse(reason: string, code?: ErrorCode): Decision<never> {
  return { refused: reason, ...(code !== undefined && { code }) }
}
