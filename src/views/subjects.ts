import type { SubjectEvent } from '../machines/subject/messages.ts'
import { fromInstant, toInstant } from '../vocabulary/instant.ts'
import type { Instant, PartAddress } from '../vocabulary/message.ts'
import { idOfStream } from '../vocabulary/names.ts'
import { defineView, integer, type RecordedOf, type RowOf, text } from '../vocabulary/view.ts'

const columns = {
  subject: text(),
  cpf: text<PartAddress>(),
  origin: text(),
  enrolled_at: text<Instant>(),
  /** The interval of scheduled readings of the consents; null without a schedule. */
  sync_every_ms: integer<number | null>(),
  /** When the latest list of consents was requested, and the controller that it was limited to; null for all. */
  synced_at: text<Instant | null>(),
  synced_controller: text<string | null>(),
  /** When the latest list of the consents of all controllers was requested. */
  all_synced_at: text<Instant | null>(),
  /** The same of the lists of awareness records. */
  awareness_read_at: text<Instant | null>(),
  awareness_controller: text<string | null>(),
  all_awareness_read_at: text<Instant | null>(),
  /** With a schedule: the time of the last reading, or of the enrolment. */
  awaiting_since: text<Instant | null>(),
  /** When the next reading is overdue: three intervals after the last one, or after the schedule began. */
  overdue_at: text<Instant | null>(),
  erased_at: text<Instant | null>(),
}

/** A data subject. */
export type SubjectRow = RowOf<typeof columns>

/** A reading is overdue after so many intervals: services are sometimes down, and readings drift. */
const intervalsMax = 3

/** The view of data subjects. */
export const subjects = defineView<SubjectRow, RecordedOf<SubjectEvent>>({
  name: 'subjects',
  version: 1,
  columns,
  indexes: ['sync_every_ms', 'synced_at', 'awaiting_since', 'overdue_at'],
  key(event) {
    switch (event.type) {
      case 'subject.enrolled':
      case 'subject.scheduled':
      case 'subject.unscheduled':
      case 'subject.synced':
      case 'subject.awarenessListed':
      case 'subject.erased':
        return idOfStream(event.stream)
      default:
        return undefined
    }
  },
  fold(row, event) {
    if (event.type === 'subject.enrolled') {
      return {
        subject: event.data.subject,
        cpf: `${event.id}/cpf`,
        origin: event.data.origin,
        enrolled_at: event.at,
        sync_every_ms: null,
        ...{ synced_at: null, synced_controller: null, all_synced_at: null },
        ...{ awareness_read_at: null, awareness_controller: null, all_awareness_read_at: null },
        awaiting_since: null,
        overdue_at: null,
        erased_at: null,
      }
    }
    if (!row) return undefined
    const after = { ...row, ...changedColumns(event) }
    const { sync_every_ms, synced_at, enrolled_at } = after
    if (sync_every_ms === null) return { ...after, awaiting_since: null, overdue_at: null }
    // The wait for the next reading begins with the schedule or the last reading.
    const begun = event.type === 'subject.scheduled' ? event.at : changedColumns(event).synced_at
    const overdue_at = begun ? toInstant(fromInstant(begun) + intervalsMax * sync_every_ms) : row.overdue_at
    return { ...after, awaiting_since: synced_at ?? enrolled_at, overdue_at }
  },
})

function changedColumns(event: RecordedOf<SubjectEvent>): Partial<SubjectRow> {
  switch (event.type) {
    case 'subject.erased':
      return { sync_every_ms: null, erased_at: event.at }
    case 'subject.scheduled':
      return { sync_every_ms: event.data.everyMs }
    case 'subject.unscheduled':
      return { sync_every_ms: null }
    case 'subject.synced': {
      const { askedAt: synced_at = event.at, controller: synced_controller = null, isPartial } = event.data
      // A partial list may lack what changed.
      if (isPartial) return {}
      return { synced_at, synced_controller, ...(synced_controller === null && { all_synced_at: synced_at }) }
    }
    case 'subject.awarenessListed': {
      const { askedAt: awareness_read_at = event.at, controller: awareness_controller = null } = event.data
      const all = awareness_controller === null && { all_awareness_read_at: awareness_read_at }
      return { awareness_read_at, awareness_controller, ...all }
    }
    default:
      return {}
  }
}
