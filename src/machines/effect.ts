import { type SnapshotFrom, setup } from 'xstate'
import type { Event, Instant, Message } from '../vocabulary/message.ts'
import { typesOf } from './definition/chart-rules.ts'
import { defineMachine, record } from './definition/define-machine.ts'
import type { Recording, UnexpectedFact } from './definition/machine.ts'

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

/** What is clear of an answer that was not understood. Its beginning is in the event's part `answer`. */
interface AnswerSeen {
  readonly httpStatus: number
  readonly form: string
}

interface PolicyChoice {
  /** The service answered the attempt, so it received the call's data, but did nothing. */
  readonly isAnswered?: true
  readonly unread?: AnswerSeen
  /** The policy's name. Its numbers are in the code of the version that decided. */
  readonly policy: string
  /** Time since it was first due, or since an operator last released it. */
  readonly elapsedMs: number
}

interface DeferredCall extends ParkedCall, PolicyChoice {
  /**
   * `known`: until a given time, explained by `reason`: the service named it or is closed until then, or something that
   * the call needs is requested then. `backoff`: full jitter, by the policy.
   */
  readonly wait: 'known' | 'backoff'
  readonly dueAt: Instant
}

/** `attempts` counts from the last release by an operator. */
interface EndedAttempt extends EffectRef {
  readonly attempts: number
}

export type EffectEvent =
  /** Recorded before a request that may change or cost something is sent. Not recorded for readings. */
  | Event<'effect.attempted', EndedAttempt>
  /**
   * The attempt certainly did nothing: when the next one is due, and by which policy. Recorded for a reading only with
   * the first in a row of answers that were not understood.
   */
  | Event<'effect.deferred', DeferredCall>
  /** It is not attempted until an operator releases it: the policy gave up, or an operator parked it. */
  | Event<'effect.parked', ParkedCall & ({ by: 'operator' } | ({ by: 'policy' } & PolicyChoice))>
  /** An operator released it: it is due at once, and its attempts are counted from zero. */
  | Event<'effect.resumed', EffectRef>
  /** It did nothing and never will: a person gave it up, or another command replaces it. */
  | Event<'effect.withdrawn', EffectRef>
  /** The call may have been done, and its answer was not understood. */
  | Event<'effect.misunderstood', EffectRef & { unread: AnswerSeen }>
  | Event<'effect.unexpected', UnexpectedFact>

type EffectMessage =
  | Message<'effect.attempt', EndedAttempt>
  | Message<'effect.park', ParkedCall>
  | Message<'effect.retry' | 'effect.withdraw', EffectRef>
  | Message<'effect.defer', DeferredCall>
  | Message<'effect.misunderstand', EffectRef & { unread: AnswerSeen }>
  | Message<'effect.exhaust', ParkedCall & PolicyChoice>

const chart = setup({ types: typesOf<EffectEvent>() }).createMachine({
  id: 'effect',
  description: 'A call that an event requested, beside its outcome.',
  initial: 'going',
  on: { 'effect.unexpected': {}, 'effect.misunderstood': {} },
  states: {
    going: {
      description: 'It is attempted when it is due.',
      on: {
        'effect.attempted': {},
        'effect.deferred': {},
        'effect.resumed': {},
        'effect.parked': 'parked',
        'effect.withdrawn': 'withdrawn',
      },
    },
    parked: {
      description: 'It waits for an operator: the policy gave up, or an operator parked it.',
      // A process may have claimed the call before it was parked.
      on: { 'effect.attempted': {}, 'effect.resumed': 'going', 'effect.withdrawn': 'withdrawn' },
      meta: { refuses: { 'effect.parked': { refused: 'it is parked' } } },
    },
    withdrawn: {
      description: 'It did nothing and never will: it was given up, or another command replaces it.',
      meta: { refusesAll: { refused: 'it was withdrawn' } },
    },
  },
})

function decide(state: SnapshotFrom<typeof chart>, message: EffectMessage): Recording<EffectEvent> {
  switch (message.type) {
    case 'effect.attempt':
      return record({ type: 'effect.attempted', data: message.data })
    case 'effect.defer':
      return record({ type: 'effect.deferred', data: message.data })
    case 'effect.misunderstand':
      return record({ type: 'effect.misunderstood', data: message.data })
    case 'effect.park':
      return record({ type: 'effect.parked', data: { ...message.data, by: 'operator' } })
    case 'effect.exhaust':
      return record({ type: 'effect.parked', data: { ...message.data, by: 'policy' } })
    case 'effect.retry':
      return record({ type: 'effect.resumed', data: message.data })
    case 'effect.withdraw':
      // Another command may withdraw it at the same time.
      if (state.matches('withdrawn')) return record()
      return record({ type: 'effect.withdrawn', data: message.data, cancels: [message.data.effect] })
  }
}

/** The lifecycle of an effect: attempted, deferred, parked, released, withdrawn. */
export const effectMachine = defineMachine({
  name: 'effect',
  version: 1,
  chart,
  decide,
  commands: {
    'effect.park': [{ event: 'effect.parked', if: { by: 'operator' } }],
    'effect.retry': ['effect.resumed'],
    'effect.withdraw': ['effect.withdrawn'],
  },
  facts: {
    'effect.attempt': ['effect.attempted'],
    'effect.defer': ['effect.deferred'],
    'effect.misunderstand': ['effect.misunderstood'],
    'effect.exhaust': [{ event: 'effect.parked', if: { by: 'policy' } }],
  },
})
