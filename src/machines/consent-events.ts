import type { Event, Instant, Message } from '../message.ts'
import type { HistoryEntry } from './consent-readings.ts'
import type { Reason } from './consent-standing.ts'
import type { ConsentStatus, RequestableStatus } from './consent-status.ts'

// Events

/** A consent as a reading shows it. `controller` is null when what the service gave is not a CNPJ. */
export interface ConsentReading {
  readonly status: ConsentStatus
  readonly createdAt: Instant | null
  readonly expiresAt: Instant | null
  readonly controller: string | null
}

/**
 * `by` says whose doing it was: our own request, or the service's, seen in a reading. `since` is the service's own
 * time of it, where its history tells.
 */
export interface Move {
  readonly status: ConsentStatus
  readonly by: 'us' | 'service'
  readonly since?: Instant
}

/** A use of the data as it was asked for: when, how old a reading may be, and the last one that covers it. */
export interface Use {
  readonly at: Instant
  readonly ageMaxMs: number | null
  readonly readAt: Instant | null
}

export type ConsentEvent =
  /** Always the first: its part `record` holds the service's own id and texts. */
  | Event<'consent.appeared', ConsentReading & { consent: string; subject: string }>
  | Event<'consent.amended', ConsentReading>
  | Event<'consent.approved' | 'consent.denied' | 'consent.revoked' | 'consent.expired', Move>
  /** The service shows a status that its table does not lead to, or answers with another than was asked. */
  | Event<'consent.conflicted', Move & { held: ConsentStatus }>
  | Event<'consent.vanished', Record<string, never>>
  /** By our clock `dataExpiracao` has passed. The status stays the service's word. */
  | Event<'consent.lapsed', { expiresAt: Instant }>
  /** The service shows what we hold: said only where an effect or a doubt ends with it. */
  | Event<'consent.confirmed', { status: ConsentStatus }>
  | Event<'consent.changeRequested', { status: RequestableStatus }>
  | Event<'consent.changeDeclined' | 'consent.readDeclined', { httpStatus: number }>
  | Event<'consent.changeLost', Record<string, never>>
  | Event<'consent.detailRequested', Record<string, never>>
  /** A list shows another status: owes the reading in full, whose history tells what happened, and when. */
  | Event<'consent.changeSeen', { status: ConsentStatus }>
  /** Its part `detail` holds the whole answer. Events from before `entries` was kept have the count alone. */
  | Event<'consent.described', { history: number; entries?: readonly HistoryEntry[] }>
  /** The data was used, or was not to be used and why. Purpose and legal basis stand in the event's `basis`. */
  | Event<'consent.used', Use & { until: Instant | null }>
  | Event<'consent.useRefused', Use & { because: Reason }>
  /** Its data subject was erased. */
  | Event<'consent.erased', Record<string, never>>

// Commands, and facts from outside

export type ConsentMessage =
  | Message<'consent.approve' | 'consent.deny' | 'consent.revoke' | 'consent.readDetail', unknown>
  | Message<'consent.observe', ConsentReading & { consent: string; subject: string }>
  | Message<'consent.miss', unknown>
  | Message<'consentService.statusChanged', ConsentReading>
  | Message<'consent.use', Use>
  | Message<'consent.passTime', { now: Instant }>
  | Message<'consent.erase', unknown>
  | Message<'consentService.consentRead', ConsentReading & { history: readonly HistoryEntry[] }>
  | Message<'consentService.changeDeclined' | 'consentService.readDeclined', { httpStatus: number }>
  | Message<'consentService.changeLost', { status?: RequestableStatus }>

/** What becomes of a message once the data subject was erased: of any other, it is recorded and owes nothing. */
export const whenErased: Readonly<Partial<Record<ConsentMessage['type'], 'refused' | 'passed over'>>> = {
  'consent.approve': 'refused',
  'consent.deny': 'refused',
  'consent.revoke': 'refused',
  'consent.readDetail': 'refused',
  'consent.use': 'refused',
  'consent.passTime': 'passed over',
  'consent.erase': 'passed over',
}
