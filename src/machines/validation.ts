import { type SnapshotFrom, setup } from 'xstate'
import type { Event, Instant, Message, PartAddress } from '../vocabulary/message.ts'
import { cpfAddress } from '../vocabulary/names.ts'
import type { StandingReason } from './consent/standing.ts'
import { typesOf } from './definition/chart-rules.ts'
import { defineMachine, record } from './definition/define-machine.ts'
import type { Recording, UnexpectedFact } from './definition/machine.ts'

/** A requested validation: `validation` is our id, `id` the host's. */
interface RequestedValidation {
  readonly validation: string
  readonly id: string
  readonly subject: string
  /** The host's id of the validation that this one repeats, and pays for again. */
  readonly again?: string
  /** A digest of the address, service and version. Only processes with the same environment perform it. */
  readonly environment?: string
  /** Our id of the consent that it requires: no request is sent unless the consent is effective. */
  readonly consent?: string
}

/** A person gave it up; or why the consent was not effective, when, and up to which position this was decided. */
type WithheldValidation = (GivenUp | WithoutConsent) & {
  /** An earlier request was answered, so the service received the person's data, but did not process it. */
  readonly sentBefore?: true
}

interface GivenUp {
  readonly by: 'operator'
}

interface WithoutConsent {
  readonly by?: never
  readonly reason: Exclude<StandingReason, 'active'>
  readonly at: Instant
  readonly position: number
}

/** A validation that reuses the answer of an earlier one; `from` is that one's host id. */
interface ReusedValidation extends Pick<RequestedValidation, 'validation' | 'id' | 'subject' | 'environment'> {
  readonly from: string
  readonly claims: PartAddress
  readonly result: PartAddress
}

interface AnsweredValidation {
  readonly evaluated: number
  /** A digest of the address, service and version. */
  readonly environment: string
  /** Members that differ from the contract's form; they count as absent. */
  readonly unreadable?: readonly string[]
}

export type ValidationEvent =
  /** The first event: its part `claims` holds the claims, and `reason` why it is paid again. */
  | Event<'validation.requested', RequestedValidation>
  /** The only event of a reused answer: no request was sent. */
  | Event<'validation.reused', ReusedValidation>
  /** Its part `result` holds which fields matched. */
  | Event<'validation.answered', AnsweredValidation>
  | Event<'validation.declined', { httpStatus: number; code: string | null }>
  /** It was not sent, or not sent again: its consent is no longer effective, or a person gave it up. */
  | Event<'validation.withheld', WithheldValidation>
  /** Perhaps done and charged: a person decides. Its part `unreadable` holds the service's answer, if there was one. */
  | Event<'validation.inconclusive', unknown>
  /** A person found out whether it was charged (part `note`), or the attempt reported late that it did nothing. */
  | Event<'validation.resolved', { charged: boolean; by?: 'attempt' }>
  /** It was repeated on purpose, by the validation with the host's id `by`. */
  | Event<'validation.repeated', { by: string }>
  | Event<'validation.erased', unknown>
  | Event<'validation.unexpected', UnexpectedFact>

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

const effectType = 'validationService.validatePerson'

const validatePerson = ({ validation, subject, environment, consent }: RequestedValidation) => ({
  type: effectType,
  data: { validation, ...(environment !== undefined && { environment }), ...(consent !== undefined && { consent }) },
  opens: { cpf: cpfAddress(subject), claims: './claims' },
})

const lateAnswers = {
  'validation.answered': 'answered',
  'validation.declined': 'declined',
  'validation.withheld': 'declined',
} as const

const requestedBefore = { refused: 'it was requested before' }

const chart = setup({
  types: typesOf<ValidationEvent>(),
  guards: { isByPerson: ({ event }) => event.type === 'validation.resolved' && event.data.by === undefined },
}).createMachine({
  id: 'validation',
  description: 'One paid validation of a person, sent at most once.',
  type: 'parallel',
  on: { 'validation.unexpected': {} },
  states: {
    outcome: {
      description: 'What became of the call.',
      initial: 'absent',
      meta: {
        refuses: {
          'validation.requested': requestedBefore,
          'validation.reused': requestedBefore,
          'validation.repeated': { refused: 'only an inconclusive validation can be repeated' },
          'validation.resolved': { refused: 'only an inconclusive validation can be resolved' },
        },
      },
      states: {
        absent: {
          description: 'It was not requested.',
          on: { 'validation.requested': 'requested', 'validation.reused': 'answered' },
        },
        requested: {
          description: 'Its call was not answered.',
          on: { ...lateAnswers, 'validation.inconclusive': 'inconclusive', 'validation.erased': 'erased' },
        },
        answered: { description: 'The service answered it, or the answer of an earlier one was used.' },
        declined: { description: 'The service refused it, or it was not sent.' },
        // A late answer counts, even after a person resolved it.
        inconclusive: {
          description: 'The answer was lost: it was perhaps done and charged, and a person decides.',
          on: {
            ...lateAnswers,
            'validation.resolved': 'resolved',
            'validation.repeated': {},
            'validation.erased': 'erased',
          },
        },
        resolved: {
          description: 'It is known whether it was charged, but not what the answer was.',
          on: {
            ...lateAnswers,
            // A person may correct it, and what a late attempt reported.
            'validation.resolved': { guard: 'isByPerson' },
            'validation.repeated': {},
            'validation.erased': 'erased',
          },
          meta: { refuses: { 'validation.resolved': { refused: 'it was resolved before' } } },
        },
        erased: {
          description: 'Its data subject was erased before an answer came.',
          on: lateAnswers,
          meta: { refusesAll: { refused: 'its data subject was erased', code: 'SUBJECT_ERASED' } },
        },
      },
    },
    repetition: {
      description: 'Whether it was repeated on purpose.',
      initial: 'none',
      states: {
        none: { description: 'No other validation repeats it.', on: { 'validation.repeated': 'made' } },
        made: {
          description: 'Another validation repeats it.',
          meta: { refuses: { 'validation.repeated': { refused: 'it was repeated before' } } },
        },
      },
    },
  },
})

function decide(state: SnapshotFrom<typeof chart>, message: ValidationMessage): Recording<ValidationEvent> {
  switch (message.type) {
    case 'validation.request': {
      const effects = [validatePerson(message.data)]
      return record({ type: 'validation.requested', data: message.data, effects })
    }
    case 'validation.reuse':
      return record({ type: 'validation.reused', data: message.data })
    case 'validation.erase': {
      const erased = { type: 'validation.erased', data: {} } as const
      return state.can(erased) ? record(erased) : record()
    }
    case 'validation.resolve':
      // Charged or not, no result will come.
      return record({
        type: 'validation.resolved',
        data: message.data,
        resolves: { effect: effectType, as: 'declined' },
      })
    case 'validation.repeat':
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
      return record({ type: 'validation.inconclusive', data: {}, ...resolvesIfEnded(state) })
    case 'validationService.undone':
      return record({
        type: 'validation.resolved',
        data: { charged: false, by: 'attempt' },
        resolves: { effect: effectType, as: 'declined' },
      })
  }
}

/** A late attempt was answered: the one that took it over, and was lost, is not in doubt either. */
function resolvesIfEnded({ value: { outcome } }: SnapshotFrom<typeof chart>): Pick<ValidationEvent, 'resolves'> {
  if (outcome !== 'answered' && outcome !== 'declined') return {}
  return { resolves: { effect: effectType, as: outcome === 'answered' ? 'settled' : 'declined' } }
}

function anomalyIfEnded(state: SnapshotFrom<typeof chart>): Pick<Event, 'anomaly'> {
  return state.value.outcome === 'requested' ? {} : { anomaly: 'it had ended before' }
}

/** One paid validation of a person (document 2, section 4.2), sent at most once. */
export const validationMachine = defineMachine({
  name: 'validation',
  version: 1,
  chart,
  decide,
  commands: {
    'validation.request': ['validation.requested'],
    'validation.reuse': ['validation.reused'],
    'validation.resolve': ['validation.resolved'],
    'validation.repeat': ['validation.repeated'],
    'validation.erase': ['validation.erased'],
  },
  facts: {
    'validation.withhold': ['validation.withheld'],
    'validationService.answered': ['validation.answered'],
    'validationService.declined': ['validation.declined'],
    'validationService.lost': ['validation.inconclusive'],
    'validationService.undone': ['validation.resolved'],
  },
  effects: { 'validation.requested': [effectType] },
})
