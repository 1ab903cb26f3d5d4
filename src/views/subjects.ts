import type { SubjectEvent } from '../machines/subject.ts'
import type { Instant, PartAddress } from '../message.ts'
import { defineView, type RecordedOf } from '../view.ts'

/** A data subject: who it is stands sealed at `cpf`. */
export interface SubjectRow {
  subject: string
  cpf: PartAddress
  origin: string
  enrolled_at: Instant
  /** How often its consents are to be read; null is never by itself. */
  sync_every_ms: number | null
  /** When the consents were last read, and the awareness records. */
  synced_at: Instant | null
  awareness_read_at: Instant | null
  erased_at: Instant | null
}

/** The view of data subjects. */
export const subjects = defineView<SubjectRow, RecordedOf<SubjectEvent>>({
  name: 'subjects',
  version: 3,
  columns: {
    subject: 'text',
    cpf: 'text',
    origin: 'text',
    enrolled_at: 'text',
    sync_every_ms: 'integer',
    synced_at: 'text',
    awareness_read_at: 'text',
    erased_at: 'text',
  },
  key(event) {
    switch (event.type) {
      case 'subject.enrolled':
      case 'subject.scheduled':
      case 'subject.unscheduled':
      case 'subject.synced':
      case 'subject.awarenessListed':
      case 'subject.erased':
        return event.stream.slice('subject-'.length)
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
        synced_at: null,
        awareness_read_at: null,
        erased_at: null,
      }
    }
    if (!row) return undefined
    if (event.type === 'subject.erased') return { ...row, sync_every_ms: null, erased_at: event.at }
    if (event.type === 'subject.scheduled') return { ...row, sync_every_ms: event.data.everyMs }
    if (event.type === 'subject.unscheduled') return { ...row, sync_every_ms: null }
    return event.type === 'subject.synced'
      ? { ...row, synced_at: event.at }
      : { ...row, awareness_read_at: event.at }
  },
})
