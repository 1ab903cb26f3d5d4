import type { EventWords } from './words.ts'

const changedBy = {
  us: 'at the request of this organisation',
  service: 'as the consent service shows',
} as const
const origins = {
  host: 'by this organisation',
  validation: 'by a validation',
  notification: 'by a notification',
} as const
const countRecords = (count: number) => (count === 1 ? '1 record' : `${count} records`)

/** Kinds of data that are kept for some time only. */
export const englishRetained: Readonly<Record<string, string>> = {
  'validation.claims': 'data declared for a validation',
  'validation.result': 'result of a validation',
  'notification.body': 'content of a notification',
  'consent.detail': 'whole consent',
}

/** Every event in English. */
export const englishEvents: EventWords = {
  'subject.enrolled': ({ origin }) => `Data subject enrolled ${origins[origin]}`,
  'subject.syncRequested': () => 'Reading of the consents asked for',
  'subject.awarenessRequested': () => 'Reading of the awareness records asked for',
  'subject.loginRequested': () => 'Login state asked for',
  'subject.scheduled': ({ everyMs }) =>
    `Consents to be read again every ${Math.round(everyMs / 60_000)} minutes`,
  'subject.unscheduled': () => 'Consents are no longer read periodically',
  'subject.synced': ({ read, changed }) => `List of consents read: ${countRecords(read)}, ${changed} changed`,
  'subject.awarenessAppeared': () => 'An awareness record appeared',
  'subject.awarenessAmended': () => 'The service corrected date or controller of an awareness record',
  'subject.awarenessVanished': () => 'The service no longer lists an awareness record',
  'subject.awarenessListed': ({ read }) => `List of awareness records read: ${countRecords(read)}`,
  'subject.awarenessDetailRequested': () => 'Whole reading of an awareness record asked for',
  'subject.awarenessDescribed': () => 'An awareness record was read in full',
  'subject.loginRead': ({ isAuthenticated }) => `Login state read: logged ${isAuthenticated ? 'in' : 'out'}`,
  'subject.loginAddressRequested': () => 'Login address asked for',
  'subject.loginAddressRead': () => 'Login address received',
  'subject.readDeclined': ({ httpStatus }) => `The service declined a reading (HTTP ${httpStatus})`,
  'subject.useRefused': () => 'A use of data was refused: nobody has seen the consent',
  'consent.appeared': ({ status }) => `A consent appeared as ${status}`,
  'consent.amended': () => 'The service corrected dates or controller of the consent',
  'consent.approved': ({ by }) => `Consent approved ${changedBy[by]}`,
  'consent.denied': ({ by }) => `Consent denied ${changedBy[by]}`,
  'consent.revoked': ({ by }) => `Consent revoked ${changedBy[by]}`,
  'consent.expired': ({ by }) => `Consent expired ${changedBy[by]}`,
  'consent.conflicted': ({ status, held, isVanished, isContrary }) =>
    isContrary
      ? `The service answered the change with ${status}, which is not what was asked for: a reading tells how it stands`
      : isVanished
        ? `The service answers for the consent, which it no longer lists, with ${status}: what the service says counts`
        : `The service shows ${status}, which cannot follow ${held}: what the service says counts`,
  'consent.vanished': () => 'The service no longer lists the consent',
  'consent.lapsed': () => "The consent's expiry has passed",
  'consent.confirmed': ({ status }) => `The service confirms the consent as ${status}`,
  'consent.changeRequested': ({ status }) => `Change to ${status} asked of the service`,
  'consent.changeDeclined': ({ httpStatus }) => `The service declined the change (HTTP ${httpStatus})`,
  'consent.readDeclined': ({ httpStatus }) => `The service declined the reading (HTTP ${httpStatus})`,
  'consent.readGivenUp': () => 'The consent could not be read in full for a day: what the list shows counts',
  'consent.answeredLate': ({ asked, status }) =>
    status === null
      ? 'The end of a change came, of which a reading had told before'
      : status === asked
        ? `The service answered that it made the change to ${status}, which a reading had shown before`
        : `The answer to a change came late, with ${status}`,
  'consent.changeWithheld': ({ asked, sentBefore, isDone }) =>
    `The change to ${asked} was not sent${sentBefore ? ' again' : ''}: the service had shown ${isDone ? 'it already' : 'another status'}`,
  'consent.changeLost': () => 'The answer to the change was lost: perhaps it was made',
  'consent.changeNotMade': ({ asked, status }) =>
    `The change to ${asked} was not made: the consent is still ${status}`,
  'consent.detailRequested': () => 'Whole reading of the consent asked for',
  'consent.changeSeen': ({ status }) =>
    status === null
      ? 'The service shows the consent in a form that cannot be read'
      : `The service shows the consent as ${status}`,
  'consent.described': ({ history }) => `The consent was read in full, with a history of ${history.length}`,
  'consent.used': () => 'Data was used under this consent',
  'consent.useRefused': () => 'A use of data was refused: the consent did not stand',
  'validation.requested': () => "A validation of the person's data was asked for",
  'validation.reused': () => 'A validation took the result of an earlier one: nothing was asked',
  'validation.answered': ({ evaluated }) =>
    `Validation answered: ${evaluated} ${evaluated === 1 ? 'field' : 'fields'} evaluated`,
  'validation.declined': ({ httpStatus }) => `The service declined the validation (HTTP ${httpStatus})`,
  'validation.withheld': ({ sentBefore }) =>
    sentBefore
      ? 'The validation was not sent again, after an attempt that was not processed: the consent that it names did not stand any more'
      : 'The validation was not sent: the consent that it names did not stand any more',
  'validation.inconclusive': () => 'The answer to the validation was lost: perhaps it was made',
  'validation.resolved': ({ charged, by }) =>
    by === 'attempt'
      ? 'The attempt reported late: the validation was not made'
      : `A person found out that the validation was ${charged ? '' : 'not '}charged`,
  'validation.repeated': () => 'The validation was made again on purpose',
  'notification.received': ({ evento }) => `Notification received: ${evento}`,
  'notification.recovered': ({ evento }) => `Notification recovered from a failure record: ${evento}`,
  'notification.copied': () => 'The same notification came again',
  'notification.handled': ({ handler }) => `Notification handled by ${handler}`,
  'notification.failed': ({ handler }) => `Handling of the notification by ${handler} failed`,
  'notification.parked': ({ handler }) => `Handling of the notification by ${handler} was put on hold`,
  'notification.replayed': () => 'The notification is to be handled again',
  'subject.held': () => 'Hold: nothing of the person is destroyed because its time is over',
  'subject.released': () => 'End of the hold',
  'subject.erasureRequested': () => "Erasure of the person's data asked for",
  'subject.erased': ({ kept }) =>
    kept.length > 0
      ? "The person's data was erased, but for what the law keeps"
      : "The person's data was erased",
  'subject.erasureCompleted': () => 'Erasure completed: keys wrapped anew, and the file searched',
  'subject.epochsDestroyed': () =>
    'Older keys destroyed: no backup opens what was erased, unless its key is kept',
  'consent.erased': () => 'The data of this consent was erased',
  'validation.erased': () => 'The data of this validation was erased',
  'reveal.recorded': ({ purpose, isDisclosed }) =>
    isDisclosed
      ? `Key of one record given away, which opens its sealed data: ${purpose}`
      : `Sealed data opened for this organisation: ${purpose}`,
  'retention.applied': ({ kind }) =>
    `The time to keep it is over, data destroyed: ${englishRetained[kind] ?? kind}`,
  'effect.attempted': ({ attempts }) => `Attempt ${attempts} at the call begun`,
  'effect.deferred': ({ wait }) =>
    wait === 'known' ? 'Call put off until a known time' : 'Call not made yet: it is tried again later',
  'effect.parked': ({ by }) =>
    by === 'operator' ? 'Call put on hold by an operator' : 'Call put on hold after many attempts',
  'effect.withdrawn': () => 'Call withdrawn: another one takes its place',
  'effect.resumed': () => 'Call let go by an operator',
}
