import { type AnyStateMachine, initialTransition, type SnapshotFrom, transition } from 'xstate'
import type { Event, Message } from '../message.ts'
import type { Decision, Machine } from './machine.ts'

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
    decide: (state, message) => definition.decide(state as SnapshotFrom<C>, message as M), // Streams are only sent what their machine knows.
  }
}
