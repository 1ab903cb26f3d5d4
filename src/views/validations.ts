import type { ValidationEvent } from '../machines/validation.ts'
import type { Instant, PartAddress } from '../message.ts'
import { defineView, type RecordedOf } from '../view.ts'

/** A validation of a person's data. */
export interface ValidationRow {
  validation: string
  /** The host's id. */
  id: string
  subject: string
  state: 'requested' | 'answered' | 'declined' | 'inconclusive'
  requested_at: Instant
  ended_at: Instant | null
  /** Where the claims stand, and the result, sealed. */
  claims: PartAddress
  result: PartAddress | null
}

/** The view of validations. */
export const validations = defineView<ValidationRow, RecordedOf<ValidationEvent>>({
  name: 'validations',
  version: 1,
  columns: {
    validation: 'text',
    id: 'text',
    subject: 'text',
    state: 'text',
    requested_at: 'text',
    ended_at: 'text',
    claims: 'text',
    result: 'text',
  },
  key: event => (event.type.startsWith('validation.') ? event.stream : undefined),
  fold(row, event) {
    if (event.type === 'validation.requested') {
      const { id, subject } = event.data
      return {
        validation: event.stream,
        id,
        subject,
        state: 'requested',
        requested_at: event.at,
        ended_at: null,
        claims: `${event.id}/claims`,
        result: null,
      }
    }
    if (!row) return undefined
    const ended = { ...row, ended_at: event.at }
    switch (event.type) {
      case 'validation.answered':
        return { ...ended, state: 'answered', result: `${event.id}/result` }
      case 'validation.declined':
        return { ...ended, state: 'declined' }
      case 'validation.inconclusive':
        return { ...ended, state: 'inconclusive' }
    }
  },
})
