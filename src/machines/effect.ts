import { type SnapshotFrom, setup } from 'xstate'
import type { Event, Instant, Message } from '../vocabulary/message.ts'
import { defineMachine } from './definition/define-machine.ts'
import { type Decision, type Machine, record, refuse } from './definition/machine.ts'

// Events

/** The call that it is about, in the ledger. */
interface EffectRef {
  /** Its id: `<stream>/<version>/<n>`. */
  readonly effect: string
  readonly type: string
}

interface ParkedCall extends EffectRef {
  readonly attempts: number
  /** How the last attempt ended, in words without personal data. */
  readonly reason: string
}

/** By which retry policy it was decided. */
interface PolicyChoice {
  /** The service answered the attempt: it was told what the call carries, and did nothing about it. */
  readonly isAnswered?: true
  /** The policy's name: its numbers stand in the code of the version that decided. */
  readonly policy: string
  /** Since it was first due, or was last released by an operator. */
  readonly elapsedMs: number
}

interface DeferredCall extends ParkedCall, PolicyChoice {
  /**
   * `known`: until a time set elsewhere, as `reason` says: the service named it, or is closed until then, or what the
   * call needs is asked for then. `backoff`: full jitter, by the policy.
   */
  readonly wait: 'known' | 'backoff'
  readonly dueAt: Instant
}

/** `attempts` counts from the last release by an operator. */
interface EndedAttempt extends EffectRef {
  readonly attempts: number
}

/** What is recorded of an owed call beside its outcome. */
export type EffectEvent =
  /** A request that may change something, or costs something, leaves after this. Readings have no such event. */
  | Event<'effect.attempted', EndedAttempt>
  /** The attempt certainly did nothing: when the next one goes, and by what rule. Readings have no such event. */
  | Event<'effect.deferred', DeferredCall>
  /** It is not tried again until an operator releases it: the policy gave it up, or an operator held it. */
  | Event<'effect.parked', ParkedCall & ({ by: 'operator' } | ({ by: 'policy' } & PolicyChoice))>
  /** An operator released it: it is due at once, and its attempts are counted anew. */
  | Event<'effect.resumed', EffectRef>
  /** It has done nothing, and never will: something else is asked for in its place. */
  | Event<'effect.withdrawn', EffectRef>

// Commands, and facts from outside

type EffectMessage =
  | Message<'effect.attempt', EndedAttempt>
  | Message<'effect.park', ParkedCall>
  | Message<'effect.retry' | 'effect.withdraw', EffectRef>
  | Message<'effect.defer', DeferredCall>
  | Message<'effect.exhaust', ParkedCall & PolicyChoice>

// Chart

const chart = setup({ types: { events: {} as EffectEvent } }).createMachine({
  id: 'effect',
  initial: 'going',
  states: {
    going: { on: { 'effect.parked': 'parked', 'effect.withdrawn': 'withdrawn' } },
    parked: { on: { 'effect.resumed': 'going', 'effect.withdrawn': 'withdrawn' } },
    withdrawn: {},
  },
})

// Decide

function decide(state: SnapshotFrom<typeof chart>, message: EffectMessage): Decision<EffectEvent> {
  const isOperators = message.type === 'effect.park' || message.type === 'effect.retry'
  if (state.matches('withdrawn')) return isOperators ? refuse('it was withdrawn') : record()
  switch (message.type) {
    case 'effect.attempt':
      return record({ type: 'effect.attempted', data: message.data })
    case 'effect.defer':
      if (state.matches('parked')) return record()
      return record({ type: 'effect.deferred', data: message.data })
    case 'effect.park':
      if (state.matches('parked')) return refuse('it is parked')
      return record({ type: 'effect.parked', data: { ...message.data, by: 'operator' } })
    case 'effect.exhaust':
      if (state.matches('parked')) return record()
      return record({ type: 'effect.parked', data: { ...message.data, by: 'policy' } })
    case 'effect.retry':
      return record({ type: 'effect.resumed', data: message.data })
    case 'effect.withdraw':
      return record({ type: 'effect.withdrawn', data: message.data, cancels: [message.data.effect] })
  }
}

/** The life of one owed call: its attempts, postponed, given up, held and released by an operator, withdrawn. */
export const effectMachine: Machine = defineMachine({ name: 'effect', version: 1, chart, decide })
