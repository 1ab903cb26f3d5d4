import type { Event, Instant, Message } from '../../vocabulary/message.ts'
import type { UnexpectedFact } from '../definition/machine.ts'
import type { StandingReason } from './standing.ts'
import type { ConsentStatus, HistoryEntry, RequestableStatus } from './status.ts'

/** A consent as shown by a reading. `controller` is null when the service gave no valid CNPJ. */
export interface ConsentReading {
  readonly status: ConsentStatus
  readonly createdAt: Instant | null
  readonly expiresAt: Instant | null
  readonly controller: string | null
}

/** When a request was sent, of which time its answer is, and when the answer arrived. */
export interface AnswerTimes {
  readonly askedAt?: Instant
  readonly answeredAt?: Instant
}

/** A consent as shown by a list: `consent` and `subject` are our ids. */
export interface ListedConsent extends ConsentReading, AnswerTimes {
  readonly consent: string
  readonly subject: string
}

/**
 * A status change. `by`: our own request, answered or not, or a change that the service shows, whoever made it.
 * `since`: the service's time, if its history has it.
 */
export interface StatusMove extends AnswerTimes {
  readonly status: ConsentStatus
  readonly by: 'us' | 'service'
  readonly since?: Instant
  /** The answer is old: a request of ours may be later, and is not ended by it. */
  readonly isOld?: true
}

/**
 * A use of data: when, the maximum age of a reading, the latest reading, and when the use was requested. A reading made
 * for this use is not stale.
 */
export interface UseQuestion {
  readonly at: Instant
  readonly ageMaxMs: number | null
  readonly readAt: Instant | null
  readonly askedAt?: Instant
}

export type ConsentEvent =
  /** The first event, and again when a vanished consent is listed: its part `record` holds the service's texts. */
  | Event<'consent.appeared', ListedConsent>
  | Event<'consent.amended', ConsentReading>
  | Event<'consent.approved' | 'consent.denied' | 'consent.revoked' | 'consent.expired', StatusMove>
  /** The service shows a status that its table does not allow, or answers a change of an unlisted consent. */
  | Event<'consent.conflicted', StatusMove & { held: ConsentStatus; isVanished?: true }>
  | Event<'consent.vanished', Record<string, never>>
  /** By our clock, `dataExpiracao` has passed. The status stays as the service shows it. */
  | Event<'consent.lapsed', { expiresAt: Instant }>
  /** The service shows the recorded status. Only recorded when it ends an effect or an uncertainty. */
  | Event<'consent.confirmed', { status: ConsentStatus } & AnswerTimes>
  /**
   * `askedAt`: when it was requested. `instead`: the waiting change that it replaces, `isUnsent` if that never left.
   * `until`: how long an approval that was not made is asked for again.
   */
  | Event<
      'consent.changeRequested',
      { status: RequestableStatus; instead?: RequestableStatus; isUnsent?: true } & AskedChange
    >
  /** The service declined although the recorded status allows the change, so a full reading is requested. */
  | Event<'consent.changeDeclined', { httpStatus: number; asked?: RequestableStatus }>
  | Event<'consent.readDeclined', { httpStatus: number }>
  /** The full reading is parked after a day of attempts. An operator can release it. */
  | Event<'consent.readGivenUp', Record<string, never>>
  /**
   * It is not known whether the change was made: its answer was lost, or shows another status. A full
   * reading is requested. `lostAt`: from when on a minute is left to the service to make the change.
   */
  | Event<'consent.changeLost', { lostAt?: Instant }>
  /** The service answered our change with another status, which does not end it. */
  | Event<'consent.changeContradicted', { status: ConsentStatus; lostAt?: Instant }>
  /** A late enough reading shows that the uncertain change was not made. `isGivenUp`: it is not asked for again. */
  | Event<'consent.changeNotMade', { asked: RequestableStatus; status: ConsentStatus; isGivenUp?: true }>
  /** A change that is still wanted is requested again. `askedAt`: when it was first asked for. */
  | Event<'consent.changeRepeated', { status: RequestableStatus; askedAt: Instant; until?: Instant }>
  /**
   * A person no longer wants the end that was asked for. Its part `why` has the reason. Otherwise than in its data, a
   * request that is under way may still be made.
   */
  | Event<'consent.endWithdrawn', WithdrawnEnd>
  /**
   * A person wants the end of a consent that the service no longer lists: it is asked for once it is listed again. Its
   * part `why` has the reason.
   */
  | Event<'consent.endWanted', WithdrawnEnd & Pick<AskedChange, 'askedAt'>>
  /** Ends a change whose outcome a reading had shown. `status` is null if it was declined or not answered. */
  | Event<'consent.answeredLate', { asked: RequestableStatus | null; status: ConsentStatus | null }>
  /** A change was not sent, because it no longer applied. Read if an end is still wanted, or it was sent before. */
  | Event<'consent.changeWithheld', WithheldChange>
  /** A full reading was requested: by the host, or because an answer, a list or a withdrawal left a question open. */
  | Event<'consent.detailRequested', Record<string, never>>
  /**
   * A reading shows another status or other dates, and is old or a list. Null: it is unreadable, or lacks the consent.
   * Nothing is used until a full reading has shown what happened and when.
   */
  | Event<'consent.changeSeen', { status: ConsentStatus | null; isOld?: true } & AnswerTimes>
  /**
   * A full reading, sent at `askedAt`: its part `detail` holds the whole answer. `isOld`: something that tells what the
   * service holds, or a request of ours, came between, it undoes what was just learned, or our lost change may still be
   * made: its history does not count, and it is read again.
   */
  | Event<
      'consent.described',
      { status: ConsentStatus; history: readonly HistoryEntry[]; askedAt?: Instant; isOld?: true }
    >
  /** A use of the data was allowed or refused. The event's `basis` has the purpose and the legal basis. */
  | Event<'consent.used', UseQuestion & { until: Instant | null }>
  | Event<'consent.useRefused', UseQuestion & { reason: StandingReason }>
  /** Its data subject was erased. */
  | Event<'consent.erased', Record<string, never>>
  /** A fact that arrived after the erasure. */
  | Event<'consent.unexpected', UnexpectedFact>

export type StatusEvent = Extract<
  ConsentEvent,
  { type: 'consent.approved' | 'consent.denied' | 'consent.revoked' | 'consent.expired' | 'consent.conflicted' }
>

/**
 * `sentBefore`: the service received the person's data before. `isDone`: a reading had shown the status. `isGivenUp`: a
 * person gave up this approval, and it is not asked for again.
 */
export interface WithheldChange {
  readonly asked: RequestableStatus
  readonly isGivenUp?: true
  readonly sentBefore?: true
  readonly isDone?: true
}

/** A request that waits is withdrawn: `isUnsent` when it had never left, `sentBefore` when it had, and was answered. */
export interface WithdrawnEnd {
  readonly isUnsent?: true
  readonly sentBefore?: true
}

/** When a change is requested, and how long it is asked for again. */
export interface AskedChange {
  readonly askedAt?: Instant
  readonly until?: Instant
}

/** The change that an answer ends. */
export interface AnsweredChange extends AnswerTimes {
  readonly asked?: RequestableStatus
}

/** The commands, and the facts from outside, of a consent. */
export type ConsentMessage =
  /** With `isUnsent` or `sentBefore` it replaces an earlier change that waits. */
  | Message<'consent.approve' | 'consent.deny' | 'consent.revoke', AskedChange & WithdrawnEnd>
  | Message<'consent.withdrawEnd', WithdrawnEnd>
  | Message<'consent.readDetail', unknown>
  | Message<'consent.observe', ListedConsent>
  /** `observeUnreadable`: a list has it twice or in an unreadable form. `miss`: a list does not have it. */
  | Message<'consent.observeUnreadable' | 'consent.miss', unknown>
  | Message<'consentService.statusChanged', ConsentReading & AnsweredChange>
  | Message<'consent.use', UseQuestion>
  | Message<'consent.passTime', { now: Instant }>
  | Message<'consent.erase', unknown>
  | Message<'consentService.consentRead', ConsentReading & { history: readonly HistoryEntry[] } & AnswerTimes>
  | Message<'consent.withholdChange', WithheldChange>
  | Message<'consentService.changeDeclined', { httpStatus: number } & AnsweredChange>
  | Message<'consentService.readDeclined', { httpStatus: number }>
  | Message<'consentService.readGivenUp', unknown>
  | Message<'consentService.changeLost', { status?: RequestableStatus; lostAt?: Instant }>
