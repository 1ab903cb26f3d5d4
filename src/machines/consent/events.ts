import type { Event, Instant, Message } from '../../vocabulary/message.ts'
import type { HistoryEntry } from './history.ts'
import type { StandingReason } from './standing.ts'
import type { ConsentStatus, RequestableStatus } from './status.ts'

// Events

/** A consent as a reading shows it. `controller` is null when what the service gave is not a CNPJ. */
export interface ConsentReading {
  readonly status: ConsentStatus
  readonly createdAt: Instant | null
  readonly expiresAt: Instant | null
  readonly controller: string | null
}

/**
 * `by` says whose doing it was: our own request's, which was answered or whose answer was lost, or what the service
 * shows in a reading, whoever did it. `since` is the service's own time of it, where its history tells.
 */
export interface StatusMove {
  readonly status: ConsentStatus
  readonly by: 'us' | 'service'
  readonly since?: Instant
  /** When the request left whose answer shows it: of an end that is shown, and of the answer to a change of ours. */
  readonly askedAt?: Instant
  /** A change of ours is out, or its answer lost, and this does not end it: it may still come, or was before it. */
  readonly isChangePending?: true
}

/**
 * A use of the data: when, how old a reading may be, the last reading that covers it, and when the use was asked for: a
 * reading made for it is no older than that.
 */
export interface UseQuestion {
  readonly at: Instant
  readonly ageMaxMs: number | null
  readonly readAt: Instant | null
  readonly askedAt?: Instant
}

/** What is recorded of a consent. */
export type ConsentEvent =
  /**
   * Always the first: its part `record` holds the service's own id and texts. Listed again, `knowledge` says that a
   * change of ours is out all the same, or in doubt: one whose answer was lost owes a reading in full that tells.
   */
  | Event<
      'consent.appeared',
      ConsentReading & {
        consent: string
        subject: string
        askedAt?: Instant
        knowledge?: 'changing' | 'uncertain'
      }
    >
  | Event<'consent.amended', ConsentReading>
  | Event<'consent.approved' | 'consent.denied' | 'consent.revoked' | 'consent.expired', StatusMove>
  /**
   * The service shows a status that its table does not lead to; or answers a change of a consent that it no longer
   * lists; or its answer contradicts the request, and a reading in full is owed.
   */
  | Event<'consent.conflicted', StatusMove & { held: ConsentStatus; isVanished?: true; isContrary?: true }>
  | Event<'consent.vanished', Record<string, never>>
  /** By our clock `dataExpiracao` has passed. The status stays the service's word. */
  | Event<'consent.lapsed', { expiresAt: Instant }>
  /** The service shows what we hold: recorded only where it ends an effect or a doubt. */
  | Event<'consent.confirmed', { status: ConsentStatus; askedAt?: Instant }>
  /** `askedAt` is when it was asked for. `instead` names a change that had not left, and is replaced. */
  | Event<
      'consent.changeRequested',
      { status: RequestableStatus; instead?: RequestableStatus; askedAt?: Instant }
    >
  /** The refusal contradicts what we hold, which led to the request: a reading in full is owed. */
  | Event<'consent.changeDeclined', { httpStatus: number; asked?: RequestableStatus }>
  | Event<'consent.readDeclined', { httpStatus: number }>
  /** The reading in full is parked, after a day of attempts: an operator may let it go again. */
  | Event<'consent.readGivenUp', Record<string, never>>
  /**
   * A reading in full is owed. `lostAt` is when the loss was noticed: a service may still make a change that it has not
   * answered.
   */
  | Event<'consent.changeLost', { lostAt?: Instant }>
  /**
   * What was lost, or answered with another status, was not made, as a reading shows that begins late enough: whoever
   * wants it has to ask again.
   */
  | Event<'consent.changeNotMade', { asked: RequestableStatus; status: ConsentStatus }>
  /**
   * Ends a change whose outcome a reading had told already; the status is null where there was no answer, or a refusal.
   */
  | Event<'consent.answeredLate', { asked: RequestableStatus | null; status: ConsentStatus | null }>
  /**
   * A change that had been put off was not sent: it was no longer asked for. `sentBefore`: an earlier request had been
   * answered, and so the service was told of the person. `isDone`: a reading had shown the very status that was asked
   * for.
   */
  | Event<'consent.changeWithheld', { asked: RequestableStatus; sentBefore?: true; isDone?: true }>
  /**
   * A reading in full is owed: somebody asked for it, or a list that left at `askedAt` shows a status that the history
   * speaks against.
   */
  | Event<'consent.detailRequested', { askedAt?: Instant }>
  /**
   * A list shows another status, or one that cannot be read, which is null. A reading in full is owed, whose history
   * tells what happened, and when. `crossed`: something newer happened during the reading, or the reading may be of an
   * older copy, and nobody can say which of the two came first. `askedAt` is when the request of the list left.
   */
  | Event<'consent.changeSeen', { status: ConsentStatus | null; isConcurrentRead?: true; askedAt?: Instant }>
  /**
   * Its part `detail` holds the whole answer to a request that left at `askedAt`, and that shows `status`. Another
   * reading is owed where it leaves a doubt. `isOld`: it was crossed by something newer, or may be of an older copy, so
   * that its history does not count as the one known.
   */
  | Event<
      'consent.described',
      {
        status: ConsentStatus
        history: readonly HistoryEntry[]
        askedAt?: Instant
        isOld?: true
      }
    >
  /** The data was used, or was refused, and why. Purpose and legal basis are in the event's `basis`. */
  | Event<'consent.used', UseQuestion & { until: Instant | null }>
  | Event<'consent.useRefused', UseQuestion & { reason: StandingReason }>
  /** Its data subject was erased. */
  | Event<'consent.erased', Record<string, never>>

// Commands, and facts from outside

/** Which change it ends, and when its request left. */
export interface AnsweredChange {
  readonly asked?: RequestableStatus
  readonly askedAt?: Instant
}

/** What the machine of a consent decides: commands, and facts from outside. */
export type ConsentMessage =
  | Message<'consent.approve' | 'consent.deny' | 'consent.revoke', { askedAt?: Instant }>
  /** The earlier change has not left, and is withdrawn with this. */
  | Message<'consent.approveInstead' | 'consent.denyInstead' | 'consent.revokeInstead', { askedAt?: Instant }>
  | Message<'consent.readDetail', unknown>
  | Message<'consent.observe', ConsentReading & { consent: string; subject: string; askedAt?: Instant }>
  /** A list has it twice, or in a form that cannot be read. */
  | Message<'consent.observeUnreadable' | 'consent.miss', unknown>
  | Message<'consentService.statusChanged', ConsentReading & AnsweredChange>
  | Message<'consent.use', UseQuestion>
  | Message<'consent.passTime', { now: Instant }>
  | Message<'consent.erase', unknown>
  | Message<
      'consentService.consentRead',
      ConsentReading & { history: readonly HistoryEntry[]; askedAt?: Instant }
    >
  | Message<'consent.withholdChange', { asked: RequestableStatus; sentBefore?: true; isDone?: true }>
  | Message<'consentService.changeDeclined', { httpStatus: number } & AnsweredChange>
  | Message<'consentService.readDeclined', { httpStatus: number }>
  | Message<'consentService.readGivenUp', unknown>
  | Message<'consentService.changeLost', { status?: RequestableStatus; lostAt?: Instant }>

/** Messages that are refused or ignored once the data subject was erased; any other is recorded and owes nothing. */
export const whenErased: Readonly<Partial<Record<ConsentMessage['type'], 'refused' | 'passed over'>>> = {
  'consent.approve': 'refused',
  'consent.deny': 'refused',
  'consent.revoke': 'refused',
  'consent.approveInstead': 'refused',
  'consent.denyInstead': 'refused',
  'consent.revokeInstead': 'refused',
  'consent.readDetail': 'refused',
  'consent.use': 'refused',
  'consent.passTime': 'passed over',
  'consent.erase': 'passed over',
}
