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
  /** When the latest list of consents was requested, of all controllers or of one. */
  synced_at: text<Instant | null>(),
  /** When the latest lists of consents and of awareness records were requested, by controller: see `lastListOf`. */
  consent_lists: text<ListTimes>(),
  awareness_lists: text<ListTimes>(),
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
  version: 2,
  kinds: ['subject'],
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
    if (event.type === 'subject.enrolled')
      return {
        subject: event.data.subject,
        cpf: `${event.id}/cpf`,
        origin: event.data.origin,
        enrolled_at: event.at,
        sync_every_ms: null,
        ...{ synced_at: null, consent_lists: '{}', awareness_lists: '{}' },
        awaiting_since: null,
        overdue_at: null,
        erased_at: null,
      }
    if (!row) return undefined
    const after = { ...row, ...changedColumns(row, event) }
    const { sync_every_ms, synced_at, enrolled_at } = after
    if (sync_every_ms === null) return { ...after, awaiting_since: null, overdue_at: null }
    // The wait for the next reading begins with the schedule or the last reading.
    const begun = event.type === 'subject.scheduled' ? event.at : isAsScheduled(event) ? synced_at : null
    const overdue_at = begun ? toInstant(fromInstant(begun) + intervalsMax * sync_every_ms) : row.overdue_at
    return { ...after, awaiting_since: synced_at ?? enrolled_at, overdue_at }
  },
})

/** Times as JSON, by the CNPJ of a controller, or by `allControllers`. */
type ListTimes = string
const allControllers = '*'

/** When the latest list was requested that covers the records of a controller, or of all with null. */
export function lastListOf(lists: ListTimes, controller: string | null): Instant | null {
  const times: Readonly<Record<string, Instant>> = JSON.parse(lists)
  const [all = null, own = null] = [times[allControllers], times[controller ?? allControllers]]
  return all !== null && (own === null || all > own) ? all : own
}

function addList(lists: ListTimes, { controller = allControllers }: { controller?: string }, at: Instant): ListTimes {
  const times: Readonly<Record<string, Instant>> = JSON.parse(lists)
  return JSON.stringify({ ...times, [controller]: at })
}

/** A list that shows what the schedule reads: its own, which requests the next one, or that of all controllers. */
function isAsScheduled(event: RecordedOf<SubjectEvent>): boolean {
  if (event.type !== 'subject.synced' || event.data.isPartial) return false
  return event.effects !== undefined || event.data.controller === undefined
}

function changedColumns(row: SubjectRow, event: RecordedOf<SubjectEvent>): Partial<SubjectRow> {
  switch (event.type) {
    case 'subject.erased':
      return { sync_every_ms: null, erased_at: event.at }
    case 'subject.scheduled':
      return { sync_every_ms: event.data.everyMs }
    case 'subject.unscheduled':
      return { sync_every_ms: null }
    case 'subject.synced': {
      const { askedAt = event.at, isPartial } = event.data
      // A partial list may lack what changed.
      if (isPartial) return {}
      return { synced_at: askedAt, consent_lists: addList(row.consent_lists, event.data, askedAt) }
    }
    case 'subject.awarenessListed': {
      const { askedAt = event.at } = event.data
      return { awareness_lists: addList(row.awareness_lists, event.data, askedAt) }
    }
    default:
      return {}
  }
}
