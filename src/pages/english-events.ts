import type { MachineEvent } from '../machines/machines.ts'
import { inLanguage } from './labels.ts'
import texts from './words.json' with { type: 'json' }

/** The texts of every event of a machine, made from its clear data. What was unexpected has one text. */
export type EventWords = {
  readonly [E in MachineEvent as E['type'] extends `${string}.unexpected` ? 'unexpected' : E['type']]: (
    data: E['data'],
  ) => string
}

const changedBy = { us: 'at the request of this organisation', service: 'as the consent service shows' } as const
const origins = {
  host: 'by this organisation',
  validation: 'by a validation',
  notification: 'by a notification',
} as const
const ofController = (cnpj?: string) => (cnpj === undefined ? '' : ` of controller ${cnpj} only`)
const countRecords = (count: number) => (count === 1 ? '1 record' : `${count} records`)

const registeredHow = {
  created: 'created at the portal',
  adopted: 'adopted: the portal had it already',
  takenOver: 'taken over from others',
} as const

const retained = inLanguage<string>(texts.retained, 'en')

export const englishEvents: EventWords = {
  'subject.enrolled': ({ origin }) => `Data subject enrolled ${origins[origin]}`,
  'subject.syncRequested': ({ controller }) => `Reading of the consents requested${ofController(controller)}`,
  'subject.awarenessRequested': ({ controller }) =>
    `Reading of the awareness records requested${ofController(controller)}`,
  'subject.loginRequested': () => 'Login state requested',
  'subject.scheduled': ({ everyMs }) => `Consents to be read again every ${Math.round(everyMs / 60_000)} minutes`,
  'subject.unscheduled': () => 'Consents are no longer read periodically',
  'subject.synced': ({ read, changed, controller }) =>
    `List of consents read${ofController(controller)}: ${countRecords(read)}, ${changed} changed`,
  'subject.awarenessAppeared': () => 'An awareness record appeared',
  'subject.awarenessAmended': () => 'The service corrected date or controller of an awareness record',
  'subject.awarenessVanished': () => 'The service no longer lists an awareness record',
  'subject.awarenessListed': ({ read, controller }) =>
    `List of awareness records read${ofController(controller)}: ${countRecords(read)}`,
  'subject.awarenessDetailRequested': () => 'Full reading of an awareness record requested',
  'subject.awarenessDescribed': () => 'An awareness record was read in full',
  'subject.loginRead': ({ isAuthenticated }) => `Login state read: logged ${isAuthenticated ? 'in' : 'out'}`,
  'subject.loginAddressRequested': () => 'Login address requested',
  'subject.loginAddressRead': () => 'Login address received',
  'subject.readDeclined': ({ httpStatus }) => `The service declined a reading (HTTP ${httpStatus})`,
  'subject.useRefused': () => 'A use of data was refused: the consent is not known',
  'consent.appeared': ({ status }) => `A consent appeared as ${status}`,
  'consent.amended': () => 'The service corrected dates or controller of the consent',
  'consent.approved': ({ by }) => `Consent approved ${changedBy[by]}`,
  'consent.denied': ({ by }) => `Consent denied ${changedBy[by]}`,
  'consent.revoked': ({ by }) => `Consent revoked ${changedBy[by]}`,
  'consent.expired': ({ by }) => `Consent expired ${changedBy[by]}`,
  'consent.conflicted': ({ status, held, isVanished }) =>
    isVanished
      ? `The service no longer lists the consent, but answers that it is ${status}: what the service says counts`
      : `The service shows ${status}, which cannot follow ${held}: what the service says counts`,
  'consent.vanished': () => 'The service no longer lists the consent',
  'consent.lapsed': () => "The consent's expiry has passed",
  'consent.confirmed': ({ status }) => `The service confirms the consent as ${status}`,
  'consent.changeRequested': ({ status }) => `Change to ${status} requested from the service`,
  'consent.changeDeclined': ({ httpStatus }) => `The service declined the change (HTTP ${httpStatus})`,
  'consent.readDeclined': ({ httpStatus }) => `The service declined the reading (HTTP ${httpStatus})`,
  'consent.readGivenUp': () => 'The consent could not be read in full for a day: what the list shows counts',
  'consent.answeredLate': ({ asked, status }) =>
    status === null
      ? 'A change ended after a reading had already shown its result'
      : status === asked
        ? `The service answered that it made the change to ${status}, which a reading had already shown`
        : `The answer to a change came late, with ${status}`,
  'consent.changeWithheld': ({ asked, sentBefore, isDone, isGivenUp }) =>
    `The change to ${asked} was not sent${sentBefore ? ' again' : ''}: ${isGivenUp ? 'it was given up' : isDone ? 'the service had already shown this status' : 'it no longer applied'}`,
  'consent.changeLost': () => 'The answer to the change was lost: it may have been made',
  'consent.changeContradicted': ({ status }) =>
    `The service answered the change with ${status}: a new reading will show what became of it`,
  'consent.changeNotMade': ({ asked, status, isGivenUp }) =>
    `The change to ${asked} was not made${isGivenUp ? ' and is not asked for again' : ''}: the consent is still ${status}`,
  'consent.changeRepeated': ({ status }) => `${status} is asked for again`,
  'consent.endWanted': () =>
    'A denial or revocation is wanted: it is asked for once the service lists the consent again',
  'consent.endWithdrawn': () => 'The denial or revocation that was asked for is no longer wanted',
  'consent.detailRequested': () => 'Full reading of the consent requested',
  'consent.changeSeen': ({ status }) =>
    status === null
      ? 'The service shows the consent in a form that cannot be read'
      : `The service shows the consent as ${status}`,
  'consent.described': ({ history }) => `The consent was read in full, with a history of ${history.length}`,
  'consent.used': () => 'Data was used under this consent',
  'consent.useRefused': () => 'A use of data was refused: the consent was not valid',
  'validation.requested': () => "A validation of the person's data was requested",
  'validation.reused': () => 'A validation reused the result of an earlier one, without a new request',
  'validation.answered': ({ evaluated }) =>
    `Validation answered: ${evaluated} ${evaluated === 1 ? 'field' : 'fields'} evaluated`,
  'validation.declined': ({ httpStatus }) => `The service declined the validation (HTTP ${httpStatus})`,
  'validation.withheld': ({ sentBefore, by }) =>
    `The validation was not sent${sentBefore ? ' again after an attempt that was not processed' : ''}: ${by ? 'it was given up' : 'the consent that it names was no longer valid'}`,
  'validation.inconclusive': () => 'The answer to the validation was lost: it may have been made',
  'validation.resolved': ({ charged, by }) =>
    by === 'attempt'
      ? 'The attempt reported late: the validation was not made'
      : `A person found out that the validation was ${charged ? '' : 'not '}charged`,
  'validation.repeated': () => 'The validation was repeated on purpose',
  'notification.received': ({ evento }) => `Notification received: ${evento}`,
  'notification.recovered': ({ evento }) => `Notification recovered from a failure record: ${evento}`,
  'notification.copied': () => 'The same notification arrived again',
  'notification.handled': ({ handler }) => `Notification handled by ${handler}`,
  'notification.failed': ({ handler }) => `Handling of the notification by ${handler} failed`,
  'notification.parked': ({ handler }) => `Handling of the notification by ${handler} was put on hold`,
  'notification.replayed': () => 'The notification is to be handled again',
  'notification.skipped': ({ handlers }) => `The notification is not given to ${handlers.join(', ')} again`,
  'subject.held': () => 'Hold: no data of the person is destroyed when its retention time ends',
  'subject.released': () => 'End of the hold',
  'subject.erasureRequested': () => "Erasure of the person's data requested",
  'subject.erased': ({ kept }) =>
    kept.length > 0
      ? "The person's data was erased, except what the law requires to keep"
      : "The person's data was erased",
  'subject.erasureCompleted': () => 'Erasure completed: keys renewed, and the file searched',
  'subject.epochsDestroyed': () => 'Older keys destroyed: no backup opens the erased data, unless its key was kept',
  'consent.erased': () => 'The data of this consent was erased',
  'validation.erased': () => 'The data of this validation was erased',
  'reveal.recorded': ({ purpose, isDisclosed }) =>
    isDisclosed
      ? `Key that opens the sealed data of one record given to a third party: ${purpose}`
      : `Sealed data opened for this organisation: ${purpose}`,
  'retention.applied': ({ kind }) => `Retention time over, data destroyed: ${retained[kind] ?? kind}`,
  'effect.attempted': ({ attempts }) => `Attempt ${attempts} at the call begun`,
  'effect.deferred': ({ wait }) =>
    wait === 'known' ? 'Call postponed until a known time' : 'Call not made yet: it is tried again later',
  'effect.parked': ({ by }) =>
    by === 'operator' ? 'Call put on hold by an operator' : 'Call put on hold after many attempts',
  'effect.misunderstood': ({ unread }) => `The answer ${unread.httpStatus} to a call was not understood`,
  'effect.withdrawn': () => 'Call withdrawn: it was given up, or another call replaces it',
  'effect.resumed': () => 'Call released by an operator',
  'subscription.declared': ({ evento }) => `A subscription to ${evento} is declared`,
  'subscription.registrationRequested': () => 'Registration requested at the portal',
  'subscription.changeRequested': () => 'Change requested at the portal',
  'subscription.rotationRequested': ({ generation }) => `New secrets requested at the portal: generation ${generation}`,
  'subscription.registered': ({ how }) => `Subscription ${registeredHow[how]}`,
  'subscription.changed': ({ generation }) => `Subscription changed at the portal: secrets of generation ${generation}`,
  'subscription.drifted': ({ generation }) =>
    `The portal's entry differs from what was known: its secrets are ${generation === null ? 'not ours' : `of generation ${generation}`}`,
  'subscription.deletionRequested': () => 'Deletion requested at the portal',
  'subscription.deleted': ({ by }) =>
    by === 'portal' ? 'THE PORTAL DELETED the subscription' : 'Subscription deleted',
  'subscription.reappeared': () => 'The portal lists the subscription as active again',
  'subscription.declined': ({ httpStatus }) =>
    httpStatus === 0
      ? 'A change of the subscription was given up'
      : `The portal declined a change (HTTP ${httpStatus})`,
  'subscription.lost': () => 'The answer to a change of the subscription was lost: it may have been made',
  'subscription.changeNotMade': () => 'The portal shows that the change was not made',
  'subscription.failing': ({ failedAt }) => `A delivery failed${failedAt === null ? '' : ` at ${failedAt}`}`,
  'subscription.failureRecovered': ({ how }) =>
    how === 'recovered' ? 'A notification that failed was recovered' : 'A notification that failed was here already',
  'subscription.delivered': () => 'The portal shows a delivery that succeeded',
  'subscription.dated': () => 'The portal shows when the subscription was registered',
  'subscription.recovered': () => 'A delivery succeeded after failures',
  'subscription.threatened': ({ daysLeft, deletionAt }) =>
    `Only errors for long: the portal deletes the subscription at ${deletionAt} (days left: ${daysLeft})`,
  'portal.listRequested': () => 'List of subscriptions requested from the portal',
  'portal.listed': () => 'List of subscriptions read',
  'portal.recoveryRequested': ({ from, day }) => `Daily reading requested: the list, and failures of ${from} to ${day}`,
  'portal.failuresRequested': ({ day }) => `Failure records requested${day === null ? '' : ` of ${day}`}`,
  'portal.recoveryHastened': () => 'Failure records are read soon',
  'portal.failuresListed': () => 'Failure records read',
  'portal.foreignFailure': () => 'A failure record of an event without a subscription of ours',
  'portal.readDeclined': ({ httpStatus }) => `The portal declined a reading (HTTP ${httpStatus})`,
  'token.requested': () => 'Token requested from the gateway',
  'token.renewed': () => 'Token received',
  'token.rejected': ({ until }) =>
    until === undefined
      ? 'An operation rejected the token'
      : `New tokens were rejected: none is requested before ${until}`,
  'token.repeated': ({ until }) => `The gateway gave the rejected token again: none is requested before ${until}`,
  'token.locked': ({ httpStatus }) =>
    `The gateway refused the credentials (HTTP ${httpStatus}): no request until they change`,
  'token.requestFailed': () => 'A token request failed',
  'certificate.expiring': ({ daysLeft }) => `A certificate expires soon (days left: ${daysLeft})`,
  'certificate.renewed': () => 'A new certificate is in use',
  'budget.spent': () => 'A paid call was counted',
  'follower.retryRequested': ({ follower, position }) =>
    `The follower ${follower} tries the event at ${position} again`,
  'follower.removeRequested': ({ follower }) => `The follower ${follower} is removed`,
  'follower.skipRequested': ({ follower, position }) => `The follower ${follower} skips the event at ${position}`,
  unexpected: () => 'An answer arrived that was no longer expected: it is stored and changes nothing',
}
