import type { SubjectEvent } from '../machines/subject/messages.ts'
import type { Instant } from '../vocabulary/message.ts'
import { defineView, type RecordedOf } from '../vocabulary/view.ts'
import { isOlderAnswer } from './older-answer.ts'

/** The latest login state of a data subject. */
export interface LoginRow {
  subject: string
  is_authenticated: 0 | 1
  expires_at: Instant | null
  read_at: Instant
}

/** The view of login states. */
export const logins = defineView<LoginRow, RecordedOf<SubjectEvent>>({
  name: 'logins',
  version: 1,
  columns: { subject: 'text', is_authenticated: 'integer', expires_at: 'text', read_at: 'text' },
  key: event => (event.type === 'subject.loginRead' ? event.data.subject : undefined),
  fold(row, event) {
    if (event.type !== 'subject.loginRead') return row
    const { subject, isAuthenticated, expiresAt, askedAt = event.at } = event.data
    if (row && isOlderAnswer(row.read_at, event)) return row
    return { subject, is_authenticated: isAuthenticated ? 1 : 0, expires_at: expiresAt, read_at: askedAt }
  },
})
