import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  fromTransition,
  initialTransition,
  type SnapshotFrom,
  transition,
} from 'xstate'
import type { ErrorCode } from '../../vocabulary/errors.ts'
import type { Event, Message } from '../../vocabulary/message.ts'
import { takingRule } from './chart-rules.ts'
import type { Decision, Machine, MachineMessages, MachineState, MadeEvent, Recording, Refusal } from './machine.ts'

/** The members of `MachineMessages` may name the machine's own messages and events only. */
interface Definition<M extends Message, E extends Event> {
  readonly name: string
  readonly version: number
  readonly commands?: Readonly<Partial<Record<M['type'], readonly MadeEvent<E['type']>[]>>>
  readonly facts?: Readonly<Partial<Record<M['type'], readonly MadeEvent<E['type']>[]>>>
  readonly effects?: Readonly<Partial<Record<E['type'], readonly string[]>>>
  /** Event types that change nothing a reading shows. */
  readonly silent?: readonly E['type'][]
  /** Checks an event of another type: whether it changes nothing a reading shows. */
  readonly isSilent?: (event: E) => boolean
  readonly isReadWhole?: true
}

/**
 * Builds a machine from its chart and its decisions. The chart says what may happen: it changes state on events only,
 * so a replay can fold the events, and it takes each event of a decision or the decision does not stand. A command
 * whose event is not taken is refused with the words beside the state (`meta`); a fact is recorded as
 * `<name>.unexpected`, which the chart takes in every state.
 *
 * Only `assign` actions have an effect; the charts have no others.
 */
export function defineMachine<C extends AnyStateMachine, M extends Message, E extends Event>(
  definition: Definition<M, E> & {
    readonly chart: C
    /** The chart refuses, not this. */
    readonly decide: (state: SnapshotFrom<C>, message: M) => Recording<E>
  },
): Machine<E> {
  const chart: AnyStateMachine = definition.chart
  const [initial] = initialTransition(chart) // Our charts take no input.
  const scope = inertScope()
  const refusalOf = takingRule(chart)
  const evolve = (state: MachineState, event: Message) => chart.transition(state as AnyMachineSnapshot, event, scope)
  const described = describe(definition)
  const { name, messages } = described
  return {
    ...described,
    description: chart.root.description ?? '',
    chart,
    initial,
    // `events` leaves out those for which no transition has a target or an action.
    skippedInReplay: (definition.silent ?? []).filter(type => !chart.events.includes(type)),
    evolve,
    decide(state, message) {
      const isFact = Object.hasOwn(messages.facts, message.type)
      if (!isFact && !Object.hasOwn(messages.commands, message.type))
        throw new TypeError(`The machine ${name} has no message ${message.type}`)
      // Checked above.
      const decision = definition.decide(state as SnapshotFrom<C>, message as M)
      let at = state
      for (const [i, event] of decision.events.entries()) {
        const refusal = refusalOf(at as AnyMachineSnapshot, event)
        if (refusal) return isFact ? unexpected(name, message, event, refusal, decision) : refusal
        if (i + 1 < decision.events.length) at = evolve(at, event)
      }
      return decision
    },
  }
}

/** Builds a machine of one state: what it decides depends only on what its events add up to. */
export function defineDecider<S, M extends Message, E extends Event>(
  definition: Definition<M, E> & {
    readonly decide: (state: S, message: M) => Decision<E>
    readonly description: string
    readonly initial: S
    readonly evolve: (state: S, event: E) => S
  },
): Machine<E> {
  return {
    ...describe(definition),
    description: definition.description,
    chart: undefined,
    initial: { value: '', context: definition.initial },
    skippedInReplay: [],
    evolve: ({ context }, event) => ({ value: '', context: definition.evolve(context as S, event as E) }), // As above.
    decide: ({ context }, message) => definition.decide(context as S, message as M), // As above.
  }
}

function describe<M extends Message, E extends Event>(definition: Definition<M, E>) {
  const { name, version, commands = {}, facts = {}, effects = {}, isSilent, isReadWhole = false } = definition
  const silent: ReadonlySet<string> = new Set([...(definition.silent ?? []), `${name}.unexpected`])
  return {
    name,
    version,
    messages: { commands, facts, effects } as MachineMessages, // Widened.
    isReadWhole,
    // A stream holds only the events of its machine.
    isSilent: (event: Message) => silent.has(event.type) || isSilent?.(event as E) === true,
  }
}

/** A fact that comes in a state which does not expect it changes nothing, but what it settled stays settled. */
function unexpected(
  name: string,
  fact: Message,
  { type }: Event,
  { refused }: Refusal,
  { events }: Recording,
): Recording {
  const data = { fact: fact.type, event: type }
  const resolves = events.find(event => event.resolves)?.resolves
  return { events: [{ type: `${name}.unexpected`, data, anomaly: refused, ...(resolves && { resolves }) }] }
}

/**
 * Returns a scope in which transitions have no side effects, made by xstate's own `transition`. That makes another one
 * for every event: the consent chart folds 34,000 events per second with it, and 79,000 with one scope (Node 24, one
 * core). Both lead to the same states: test/machines/paths.test.ts.
 */
function inertScope(): AnyActorScope {
  const scopes: AnyActorScope[] = []
  const probe = fromTransition((_state, _event, scope) => void scopes.push(scope), undefined)
  transition(probe, initialTransition(probe)[0], { type: '' })
  const [scope] = scopes
  if (!scope) throw new TypeError('Cannot fold events: xstate gave no scope')
  return { ...scope, actionExecutor: () => undefined }
}

export function record<E extends Event>(...events: E[]): Recording<E> {
  return { events }
}

/** Decides to record nothing, with a reason. */
export function refuse(reason: string, code?: ErrorCode): Refusal {
  return { refused: reason, ...(code !== undefined && { code }) }
}
