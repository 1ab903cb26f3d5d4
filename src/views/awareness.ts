import type { SubjectEvent } from '../machines/subject.ts'
import type { Instant, PartAddress } from '../message.ts'
import { defineView, type RecordedOf } from '../view.ts'

/** An awareness record of data processing. */
export interface AwarenessRow {
  awareness: string
  subject: string
  created_at: Instant | null
  controller: string | null
  appeared_at: Instant
  /** Where the service's id and texts stand, sealed. */
  record: PartAddress
  /** Where the last detail stands, sealed; null before the first. */
  detail: PartAddress | null
  described_at: Instant | null
}

/** The view of awareness records. */
export const awareness = defineView<AwarenessRow, RecordedOf<SubjectEvent>>({
  name: 'awareness',
  version: 1,
  columns: {
    awareness: 'text',
    subject: 'text',
    created_at: 'text',
    controller: 'text',
    appeared_at: 'text',
    record: 'text',
    detail: 'text',
    described_at: 'text',
  },
  key(event) {
    const isRecord = event.type === 'subject.awarenessAppeared' || event.type === 'subject.awarenessDescribed'
    return isRecord ? event.data.record : undefined
  },
  fold(row, event) {
    if (event.type === 'subject.awarenessAppeared') {
      const { record, subject, createdAt, controller } = event.data
      return {
        awareness: record,
        subject,
        created_at: createdAt,
        controller,
        appeared_at: event.at,
        record: `${event.id}/record`,
        detail: null,
        described_at: null,
      }
    }
    return row && { ...row, detail: `${event.id}/detail`, described_at: event.at }
  },
})
