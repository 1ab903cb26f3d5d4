import type { Event, Instant, Message } from '../../vocabulary/message.ts'
import type { UnexpectedFact } from '../definition/machine.ts'

/** How averba first learned of a person. */
export type SubjectOrigin = 'host' | 'validation' | 'notification'

export interface LoginReading {
  readonly isAuthenticated: boolean
  readonly expiresAt: Instant | null
}

/** An awareness record without personal data; `record` is our id. */
export interface AwarenessReading {
  readonly record: string
  readonly createdAt: Instant | null
  readonly controller: string | null
}

/** When the request was sent: the answer may lack later changes. */
interface ReadingTime {
  readonly askedAt?: Instant
}

/** A list may be limited to the records of one controller, by its CNPJ. It says nothing of the others. */
interface ListOf {
  readonly controller?: string
}

/** What a list of consents showed. */
interface SyncSummary extends ReadingTime, ListOf {
  readonly read: number
  readonly changed: number
  readonly unreadable: number
  /** The list was not read completely, so it confirms no consent, and no consent counts as missing. */
  readonly isPartial?: true
}

/** Who requested an erasure, its legal basis, and the kinds of parts that the law requires to keep. */
export interface ErasureRequest {
  readonly requester: string
  readonly legalBasis: string
  readonly keeps: readonly string[]
}

export interface ErasureSummary {
  readonly subject: string
  readonly keeps: readonly string[]
  /** Whether something was kept and may be erased later. */
  readonly isPartial: boolean
  /** The parts that it kept, each as `<position>/<name>`. If one is missing later, something else destroyed it. */
  readonly kept: readonly string[]
  readonly parts: number
  /** SHA-256 over a line for each destroyed part: position, name and hash. */
  readonly list: string
  readonly indexRows: number
  /** The consents whose denial or revocation was asked for and not shown as made: nobody asks for it any more. */
  readonly endsGivenUp: number
  /** The last bytes of destroyed parts, in hexadecimal; the file is searched for them afterwards. */
  readonly endings: readonly string[]
}

/** How an erasure was completed. Until `copiesOpenUntil`, backups of the keyring still decrypt backups of the store. */
export interface ErasureCompleted {
  readonly epoch: number
  readonly previous: readonly number[]
  readonly rewrapped: number
  readonly searchedBytes: number
  readonly searchedFor: number
  readonly found: number
  /** Destroyed parts that were not searched for, because the file is too large to be rewritten. */
  readonly unsearched: number
  readonly copiesOpenUntil: Instant
}

/** When the next scheduled reading is due. `schedule` is the number of the schedule: only the newest continues. */
export interface SyncAgain {
  readonly schedule: number
  readonly dueAt: Instant
}

export type SubjectEvent =
  /** The first event: its part `cpf` holds the CPF. */
  | Event<'subject.enrolled', { subject: string; origin: SubjectOrigin }>
  | Event<'subject.syncRequested' | 'subject.awarenessRequested', ListOf>
  | Event<'subject.loginRequested', unknown>
  | Event<'subject.scheduled', { everyMs: number }>
  | Event<'subject.unscheduled', unknown>
  | Event<'subject.synced', SyncSummary>
  /** Its part `record` holds the service's id and texts. */
  | Event<'subject.awarenessAppeared', AwarenessReading & { subject: string }>
  /** The service no longer lists it. The log keeps it, and it may appear again. */
  | Event<'subject.awarenessVanished', { record: string }>
  /** The service shows another date or controller. Its part `record` holds the new record. */
  | Event<'subject.awarenessAmended', AwarenessReading>
  | Event<'subject.awarenessListed', { read: number; unreadable: number } & ReadingTime & ListOf>
  | Event<'subject.awarenessDetailRequested', { record: string }>
  /** Its part `detail` holds the whole answer. */
  | Event<'subject.awarenessDescribed', { record: string } & ReadingTime>
  | Event<'subject.loginRead', LoginReading & ReadingTime & { subject: string }>
  /** Its part `redirect`, if any, holds the return address. */
  | Event<'subject.loginAddressRequested', { hasRedirect: boolean }>
  /** Its part `address` holds the login address. */
  | Event<'subject.loginAddressRead', unknown>
  | Event<'subject.readDeclined', { operation: string; httpStatus: number }>
  /** Data was to be used under an unknown consent: the part `id` holds its id. */
  | Event<'subject.useRefused', { at: Instant; reason: 'never-read' }>
  /** A hold: until it is released, retention destroys no data of the person. */
  | Event<'subject.held' | 'subject.released', { reason: string }>
  | Event<'subject.erasureRequested', ErasureRequest>
  /** Recorded with the request in one transaction, which deletes all data of the person except what is kept. */
  | Event<'subject.erased', ErasureSummary>
  /** All other keys are now wrapped by a newer epoch, and the file was searched for the destroyed data. */
  | Event<'subject.erasureCompleted', ErasureCompleted>
  /** The destroyed data can no longer be decrypted in any backup. */
  | Event<'subject.epochsDestroyed', { epochs: readonly number[] }>
  /** A fact that arrived after the erasure. */
  | Event<'subject.unexpected', UnexpectedFact>

/** The commands, and the facts from outside, of a data subject. */
export type SubjectMessage =
  | Message<'subject.enrol', { subject: string; origin: SubjectOrigin }>
  /** `effects`: deferred readings of the same kind, which this one replaces. */
  | Message<'subject.sync' | 'subject.readAwareness', { effects?: readonly string[] } & ListOf>
  | Message<'subject.readLogin', { effects?: readonly string[] }>
  /** Has the part `id`: the service's id of the record. */
  | Message<'subject.readAwarenessDetail', { record: string }>
  | Message<'subject.readLoginAddress', { hasRedirect: boolean }>
  | Message<'subject.refuseUse', { at: Instant }>
  /** `effects`: pending readings of the former schedule. `isDefault`: only for subjects that never had a schedule. */
  | Message<'subject.schedule', { everyMs: number; dueAt: Instant; effects?: readonly string[]; isDefault?: true }>
  | Message<'subject.unschedule', { effects?: readonly string[] }>
  | Message<'subject.hold' | 'subject.release', { reason: string }>
  | Message<'subject.erase', ErasureRequest & Omit<ErasureSummary, 'isPartial'> & { effects: readonly string[] }>
  | Message<'keys.rotated', ErasureCompleted>
  | Message<'keys.epochsDestroyed', { epochs: readonly number[] }>
  | Message<'subject.observeAwareness', AwarenessReading>
  | Message<'subject.missAwareness', { record: string }>
  | Message<'consentService.consentsListed', SyncSummary & { again?: SyncAgain }>
  | Message<'consentService.awarenessListed', { read: number; unreadable: number } & ReadingTime & ListOf>
  | Message<'consentService.awarenessRead', { record: string } & ReadingTime>
  | Message<'consentService.loginRead', LoginReading & ReadingTime>
  | Message<'consentService.loginAddressRead', unknown>
  | Message<'consentService.readDeclined', { operation: string; httpStatus: number; again?: SyncAgain }>
