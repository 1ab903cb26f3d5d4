import { type SnapshotFrom, setup } from 'xstate'
import type { Event, Message } from '../message.ts'
import { defineMachine } from './define-machine.ts'
import { type Decision, type Machine, record, refuse } from './machine.ts'

// Events

export type ValidationEvent =
  /** Always the first: its part `claims` holds what was claimed. `id` is the host's id. */
  | Event<'validation.requested', { validation: string; id: string; subject: string }>
  /** Its part `result` holds what matched and what did not. */
  | Event<'validation.answered', { evaluated: number }>
  | Event<'validation.declined', { httpStatus: number; code: string | null }>
  /** Perhaps done, perhaps paid: a person decides. */
  | Event<'validation.inconclusive', unknown>

// Commands, and facts from outside

export type ValidationMessage =
  | Message<'validation.request', { validation: string; id: string; subject: string }>
  | Message<'validationService.answered', { evaluated: number }>
  | Message<'validationService.declined', { httpStatus: number; code: string | null }>
  | Message<'validationService.lost', unknown>

// Effects

const validatePerson = (validation: string, subject: string) => ({
  type: 'validationService.validatePerson',
  data: { validation },
  opens: { cpf: `subject-${subject}/1/cpf`, claims: './claims' },
})

// Chart

const chart = setup({ types: { events: {} as ValidationEvent } }).createMachine({
  id: 'validation',
  initial: 'absent',
  states: {
    absent: { on: { 'validation.requested': 'requested' } },
    requested: {
      on: {
        'validation.answered': 'answered',
        'validation.declined': 'declined',
        'validation.inconclusive': 'inconclusive',
      },
    },
    answered: {},
    declined: {},
    // What a late answer says is true, also after a person was asked.
    inconclusive: { on: { 'validation.answered': 'answered', 'validation.declined': 'declined' } },
  },
})

// Decide

function decide(state: SnapshotFrom<typeof chart>, message: ValidationMessage): Decision<ValidationEvent> {
  switch (message.type) {
    case 'validation.request': {
      if (!state.matches('absent')) return refuse('it was asked for before')
      const { validation, subject } = message.data
      const effects = [validatePerson(validation, subject)]
      return record({ type: 'validation.requested', data: message.data, effects })
    }
    case 'validationService.answered':
      return record({ type: 'validation.answered', data: message.data, ...late(state) })
    case 'validationService.declined':
      return record({ type: 'validation.declined', data: message.data, ...late(state) })
    case 'validationService.lost':
      return state.matches('requested') ? record({ type: 'validation.inconclusive', data: {} }) : record()
  }
}

function late(state: SnapshotFrom<typeof chart>): Pick<Event, 'anomaly'> {
  return state.matches('requested') ? {} : { anomaly: 'it had ended before' }
}

/** One paid validation of a person (document 2, section 4.2): sent at most once. */
export const validationMachine: Machine = defineMachine({ name: 'validation', version: 1, chart, decide })
