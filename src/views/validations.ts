import type { ValidationEvent } from '../machines/validation.ts'
import type { Instant, PartAddress } from '../vocabulary/message.ts'
import { defineView, integer, type RecordedOf, type RowOf, text } from '../vocabulary/view.ts'
import { partAddressIn } from './recorded-answer.ts'

export const validationStates = ['requested', 'answered', 'declined', 'inconclusive', 'resolved', 'erased'] as const

const columns = {
  validation: text(),
  id: text(),
  subject: text(),
  /** `erased`: its data subject was erased before it ended. */
  state: text<(typeof validationStates)[number]>(),
  requested_at: text<Instant>(),
  ended_at: text<Instant | null>(),
  claims: text<PartAddress>(),
  result: text<PartAddress | null>(),
  /** The host's ids of the validation whose answer it reuses, of the one it repeats, and of the one that repeats it. */
  reused_from: text<string | null>(),
  again_of: text<string | null>(),
  again_by: text<string | null>(),
  /** What a person found out about a resolved one: 1 when it was charged, and the part with their note. */
  charged: integer<number | null>(),
  resolved_at: text<Instant | null>(),
  note: text<PartAddress | null>(),
  unreadable: text<PartAddress | null>(),
}

/** A validation of a person's data. */
export type ValidationRow = RowOf<typeof columns>

/** The view of validations. */
export const validations = defineView<ValidationRow, RecordedOf<ValidationEvent>>({
  name: 'validations',
  version: 1,
  kinds: ['validation'],
  columns,
  isByStream: true,
  key: event => event.stream,
  fold(row, event) {
    if (event.type === 'validation.requested')
      return { ...newRow(event), claims: `${event.id}/claims`, again_of: event.data.again ?? null }
    if (event.type === 'validation.reused') {
      const { claims, result, from } = event.data
      return { ...newRow(event), state: 'answered', ended_at: event.at, claims, result, reused_from: from }
    }
    if (!row) return undefined
    const ended = { ...row, ended_at: event.at }
    // The service's late answer replaces what a person had found out; the log keeps both.
    const answered = { ...ended, charged: null, resolved_at: null, note: null }
    switch (event.type) {
      case 'validation.answered':
        return { ...answered, state: 'answered', result: `${event.id}/result` }
      case 'validation.declined':
      case 'validation.withheld':
        return { ...answered, state: 'declined' }
      case 'validation.inconclusive':
        return { ...ended, state: 'inconclusive', unreadable: partAddressIn(event, 'unreadable') }
      case 'validation.erased':
        return { ...ended, state: 'erased' }
      case 'validation.resolved': {
        const note = partAddressIn(event, 'note')
        return { ...row, state: 'resolved', charged: event.data.charged ? 1 : 0, resolved_at: event.at, note }
      }
      case 'validation.repeated':
        return { ...row, again_by: event.data.by }
      default:
        return row
    }
  },
})

function newRow(event: RecordedOf<ValidationEvent> & { data: { id: string; subject: string } }): ValidationRow {
  const { id, subject } = event.data
  return {
    ...{ validation: event.stream, id, subject, state: 'requested', requested_at: event.at, ended_at: null },
    ...{ claims: '', result: null, reused_from: null, again_of: null, again_by: null },
    ...{ charged: null, resolved_at: null, note: null, unreadable: null },
  }
}
