import { type AnyStateMachine, initialTransition, type SnapshotFrom, transition } from 'xstate'
import type { Event, Message } from '../message.ts'

/** What a machine answers: events to record, or why it refuses. */
export type Decision<E extends Event = Event> =
  | { readonly events: readonly E[] }
  | { readonly refused: string }

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
  /** The state after an event. An event that the chart does not expect here moves nothing. */
  evolve(state: MachineState, event: Message): MachineState
  /** What a command or a fact from outside leads to. */
  decide(state: MachineState, message: Message): Decision
  /** The states that the chart names, for tests and audits. */
  readonly chart: AnyStateMachine
}

/**
 * Builds a machine from its chart and its decisions. The chart moves on events, never on commands: replay
 * folds events over it. `decide` reads the state and answers with the events to record.
 *
 * A chart names the types of its context and events as `{} as Context`: xstate's own way, without a value.
 * These are the only two calls into xstate. Actions other than `assign` would come back as data; the
 * charts here have none.
 */
export function defineMachine<C extends AnyStateMachine, M extends Message, E extends Event>(definition: {
  name: string
  version: number
  chart: C
  decide: (state: SnapshotFrom<C>, message: M) => Decision<E>
}): Machine {
  const { name, version, chart } = definition
  const [initial] = initialTransition(chart as AnyStateMachine) // No chart here takes an input.
  return {
    name,
    version,
    chart,
    initial,
    evolve: (state, event) => transition(chart, state as SnapshotFrom<C>, event as never)[0], // Ours: made above.
    decide: (state, message) => definition.decide(state as SnapshotFrom<C>, message as M), // Unknown types: refused.
  }
}

/** The answer that records these events. */
export function record<E extends Event>(...events: E[]): Decision<E> {
  return { events }
}

/** The answer that records nothing and says why. */
export function refuse(reason: string): Decision<never> {
  return { refused: reason }
}
