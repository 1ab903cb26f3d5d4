import type { Event, Instant, Message } from '../../vocabulary/message.ts'
import type { ErasureCompleted, ErasureRequest, ErasureSummary } from './erasure.ts'

// Events

/** Where averba met a person first. */
export type SubjectOrigin = 'host' | 'validation' | 'notification'

/** A login state as the service gave it. */
export interface LoginReading {
  readonly isAuthenticated: boolean
  readonly expiresAt: Instant | null
}

/** An awareness record without personal data; `record` is our id of it. */
export interface AwarenessReading {
  readonly record: string
  readonly createdAt: Instant | null
  readonly controller: string | null
}

/** When the request left whose answer tells: later changes may not be in it. */
interface ReadingTime {
  readonly askedAt?: Instant
}

/** When a reading that recurs is due next. `schedule` numbers what the host asked for: only the newest goes on. */
export interface SyncAgain {
  readonly schedule: number
  readonly dueAt: Instant
}

/** What is recorded of a data subject. */
export type SubjectEvent =
  /** Always the first: its part `cpf` holds the CPF. */
  | Event<'subject.enrolled', { subject: string; origin: SubjectOrigin }>
  | Event<'subject.syncRequested' | 'subject.awarenessRequested' | 'subject.loginRequested', unknown>
  /** Its consents are read again and again, every `everyMs`. */
  | Event<'subject.scheduled', { everyMs: number }>
  /** Its consents are no longer read by themselves. */
  | Event<'subject.unscheduled', unknown>
  /** `isPartial`: the list was not read whole. It vouches for no consent, and none counts as missing by it. */
  | Event<
      'subject.synced',
      { read: number; changed: number; unreadable: number; askedAt?: Instant; isPartial?: true }
    >
  /** Its part `record` holds the service's own id and texts. */
  | Event<'subject.awarenessAppeared', AwarenessReading & { subject: string }>
  /** The service no longer lists it: it is kept, and may appear again. */
  | Event<'subject.awarenessVanished', { record: string }>
  /** The service shows another date or controller of it by now: its part `record` holds what it shows. */
  | Event<'subject.awarenessAmended', AwarenessReading>
  | Event<'subject.awarenessListed', { read: number; unreadable: number } & ReadingTime>
  | Event<'subject.awarenessDetailRequested', { record: string }>
  /** Its part `detail` holds the whole answer. */
  | Event<'subject.awarenessDescribed', { record: string } & ReadingTime>
  | Event<'subject.loginRead', LoginReading & ReadingTime & { subject: string }>
  /** Its part `redirect`, where there is one, holds the address to return to. */
  | Event<'subject.loginAddressRequested', { hasRedirect: boolean }>
  /** Its part `address` holds the login address. */
  | Event<'subject.loginAddressRead', unknown>
  | Event<'subject.readDeclined', { operation: string; httpStatus: number }>
  /** Data was to be used under a consent that nobody has seen: its part `id` holds the id. */
  | Event<'subject.useRefused', { at: Instant; reason: 'never-read' }>
  /** A hold: nothing of the person is destroyed by retention until it is released. */
  | Event<'subject.held' | 'subject.released', { reason: string }>
  | Event<'subject.erasureRequested', ErasureRequest>
  /** In the same transaction as the request: all data of the person is gone, except what is kept. */
  | Event<'subject.erased', ErasureSummary>
  /** All other keys are wrapped by an epoch that began afterwards, and the file was searched for what was destroyed. */
  | Event<'subject.erasureCompleted', ErasureCompleted>
  /** What was destroyed no longer opens in any backup. */
  | Event<'subject.epochsDestroyed', { epochs: readonly number[] }>

// Commands, and facts from outside

/** What the machine of a data subject decides: commands, and facts from outside. */
export type SubjectMessage =
  | Message<'subject.enrol', { subject: string; origin: SubjectOrigin }>
  /** `effects` are readings of the same that were put off: this one takes their place. */
  | Message<'subject.sync' | 'subject.readAwareness' | 'subject.readLogin', { effects?: readonly string[] }>
  /** Carries the part `id`: the service's id of the record. */
  | Message<'subject.readAwarenessDetail', { record: string }>
  | Message<'subject.readLoginAddress', { hasRedirect: boolean }>
  | Message<'subject.refuseUse', { at: Instant }>
  /**
   * `effects` are readings of the former schedule that are still owed. A default is for those of whom nothing was ever
   * said: it changes no schedule, and begins none anew that was ended.
   */
  | Message<
      'subject.schedule',
      { everyMs: number; dueAt: Instant; effects?: readonly string[]; isDefault?: true }
    >
  | Message<'subject.unschedule', { effects?: readonly string[] }>
  | Message<'subject.hold' | 'subject.release', { reason: string }>
  | Message<
      'subject.erase',
      Omit<ErasureRequest, 'subject'> & Omit<ErasureSummary, 'isPartial'> & { effects: readonly string[] }
    >
  | Message<'keys.rotated', ErasureCompleted>
  | Message<'keys.epochsDestroyed', { epochs: readonly number[] }>
  | Message<'subject.observeAwareness', AwarenessReading>
  | Message<'subject.missAwareness', { record: string }>
  | Message<
      'consentService.consentsListed',
      {
        read: number
        changed: number
        unreadable: number
        askedAt?: Instant
        isPartial?: true
        again?: SyncAgain
      }
    >
  | Message<'consentService.awarenessListed', { read: number; unreadable: number } & ReadingTime>
  | Message<'consentService.awarenessRead', { record: string } & ReadingTime>
  | Message<'consentService.loginRead', LoginReading & ReadingTime>
  | Message<'consentService.loginAddressRead', unknown>
  | Message<'consentService.readDeclined', { operation: string; httpStatus: number; again?: SyncAgain }>
