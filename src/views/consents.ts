import type { ConsentEvent } from '../machines/consent-events.ts'
import type { ConsentStatus } from '../machines/consent-status.ts'
import type { Instant, PartAddress } from '../message.ts'
import { defineView, type RecordedOf } from '../view.ts'

/** A consent request as last known. */
export interface ConsentRow {
  consent: string
  subject: string
  status: ConsentStatus
  /** `changed` while the service shows another status and its history has not been read. */
  knowledge: 'known' | 'changed' | 'changing' | 'uncertain' | 'vanished'
  created_at: Instant | null
  expires_at: Instant | null
  /** The CNPJ of the controller; null when the service gave none, or something else. */
  controller: string | null
  /** When its last event was recorded. */
  changed_at: Instant
  /** Where the service's id and texts stand, sealed. */
  record: PartAddress
  /** Where the last detail stands, sealed; null before the first. */
  detail: PartAddress | null
  described_at: Instant | null
}

/** The view of consents. */
export const consents = defineView<ConsentRow, RecordedOf<ConsentEvent>>({
  name: 'consents',
  version: 2,
  columns: {
    consent: 'text',
    subject: 'text',
    status: 'text',
    knowledge: 'text',
    created_at: 'text',
    expires_at: 'text',
    controller: 'text',
    changed_at: 'text',
    record: 'text',
    detail: 'text',
    described_at: 'text',
  },
  key: event => (event.type.startsWith('consent.') ? event.stream : undefined),
  fold(row, event) {
    if (event.type === 'consent.appeared') {
      const { subject, status, createdAt, expiresAt, controller } = event.data
      return {
        consent: event.stream,
        subject,
        status,
        knowledge: 'known',
        created_at: createdAt,
        expires_at: expiresAt,
        controller,
        changed_at: event.at,
        record: `${event.id}/record`,
        detail: row?.detail ?? null,
        described_at: row?.described_at ?? null,
      }
    }
    if (!row) return undefined
    if (event.type === 'consent.used' || event.type === 'consent.useRefused') return row
    return { ...row, changed_at: event.at, ...change(row, event) }
  },
})

function change(row: ConsentRow, event: RecordedOf<ConsentEvent>): Partial<ConsentRow> {
  switch (event.type) {
    case 'consent.approved':
    case 'consent.denied':
    case 'consent.revoked':
    case 'consent.expired':
    case 'consent.conflicted':
      return { status: event.data.status, knowledge: 'known' }
    case 'consent.amended':
      return {
        created_at: event.data.createdAt,
        expires_at: event.data.expiresAt,
        controller: event.data.controller,
      }
    case 'consent.changeSeen':
      return { status: event.data.status, knowledge: 'changed' }
    case 'consent.changeRequested':
      return { knowledge: 'changing' }
    case 'consent.changeLost':
      return { knowledge: 'uncertain' }
    case 'consent.confirmed':
      return { status: event.data.status, knowledge: 'known' }
    case 'consent.changeDeclined':
      return { knowledge: 'known' }
    case 'consent.vanished':
      return { knowledge: 'vanished' }
    case 'consent.described':
      return { detail: `${event.id}/detail`, described_at: event.at }
    default:
      return { knowledge: row.knowledge }
  }
}
