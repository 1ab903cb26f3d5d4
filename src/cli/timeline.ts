import type { Recorded } from '../index.ts'

/** Describes an event in one line; `undefined` for events that only request something. */
export function formatTimelineLine(event: Recorded): string | undefined {
  const summary = summarizeEvent(event)
  if (summary === undefined) return undefined
  const position = String(event.position).padStart(4)
  const anomaly = event.anomaly === undefined ? '' : ` (unexpected: ${event.anomaly})`
  return `${position}  ${event.at.slice(0, 16).replace('T', ' ')}  ${summary}${anomaly}`
}

function summarizeEvent(event: Recorded): string | undefined {
  switch (event.type) {
    case 'log.began':
      return 'the log began'
    case 'subject.enrolled':
      return `a data subject was enrolled by a ${event.data.origin}`
    case 'subject.synced':
      return `the consents of a data subject were read: ${event.data.read}, changes: ${event.data.changed}`
    case 'consent.appeared':
      return `a consent appeared: ${event.data.status}, controller ${event.data.controller ?? 'unknown'}`
    case 'consent.described':
      return 'a consent was read in full'
    case 'consent.changeSeen':
      return `a list shows a consent as ${event.data.status}: it will be read in full`
    case 'consent.vanished':
      return 'a consent is no longer listed'
    case 'consent.used':
      return `data was used under a consent, for ${event.basis?.purpose}`
    case 'consent.useRefused':
      return `a use of data was refused: ${event.data.reason}`
    case 'consent.approved':
    case 'consent.denied':
    case 'consent.revoked':
    case 'consent.expired':
      return `a consent became ${event.data.status} by ${event.data.by === 'us' ? 'our request' : 'the service'}`
    case 'subject.awarenessAppeared':
      return 'an awareness record appeared'
    case 'subject.awarenessAmended':
      return 'the service corrected date or controller of an awareness record'
    case 'subject.awarenessDescribed':
      return 'an awareness record was read in full'
    case 'subject.loginRead':
      return `the login state was read: logged ${event.data.isAuthenticated ? 'in' : 'out'}`
    case 'subject.loginAddressRead':
      return 'a login address was obtained'
    case 'token.renewed':
      return `token ${event.data.generation} was obtained`
    case 'token.rejected':
      return `token ${event.data.generation} was answered 401`
    case 'validation.answered':
      return `a validation was answered: ${event.data.evaluated} fields evaluated`
    case 'subscription.registered':
      return `subscription ${event.data.remoteId} was ${event.data.how}`
    case 'notification.received':
      return `a notification was stored: ${event.data.evento}`
    case 'subscription.failing':
      return `a failed delivery was found: ${event.data.evento}`
    case 'subscription.deleted':
      return `a subscription was deleted by ${event.data.by === 'us' ? 'our request' : 'the portal'}`
    default:
      return undefined
  }
}
