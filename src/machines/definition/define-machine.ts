import { type AnyStateMachine, createActor, initialTransition, type SnapshotFrom } from 'xstate'
import type { Event, Message } from '../../vocabulary/message.ts'
import type { Decision, Machine } from './machine.ts'

/**
 * Builds a machine from its chart and its decisions. The chart changes state on events only, so a replay can fold the
 * events. `decide` reads the state and returns the events to record.
 *
 * A chart declares the types of its context and events as `{} as Context`, as xstate recommends. Only `assign` actions
 * have an effect; the charts have no others.
 */
export function defineMachine<C extends AnyStateMachine, M extends Message, E extends Event>(definition: {
  name: string
  version: number
  chart: C
  decide: (state: SnapshotFrom<C>, message: M) => Decision<E>
  /** Event types that change nothing a reading shows. */
  silent?: readonly E['type'][]
  /** Checks an event of another type: whether it changes nothing a reading shows. */
  isSilent?: (event: E) => boolean
}): Machine {
  const { name, version } = definition
  const chart: AnyStateMachine = definition.chart
  const silent: ReadonlySet<string> = new Set(definition.silent)
  const [initial] = initialTransition(chart) // Our charts take no input.
  const scope = inertScope(chart)
  return {
    name,
    version,
    chart,
    initial,
    // A stream holds only the events of its machine.
    isSilent: event => silent.has(event.type) || definition.isSilent?.(event as E) === true,
    skippedInReplay: [...silent].filter(type => !chart.events.includes(type)),
    evolve: (state, event) => chart.transition(state as SnapshotFrom<C>, event as never, scope), // From `initial`.
    // A stream receives only the messages of its machine.
    decide: (state, message) => definition.decide(state as SnapshotFrom<C>, message as M),
  }
}

/**
 * A scope in which transitions have no side effects. xstate creates one for every transition, which takes longer than
 * the transition itself; we share one, with an actor that is never started.
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
