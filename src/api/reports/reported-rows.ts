import type {
  ReportedConsent,
  ReportedNotification,
  ReportedUse,
  ReportedValidation,
} from '../../pages/subject-report.ts'
import type { LanguageWords } from '../../pages/words.ts'
import { consents } from '../../views/consents.ts'
import { notifications, readHandlings } from '../../views/notifications.ts'
import { type ValidationRow, validations } from '../../views/validations.ts'
import type { View } from '../../vocabulary/view.ts'
import type { Recorded } from '../events.ts'

/** The consents in the events, in their last known state. */
export function reportedConsents(events: readonly Recorded[]): ReportedConsent[] {
  const countOf = (type: string, stream: string) =>
    events.filter(event => event.type === type && event.stream === stream).length
  return [...foldRows(consents, events)].map(([stream, row]) => ({
    consent: stream,
    controller: row.controller,
    status: row.status,
    knowledge: row.knowledge,
    appearedAt: events.find(event => event.stream === stream)?.at ?? '',
    expiresAt: row.expires_at,
    used: countOf('consent.used', stream),
    refused: countOf('consent.useRefused', stream),
  }))
}

/** The uses of data in the events, allowed and refused, in order. */
export function reportedUses(events: readonly Recorded[], words: LanguageWords): ReportedUse[] {
  return events
    .flatMap((event): ReportedUse[] => {
      const { position, at, stream, basis = null, actor = null } = event
      const common = { position, at, basis, actor }
      switch (event.type) {
        case 'consent.used':
          return [{ ...common, consent: stream, isAllowed: true, reason: words.reasons.active }]
        case 'consent.useRefused': {
          const reason = words.reasons[event.data.reason]
          return [{ ...common, consent: stream, isAllowed: false, reason }]
        }
        case 'subject.useRefused': {
          const reason = words.reasons[event.data.reason]
          return [{ ...common, consent: null, isAllowed: false, reason }]
        }
        default:
          return []
      }
    })
    .sort((one, other) => one.position - other.position)
}

/** The validations in the events, in their last known state. */
export function reportedValidations(events: readonly Recorded[], words: LanguageWords): ReportedValidation[] {
  return [...foldRows(validations, events)].map(([stream, row]) => ({
    id: row.id,
    requestedAt: row.requested_at,
    endedAt: row.ended_at,
    state: row.state,
    outcome: describeValidationOutcome(row, events, words),
    basis: events.find(event => event.stream === stream)?.basis ?? null,
  }))
}

/** The caller of a withheld validation sees `declined`, but averba ended it, not the service. */
function describeValidationOutcome(
  { state, validation }: ValidationRow,
  events: readonly Recorded[],
  { validationStates, callEndings }: LanguageWords,
): string {
  const ended = events.findLast(({ stream, type }) => stream === validation && endTypes.has(type))
  if (state !== 'declined' || ended?.type !== withheld) return validationStates[state] ?? state
  return callEndings[ended.data.sentBefore ? `${withheld}, sent before` : withheld]
}

const withheld = 'validation.withheld'
const endTypes: ReadonlySet<string> = new Set([withheld, 'validation.declined'])

/** The notifications in the events, in their last known state. */
export function reportedNotifications(events: readonly Recorded[]): ReportedNotification[] {
  return [...foldRows(notifications, events)].map(([stream, row]) => ({
    notification: stream,
    evento: row.evento,
    receivedAt: row.received_at,
    copies: row.copies,
    handlers: readHandlings(row).map(({ handler }) => handler),
  }))
}

/** The rows of a view over these events alone, so that the result is the same at every call. */
function foldRows<Row extends object>(view: View<Row>, events: readonly Recorded[]): Map<string, Row> {
  const rows = new Map<string, Row>()
  for (const event of events) {
    const key = view.key(event)
    const row = key === undefined ? undefined : view.fold(rows.get(key), event)
    if (key !== undefined && row) rows.set(key, row)
  }
  return rows
}
