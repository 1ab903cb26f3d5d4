import type { SubjectEvent } from '../machines/subject/messages.ts'
import type { Instant, PartAddress } from '../vocabulary/message.ts'
import { defineView, type RecordedOf, type RowOf, text } from '../vocabulary/view.ts'
import { isOlderAnswer } from './recorded-answer.ts'

const columns = {
  awareness: text(),
  subject: text(),
  created_at: text<Instant | null>(),
  controller: text<string | null>(),
  appeared_at: text<Instant>(),
  /** When a list first lacked it; null while it is listed. */
  vanished_at: text<Instant | null>(),
  record: text<PartAddress>(),
  /** The part with the latest detail; null before the first. */
  detail: text<PartAddress | null>(),
  /** When that detail was requested. */
  described_at: text<Instant | null>(),
}

/** An awareness record of data processing. */
export type AwarenessRow = RowOf<typeof columns>

/** The view of awareness records. */
export const awareness = defineView<AwarenessRow, RecordedOf<SubjectEvent>>({
  name: 'awareness',
  version: 1,
  kinds: ['subject'],
  columns,
  indexes: ['subject'],
  key(event) {
    switch (event.type) {
      case 'subject.awarenessAppeared':
      case 'subject.awarenessAmended':
      case 'subject.awarenessDescribed':
      case 'subject.awarenessVanished':
        return event.data.record
      default:
        return undefined
    }
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
        vanished_at: null,
        record: `${event.id}/record`,
        detail: row?.detail ?? null,
        described_at: row?.described_at ?? null,
      }
    }
    if (event.type === 'subject.awarenessAmended') {
      const { createdAt, controller } = event.data
      return row && { ...row, created_at: createdAt, controller, record: `${event.id}/record` }
    }
    if (event.type === 'subject.awarenessVanished') return row && { ...row, vanished_at: event.at }
    if (event.type !== 'subject.awarenessDescribed') return row
    if (!row || isOlderAnswer(row.described_at, event)) return row
    return { ...row, detail: `${event.id}/detail`, described_at: event.data.askedAt ?? event.at }
  },
})
