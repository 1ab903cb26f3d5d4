import { assign, type SnapshotFrom, setup } from 'xstate'
import type { Event, Instant, Message, PartAddress } from '../vocabulary/message.ts'
import { cpfAddress } from '../vocabulary/names.ts'
import type { StandingReason } from './consent/standing.ts'
import { defineMachine } from './definition/define-machine.ts'
import { refuseErased } from './definition/erased.ts'
import { type Decision, type Machine, record, refuse } from './definition/machine.ts'

// Events

/** What a validation is: `validation` is our id, `id` the host's. */
interface RequestedValidation {
  readonly validation: string
  readonly id: string
  readonly subject: string
  /** The host's id of the validation that this one pays for again. */
  readonly again?: string
  /** A digest of where it was asked for: address, service and version. Nobody else performs it. */
  readonly environment?: string
  /** Our id of the consent that it rests on: no request leaves unless that stands. */
  readonly consent?: string
}

/** Why the named consent did not stand, at which instant, and up to which of its events the log was known. */
interface WithheldValidation {
  readonly reason: Exclude<StandingReason, 'active'>
  readonly at: Instant
  readonly position: number
  /** An earlier request had been answered: the service was told of the person, and did not process it. */
  readonly sentBefore?: true
}

/** A validation that takes the answer of an earlier one; `from` is the host's id of that one. */
interface ReusedValidation {
  readonly validation: string
  readonly id: string
  readonly subject: string
  /** As in the request of the earlier one. */
  readonly environment?: string
  readonly from: string
  readonly claims: PartAddress
  readonly result: PartAddress
}

interface AnsweredValidation {
  /** How many fields it says something about. */
  readonly evaluated: number
  /** A digest of where it came from: address, service and version. */
  readonly environment: string
  /** Members in another form than the contract's: they count as absent. */
  readonly unreadable?: readonly string[]
}

/** What is recorded of a validation. */
export type ValidationEvent =
  /** The first: its part `claims` holds what was claimed, and `because` why it is paid again. */
  | Event<'validation.requested', RequestedValidation>
  /** The first and only: the service was not asked. */
  | Event<'validation.reused', ReusedValidation>
  /** Its part `result` holds what matched and what did not. */
  | Event<'validation.answered', AnsweredValidation>
  | Event<'validation.declined', { httpStatus: number; code: string | null }>
  /** It did not leave, or not once more: the consent that it names no longer stands. */
  | Event<'validation.withheld', WithheldValidation>
  /** Perhaps done, perhaps paid: a person decides. Its part `unreadable` holds what the service answered, if it did. */
  | Event<'validation.inconclusive', unknown>
  /**
   * A person found out whether it was paid, and the part `note` holds their words; or the attempt reports late that it
   * did nothing.
   */
  | Event<'validation.resolved', { charged: boolean; by?: 'attempt' }>
  /** It is paid for again on purpose, by the validation with the host's id `by`. */
  | Event<'validation.repeated', { by: string }>
  /** Its data subject was erased before it was answered or declined. */
  | Event<'validation.erased', unknown>

// Commands, and facts from outside

type ValidationMessage =
  | Message<'validation.request', RequestedValidation>
  | Message<'validation.reuse', ReusedValidation>
  | Message<'validation.resolve', { charged: boolean }>
  | Message<'validation.repeat', { by: string }>
  | Message<'validation.erase', unknown>
  | Message<'validation.withhold', WithheldValidation>
  | Message<'validationService.answered', AnsweredValidation>
  | Message<'validationService.declined', { httpStatus: number; code: string | null }>
  | Message<'validationService.lost', unknown>
  | Message<'validationService.undone', unknown>

// Effects

const effectType = 'validationService.validatePerson'

const validatePerson = ({ validation, subject, environment, consent }: RequestedValidation) => ({
  type: effectType,
  data: {
    validation,
    ...(environment !== undefined && { environment }),
    ...(consent !== undefined && { consent }),
  },
  opens: { cpf: cpfAddress(subject), claims: './claims' },
})

// Chart

const lateAnswers = {
  'validation.answered': 'answered',
  'validation.declined': 'declined',
  'validation.withheld': 'declined',
} as const

const chart = setup({
  types: { context: {} as { readonly isRepeated: boolean }, events: {} as ValidationEvent },
  actions: { markRepeated: assign({ isRepeated: true }) },
}).createMachine({
  id: 'validation',
  context: { isRepeated: false },
  initial: 'absent',
  states: {
    absent: { on: { 'validation.requested': 'requested', 'validation.reused': 'answered' } },
    requested: {
      on: {
        ...lateAnswers,
        'validation.inconclusive': 'inconclusive',
        'validation.erased': 'erased',
      },
    },
    answered: {},
    declined: {},
    // What a late answer says is true, even after a person was asked.
    inconclusive: {
      on: {
        ...lateAnswers,
        'validation.resolved': 'resolved',
        'validation.repeated': { actions: 'markRepeated' },
        'validation.erased': 'erased',
      },
    },
    resolved: {
      on: {
        ...lateAnswers,
        'validation.repeated': { actions: 'markRepeated' },
        'validation.erased': 'erased',
      },
    },
    erased: { on: lateAnswers },
  },
})

// Decide

function decide(state: SnapshotFrom<typeof chart>, message: ValidationMessage): Decision<ValidationEvent> {
  switch (message.type) {
    case 'validation.request': {
      if (!state.matches('absent')) return refuse('it was asked for before')
      const effects = [validatePerson(message.data)]
      return record({ type: 'validation.requested', data: message.data, effects })
    }
    case 'validation.reuse':
      if (!state.matches('absent')) return refuse('it was asked for before')
      return record({ type: 'validation.reused', data: message.data })
    case 'validation.erase': {
      const isOver = state.matches('absent') || state.matches('answered') || state.matches('declined')
      return isOver || state.matches('erased') ? record() : record({ type: 'validation.erased', data: {} })
    }
    case 'validation.resolve':
      if (state.matches('erased')) return refuseErased()
      if (!state.matches('inconclusive')) return refuse(`it is ${state.value}, and not inconclusive`)
      // Charged or not, it is certain now that no result will come.
      return record({
        type: 'validation.resolved',
        data: message.data,
        resolves: { effect: effectType, as: 'declined' },
      })
    case 'validation.repeat':
      if (state.matches('erased')) return refuseErased()
      if (!state.matches('inconclusive') && !state.matches('resolved')) {
        return refuse(`it is ${state.value}, and only what was inconclusive is paid again`)
      }
      if (state.context.isRepeated) return refuse('it was paid again before')
      return record({ type: 'validation.repeated', data: message.data })
    case 'validationService.answered': {
      const anomaly = message.data.unreadable && { anomaly: 'members of it could not be read' }
      return record({ type: 'validation.answered', data: message.data, ...anomaly, ...anomalyIfEnded(state) })
    }
    case 'validationService.declined':
      return record({ type: 'validation.declined', data: message.data, ...anomalyIfEnded(state) })
    case 'validation.withhold':
      return record({ type: 'validation.withheld', data: message.data, ...anomalyIfEnded(state) })
    case 'validationService.lost':
      return state.matches('requested') ? record({ type: 'validation.inconclusive', data: {} }) : record()
    case 'validationService.undone':
      if (!state.matches('inconclusive')) return record()
      return record({
        type: 'validation.resolved',
        data: { charged: false, by: 'attempt' },
        resolves: { effect: effectType, as: 'declined' },
      })
  }
}

function anomalyIfEnded(state: SnapshotFrom<typeof chart>): Pick<Event, 'anomaly'> {
  return state.matches('requested') ? {} : { anomaly: 'it had ended before' }
}

/** One paid validation of a person (document 2, section 4.2): sent at most once. */
export const validationMachine: Machine = defineMachine({ name: 'validation', version: 1, chart, decide })
