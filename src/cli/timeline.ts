import type { Recorded } from '../index.ts'

/** Describes an event in one line; `undefined` for events that only request something. */
export function formatTimelineLine(event: Recorded): string | undefined {
  // The description of a type takes the events of that type.
  const describe = descriptions[event.type] as ((event: Recorded) => string) | undefined
  if (!describe) return undefined
  const position = String(event.position).padStart(4)
  const anomaly = event.anomaly === undefined ? '' : ` (unexpected: ${event.anomaly})`
  return `${position}  ${event.at.slice(0, 16).replace('T', ' ')}  ${describe(event)}${anomaly}`
}

type StatusEvent = Recorded<'consent.approved' | 'consent.denied' | 'consent.revoked' | 'consent.expired'>

const statusChange = ({ data }: StatusEvent) =>
  `a consent became ${data.status} by ${data.by === 'us' ? 'our request' : 'the service'}`

const descriptions: { readonly [T in Recorded['type']]?: (event: Recorded<T>) => string } = {
  'log.began': () => 'the log began',
  'subject.enrolled': ({ data }) => `a data subject was enrolled by a ${data.origin}`,
  'subject.synced': ({ data }) => `the consents of a data subject were read: ${data.read}, changes: ${data.changed}`,
  'consent.appeared': ({ data }) => `a consent appeared: ${data.status}, controller ${data.controller ?? 'unknown'}`,
  'consent.described': () => 'a consent was read in full',
  'consent.changeSeen': ({ data }) => `a list shows a consent as ${data.status}: it will be read in full`,
  'consent.vanished': () => 'a consent is no longer listed',
  'consent.used': ({ basis }) => `data was used under a consent, for ${basis?.purpose}`,
  'consent.useRefused': ({ data }) => `a use of data was refused: ${data.reason}`,
  'consent.approved': statusChange,
  'consent.denied': statusChange,
  'consent.revoked': statusChange,
  'consent.expired': statusChange,
  'subject.awarenessAppeared': () => 'an awareness record appeared',
  'subject.awarenessAmended': () => 'the service corrected date or controller of an awareness record',
  'subject.awarenessDescribed': () => 'an awareness record was read in full',
  'subject.loginRead': ({ data }) => `the login state was read: logged ${data.isAuthenticated ? 'in' : 'out'}`,
  'subject.loginAddressRead': () => 'a login address was obtained',
  'token.renewed': ({ data }) => `token ${data.generation} was obtained`,
  'token.rejected': ({ data }) => `token ${data.generation} was answered 401`,
  'validation.answered': ({ data }) => `a validation was answered: ${data.evaluated} fields evaluated`,
  'subscription.registered': ({ data }) => `subscription ${data.remoteId} was ${data.how}`,
  'notification.received': ({ data }) => `a notification was stored: ${data.evento}`,
  'subscription.failing': ({ data }) => `a failed delivery was found: ${data.evento}`,
  'subscription.deleted': ({ data }) =>
    `a subscription was deleted by ${data.by === 'us' ? 'our request' : 'the portal'}`,
}
