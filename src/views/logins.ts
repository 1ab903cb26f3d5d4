import type { SubjectEvent } from '../machines/subject/messages.ts'
import type { Instant } from '../vocabulary/message.ts'
import { defineView, integer, type RecordedOf, type RowOf, text } from '../vocabulary/view.ts'
import { isOlderAnswer } from './recorded-answer.ts'

const columns = {
  subject: text(),
  is_authenticated: integer<0 | 1>(),
  expires_at: text<Instant | null>(),
  read_at: text<Instant>(),
}

/** The latest login state of a data subject. */
export type LoginRow = RowOf<typeof columns>

/** The view of login states. */
export const logins = defineView<LoginRow, RecordedOf<SubjectEvent>>({
  name: 'logins',
  version: 1,
  kinds: ['subject'],
  columns,
  key: event => (event.type === 'subject.loginRead' ? event.data.subject : undefined),
  fold(row, event) {
    if (event.type !== 'subject.loginRead') return row
    const { subject, isAuthenticated, expiresAt, askedAt = event.at } = event.data
    if (row && isOlderAnswer(row.read_at, event)) return row
    return { subject, is_authenticated: isAuthenticated ? 1 : 0, expires_at: expiresAt, read_at: askedAt }
  },
})
