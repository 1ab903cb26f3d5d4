import { type AnyStateMachine, createActor, initialTransition, type SnapshotFrom } from 'xstate'
import type { Event, Message } from '../../vocabulary/message.ts'
import type { Decision, Machine } from './machine.ts'

/**
 * Builds a machine from its chart and its decisions. The chart moves on events, never on commands: replay
 * folds events over it. `decide` reads the state and answers with the events to record.
 *
 * A chart names the types of its context and events as `{} as Context`: xstate's own way, without a value.
 * This file has the only calls into xstate. Actions other than `assign` would be lost here; the charts have none.
 */
export function defineMachine<C extends AnyStateMachine, M extends Message, E extends Event>(definition: {
  name: string
  version: number
  chart: C
  decide: (state: SnapshotFrom<C>, message: M) => Decision<E>
  /** Types of events that change nothing a reading shows. */
  silent?: readonly E['type'][]
  /** Of the other types: whether this event changes nothing a reading shows. */
  isSilent?: (event: E) => boolean
}): Machine {
  const { name, version } = definition
  const chart: AnyStateMachine = definition.chart
  const silent: ReadonlySet<string> = new Set(definition.silent)
  const [initial] = initialTransition(chart) // No chart here takes an input.
  const scope = inertScope(chart)
  return {
    name,
    version,
    chart,
    initial,
    // Streams hold nothing but what their machine wrote.
    isSilent: event => silent.has(event.type) || definition.isSilent?.(event as E) === true,
    skippedInReplay: [...silent].filter(type => !chart.events.includes(type)),
    evolve: (state, event) => chart.transition(state as SnapshotFrom<C>, event as never, scope), // Ours: made above.
    // Streams are only sent what their machine knows.
    decide: (state, message) => definition.decide(state as SnapshotFrom<C>, message as M),
  }
}

/**
 * What a transition may act on: nothing. xstate's own `transition` makes one for every event, which takes longer than
 * the transition itself; one actor that is never started serves for all.
 */
function inertScope(chart: AnyStateMachine): Parameters<AnyStateMachine['transition']>[2] {
  const self = createActor(chart)
  const nothing = () => undefined
  return {
    self,
    system: self.system,
    id: '',
    sessionId: '',
    logger: nothing,
    defer: nothing,
    stopChild: nothing,
    emit: nothing,
    actionExecutor: nothing,
  }
}
